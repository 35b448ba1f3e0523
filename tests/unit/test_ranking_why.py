"""The one plain sentence that says why a memory is where it is."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memories.explanation import why
from memories.fusion import RRF, FusionRule
from memories.ranking import KIND_DEFAULTS, Candidate, KindRule, rank

NOW = datetime(2030, 5, 17, 12, 30, tzinfo=UTC)
BEST = Candidate("best", NOW, kind="decision", rank_vector=1, rank_text=1, text_matched=3)


def sentence(
    *,
    age_days: float = 0,
    rules: Mapping[str, KindRule] = KIND_DEFAULTS,
    ignore: frozenset[str] = frozenset(),
    **overrides: Any,
) -> str:
    """The sentence of a decision that shares the first place, unless told otherwise."""
    values = {"kind": "decision", "rank_vector": 1, "rank_text": 1, "text_matched": 3}
    candidate = Candidate(id="it", created_at=NOW - timedelta(days=age_days), **(values | overrides))
    scored = rank([BEST, candidate], now=NOW, rules=rules, fusion=FusionRule(method=RRF, contrast=8), ignore=ignore)
    return next(why(item) for item in scored if item.candidate.id == "it")


def test_it_reads_as_one_sentence() -> None:
    assert sentence(age_days=12, rank_vector=2, reinforcement=1.10397) == (
        "Matched 3 of your words and came 2nd by meaning; a decision, 12 days old, ranked by "
        "age (exponential curve) and kind; reinforced ×1.10; lowered most by a weaker match than the best (×0.94)."
    )


@pytest.mark.parametrize(
    ("legs", "start"),
    [
        ({"rank_vector": None, "text_matched": 1}, "Matched 1 of your words;"),
        ({"rank_text": None, "text_matched": 0, "rank_vector": 1}, "Came 1st by meaning;"),
        ({"rank_text": None, "text_matched": 0, "rank_vector": 12}, "Came 12th by meaning;"),
        ({"rank_text": None, "text_matched": 0, "rank_vector": 23}, "Came 23rd by meaning;"),
        ({"rank_recency": 21, "rank_vector": None}, "Matched 3 of your words and came 21st by newness;"),
        ({"rank_vector": None, "text_matched": 0}, "Matched your text;"),
        ({"rank_vector": None, "rank_text": None, "text_matched": 0}, "Listed without a match;"),
    ],
)
def test_it_says_which_search_found_it(legs: dict[str, int | None], start: str) -> None:
    assert sentence(**legs).startswith(start)


@pytest.mark.parametrize(
    ("age_days", "words"),
    [
        (-3, "less than a day old"),
        (0.9, "less than a day old"),
        (1.5, "1 day old"),
        (729, "729 days old"),
        (731, "2 years old"),
        (3660, "10 years old"),
    ],
)
def test_it_says_the_age_in_plain_words(age_days: float, words: str) -> None:
    assert f", {words}," in sentence(age_days=age_days)


@pytest.mark.parametrize(
    ("kind", "words"), [("episode", "an episode"), ("open-question", "an open question"), ("rumour", "a rumour")]
)
def test_it_names_the_kind_as_people_say_it(kind: str, words: str) -> None:
    assert f"; {words}, " in sentence(kind=kind)


@pytest.mark.parametrize(
    ("overrides", "cause"),
    [
        ({"kind": "episode"}, "its kind (×0.70)"),
        ({"kind": "episode", "age_days": 60}, "its age (×0.25)"),
        ({"provenance_rank": 0}, "being provisional (×0.90)"),
        ({"reinforcement": 0.65343}, "its track record (×0.65)"),
        ({"structural": 0.15, "reinforcement": 0.5}, "a change in its code (×0.15)"),
        ({"kind": "task", "age_days": 1000}, "its age (below ×0.01)"),
        ({"confidence": 0.5}, "being unverified (×0.50)"),
    ],
)
def test_it_names_what_lowered_the_score_most(overrides: dict[str, Any], cause: str) -> None:
    assert sentence(**overrides).endswith(f"; lowered most by {cause}.")


def test_it_is_silent_about_factors_that_change_nothing() -> None:
    text = sentence()
    assert "lowered" not in text
    assert "reinforced" not in text


def test_it_names_what_raised_the_score() -> None:
    assert "; reinforced ×1.20 and verified ×1.50." in sentence(reinforcement=1.2, confidence=1.5)
    assert "reinforced" not in sentence(confidence=1.5)


def test_it_names_the_policy_of_a_decaying_scope() -> None:
    text = sentence(age_days=9000, policy="decaying")
    assert "ranked by kind alone because its scope keeps weight by last access" in text
    assert "its age" not in text


def test_it_names_a_linear_curve() -> None:
    assert "ranked by age (linear curve) and kind" in sentence(rules={"decision": KindRule(1, 3650, "linear")})


def test_it_says_what_was_left_out_as_asked() -> None:
    text = sentence(age_days=9000, structural=0.15, ignore=frozenset({"structural", "age"}))
    assert "ranked by kind alone; left out as asked: age, code changes." in text
