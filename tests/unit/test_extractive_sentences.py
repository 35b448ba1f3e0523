"""Where one sentence ends and the next begins, in prose, notes, commits and code."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflections.extractive import Source, draft, split_sentences
from tests.unit.test_extractive import START


def split(text: str) -> list[str]:
    return list(split_sentences(text))


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ('He said "stop." Then he left.', ['He said "stop."', "Then he left."]),
        ("It failed (again.) We left.", ["It failed (again.)", "We left."]),
        ("Wait... what? Yes.", ["Wait... what?", "Yes."]),
        ("Really?! Yes.", ["Really?!", "Yes."]),
        ("Ships with Yahoo! widgets.", ["Ships with Yahoo! widgets."]),
        ("Set it up. numpy is pinned.", ["Set it up. numpy is pinned."]),
        ("Upgrade first. numpy is pinned.", ["Upgrade first.", "numpy is pinned."]),
        ("The limit is 50. More is refused.", ["The limit is 50.", "More is refused."]),
        ("Stop it. 2. Wait. 3. Start it.", ["Stop it.", "2. Wait.", "3. Start it."]),
        ("It took 30 s. Then 5 min. Then it hung.", ["It took 30 s.", "Then 5 min.", "Then it hung."]),
    ],
)
def test_prose_is_split_at_its_stops(text: str, sentences: list[str]) -> None:
    assert split(text) == sentences


@pytest.mark.parametrize(
    "text",
    [
        "Use a broker, e.g. Redis, or i.e. Nothing.",
        "Wants v1.2.3 of foo.bar and 3.14 of it",
        "See https://example.org/a.b?c=d.e for more",
        "Written by J. Smith et al. for Dr. Jones vs. No. 5",
        "Siehe z.B. Postgres und ca. 10 Zeilen",
        "The fix is in api/cache.py or ../conf.d/x.yml now",
        "Call `a. B` or `x! Y` inside code",
        "Step 2. is the hard one",
        "done.Next is an attribute",
    ],
)
def test_a_stop_inside_a_name_or_abbreviation_does_not_split(text: str) -> None:
    assert split(text) == [text]


def test_an_abbreviation_may_still_end_a_sentence() -> None:
    assert split("Covers logs, traces etc. Nothing else.") == ["Covers logs, traces etc.", "Nothing else."]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("缓存会过期。不要重启！为什么？", ["缓存会过期。", "不要重启！", "为什么？"]),
        ("「止めて。」と言った。", ["「止めて。」", "と言った。"]),
        ("यह एक है। यह दो है।", ["यह एक है।", "यह दो है।"]),
        ("لماذا؟ لأنه بطيء.", ["لماذا؟", "لأنه بطيء."]),
    ],
)
def test_other_scripts_end_sentences_with_their_own_stops(text: str, sentences: list[str]) -> None:
    assert split(text) == sentences


def test_scripts_without_spaces_are_compared_by_pairs_of_characters() -> None:
    texts = ["今天吃了面条。缓存期限是三百秒。", "缓存期限太短了。昨天下雨。"]
    found = draft([Source(n, START, text) for n, text in enumerate(texts)], ["缓存"])
    assert [sentence.text for sentence in found.sentences] == ["缓存期限是三百秒。", "缓存期限太短了。"]


def test_list_entries_and_headings_lose_their_mark_and_stay_apart() -> None:
    text = "# Decisions\n- first point\n* second point\n  3) third point\n> quoted\n- [x] done point"
    assert split(text) == ["Decisions", "first point", "second point", "third point", "quoted", "done point"]


def test_an_entry_that_wraps_is_one_sentence() -> None:
    entry = "- the exporter writes one file for each of the scopes that were\n  asked for, and an index"
    assert split(entry + "\n- next") == [entry[2:], "next"]


def test_a_number_sign_or_minus_at_the_start_is_no_mark() -> None:
    assert split("#123 is open\n-1 means never\n*args is passed") == [
        "#123 is open",
        "-1 means never",
        "*args is passed",
    ]


def test_short_lines_are_sentences_of_their_own() -> None:
    assert split("Postgres 18\nRedis 7\r\nCelery 5") == ["Postgres 18", "Redis 7", "Celery 5"]


def test_wrapped_lines_are_read_as_one_paragraph() -> None:
    text = (
        "The worker claims a row by a compare-and-set update, so\nit may run twice. Nothing is lost.\n\nNext paragraph"
    )
    assert split(text) == [
        "The worker claims a row by a compare-and-set update, so\nit may run twice.",
        "Nothing is lost.",
        "Next paragraph",
    ]


def test_a_long_line_does_not_swallow_the_entry_fence_or_trailer_below_it() -> None:
    long = "The worker claims a row by a compare-and-set update"
    fence = "```\nrun()\n```"
    trailer = "Signed-off-by: Somebody"
    assert split(f"{long}\n- entry\n{long}\n{fence}\n{long}\n{trailer}") == [long, "entry", long, fence, long, trailer]


@pytest.mark.parametrize("fence", ["```", "~~~"])
def test_fenced_code_is_kept_whole(fence: str) -> None:
    code = f"{fence}python\n# One. Two.\nrun()\n\nrun()\n{fence}"
    assert split(f"Before it. Call this:\n{code}\nAfter it.") == ["Before it.", "Call this:", code, "After it."]


def test_a_fence_closed_on_its_own_line_opens_no_block() -> None:
    assert split("```one``` is inline. Next.\n```\nrun()\n```") == ["```one``` is inline.", "Next.", "```\nrun()\n```"]


def test_a_fence_that_never_closes_hides_nothing() -> None:
    assert split("```python\nOne. Two.") == ["```python", "One.", "Two."]


@given(st.text())
def test_every_sentence_is_a_piece_of_the_text_in_its_order(text: str) -> None:
    position = 0
    for sentence in split(text):
        position = text.index(sentence, position) + len(sentence)


SIZE = 200_000
LARGE = {
    "prose": "The cache of the gateway holds entries for a while. " * 4000,
    "distinct words": ". ".join(f"Word{n} other{n} thing{n} more{n}" for n in range(6000)),
    "one word": "x" * SIZE,
    "dots": "." * SIZE + "x",
    "one letter sentences": "a. " * (SIZE // 3),
    "backticks": "`" * SIZE,
    "unpaired backticks": "`a " * (SIZE // 3),
    "open fences": "```py\n" * (SIZE // 6),
    "list marks": "- " * (SIZE // 2),
    "list entries": "- a\n" * (SIZE // 4),
    "empty lines": "\n" * SIZE,
    "wrapped lines": ("word " * 12 + "\n") * (SIZE // 61),
    "brackets after a stop": "." + ")" * SIZE,
    "spaces after a stop": "a." + " " * SIZE + "b.",
    "connected word": "a" + "-" * SIZE,
    "characters without spaces": "\u6f22\u5b57" * (SIZE // 2),
    "trailers": "Signed-off-by: a\n" * (SIZE // 17),
    "trailer that never ends": "Aa" + "-a" * (SIZE // 2),
    "open bracket": "fix(" * (SIZE // 4),
}


@pytest.mark.parametrize("text", LARGE.values(), ids=LARGE)
def test_a_source_of_200_kb_takes_bounded_time(text: str) -> None:
    assert len(text) > 190_000
    started = time.process_time()
    found = draft([Source("long", START, text), Source("short", START, "Fix the cache.")], ["cache"] * 50)
    assert time.process_time() - started < 5
    assert found.sentences
