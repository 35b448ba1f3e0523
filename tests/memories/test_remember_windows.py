import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from memories.access import actor_for_user
from memories.embedding_queue import embed_waiting
from memories.recall import recall
from memories.services import remember
from memories.windows import windows_of
from zeromemory.embedding import get_embedder

PROSE = "The release is cut on the first Monday of the month, from main, by the release user. "
CODE = "def windows(text: str, token_starts: Sequence[int], max_tokens: int) -> list[Window]:\n    return []\n"
TABLE = "0.4711,923847,abc12,2026-11-30T07:18:00Z\n"
GERMAN = "Datenschutzgrundverordnung Schadensersatzansprüche überprüfen, Rechtsanwaltskanzlei. "
CHINESE = "我们决定使用数据库来存储所有的记忆因为它很可靠。"
HEXADECIMAL = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"


@pytest.mark.parametrize("sample", [PROSE, CODE, TABLE, GERMAN, CHINESE, HEXADECIMAL])
def test_a_window_fits_the_packaged_model_whole(sample):
    text = sample * (20_000 // len(sample))
    tokenizer = Tokenizer.from_file(str(get_embedder().tokenizer_file.path))
    tokenizer.no_truncation()
    for window in windows_of(text):
        assert len(tokenizer.encode(text[window.start : window.stop]).ids) <= get_embedder().max_tokens


@given(st.text(max_size=4000))
def test_windows_cover_the_text_in_order_and_overlap(text):
    windows = windows_of(text)
    assert (windows[0].start, windows[-1].stop) == (0, len(text))
    for before, after in pairwise(windows):
        assert before.start < after.start <= before.stop < after.stop


@pytest.mark.django_db
def test_a_short_text_is_one_window(owner, scope):
    memory = remember(actor=actor_for_user(owner), scope=scope, content=PROSE).memory
    window = memory.windows.get()
    assert (window.position, window.start, window.stop, window.text) == (0, 0, len(PROSE), PROSE)
    assert window.live


@pytest.mark.django_db
@pytest.mark.behaviour("F27")
@pytest.mark.parametrize(
    "filler", [PROSE, "word " * 20, "x" * 100], ids=["prose", "one word repeated", "one unbroken word"]
)
def test_two_megabytes_are_found_by_their_beginning_middle_and_end(owner, scope, filler):
    actor = actor_for_user(owner)
    half = filler * (1_000_000 // len(filler))
    content = f"firstmark {half} middlemark {half} lastmark"
    began = time.perf_counter()
    memory = remember(actor=actor, scope=scope, content=content).memory
    assert time.perf_counter() - began < 60
    assert memory.windows.count() < 6000
    for mark in ("firstmark", "middlemark", "lastmark"):
        (result,) = recall(actor=actor, query=mark).results
        assert mark in result.excerpt
        assert len(result.excerpt) <= 1200


@pytest.mark.django_db
@pytest.mark.behaviour("F27")
def test_a_long_text_is_found_by_the_meaning_of_its_beginning_middle_and_end(owner, scope):
    actor, filler = actor_for_user(owner), PROSE * 60
    told = {
        "Penguins cannot fly but they swim very well. They breed on ice.": "birds that live near the south pole",
        "The invoice was paid in Swiss francs. The bank took a fee.": "which currency did we transfer",
        "Her violin has only three strings left. The bow is worn.": "a broken musical instrument",
    }
    memory = remember(actor=actor, scope=scope, content=f"\n{filler}\n".join(part * 5 for part in told)).memory
    remember(actor=actor, scope=scope, content="Office plants need water on Tuesday.")
    embed_waiting()
    for sentence, question in told.items():
        result = recall(actor=actor, query=question).results[0]
        assert result.memory == memory
        assert result.ranks.vector == 1
        assert sentence in result.excerpt


@pytest.mark.django_db
@pytest.mark.parametrize("content", ["x", "é", "。"])
def test_a_text_of_one_character_is_one_window(owner, scope, content):
    assert remember(actor=actor_for_user(owner), scope=scope, content=content).memory.windows.get().text == content
