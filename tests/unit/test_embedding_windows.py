import time
from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from zeromemory.embedding.windows import Window, estimated_token_starts, windows

PROSE = st.text(alphabet=st.sampled_from("ab é漢.!?\n\t\"'\u2009"), max_size=400)
ANY_TEXT = st.one_of(st.text(max_size=300), PROSE)
SIZES = st.integers(min_value=1, max_value=40)


def every_character(text: str) -> range:
    return range(len(text))


def tokens_in(span: Window, starts: range) -> int:
    return sum(span.start <= start < span.stop for start in starts)


@given(ANY_TEXT, SIZES, st.integers(min_value=0, max_value=60))
def test_windows_cover_the_whole_text_without_a_gap(text, max_tokens, overlap):
    spans = windows(text, every_character(text), max_tokens, overlap)
    assert spans[0].start == 0
    assert spans[-1].stop == len(text)
    assert all(later.start <= earlier.stop for earlier, later in pairwise(spans))


@given(ANY_TEXT, SIZES, st.integers(min_value=0, max_value=60))
def test_windows_move_forward_and_none_is_empty(text, max_tokens, overlap):
    spans = windows(text, every_character(text), max_tokens, overlap)
    assert all(span.start < span.stop for span in spans) or not text
    for earlier, later in pairwise(spans):
        assert earlier.start < later.start
        assert earlier.stop < later.stop


@given(ANY_TEXT, SIZES)
def test_no_window_holds_more_tokens_than_the_model_reads(text, max_tokens):
    starts = every_character(text)
    assert all(tokens_in(span, starts) <= max_tokens for span in windows(text, starts, max_tokens))


@given(ANY_TEXT, SIZES)
def test_a_text_that_fits_is_exactly_one_window(text, spare):
    assert windows(text, every_character(text), len(text) + spare) == [Window(0, len(text))]


@given(st.text(min_size=1, max_size=60), st.lists(st.integers(0, 59), max_size=200), SIZES)
@example("ab", [1] * 50, 4)
@example("ab", [0] * 50, 4)
def test_many_tokens_at_one_character_still_end(text, places, max_tokens):
    starts = sorted(place for place in places if place < len(text))
    spans = windows(text, starts, max_tokens)
    assert spans[0].start == 0
    assert spans[-1].stop == len(text)
    for earlier, later in pairwise(spans):
        assert later.start <= earlier.stop < later.stop


@given(ANY_TEXT)
def test_estimated_tokens_begin_at_zero_and_are_at_most_four_characters(text):
    starts = estimated_token_starts(text)
    assert starts[:1] == ([0] if text else [])
    assert all(0 < later - earlier <= 4 for earlier, later in pairwise([*starts, len(text)]))


def test_a_window_ends_after_a_line_where_there_is_one():
    text = "first line of words here\nsecond line of words here. More and more words follow"
    [first, *_] = windows(text, every_character(text), 40, 0)
    assert text[first.start : first.stop] == "first line of words here\n"


def test_a_window_ends_after_a_sentence_where_there_is_no_line():
    text = "The first sentence is here. The second one goes on and on and on"
    [first, *_] = windows(text, every_character(text), 40, 0)
    assert text[first.start : first.stop] == "The first sentence is here. "


def test_a_window_ends_between_words_where_there_is_no_sentence():
    text = "words and words and words and words and words and words"
    spans = windows(text, every_character(text), 24, 6)
    assert all(text[span.stop - 1] == " " for span in spans[:-1])
    assert all(text[span.start - 1] == " " for span in spans[1:])


def test_neighbours_share_about_the_asked_number_of_tokens():
    text = "word " * 500
    starts = range(0, len(text), 5)
    *inner, _last = pairwise(windows(text, starts, 200, 32))
    assert {tokens_in(Window(later.start, earlier.stop), starts) for earlier, later in inner} == {32}


def test_two_megabytes_take_under_three_seconds_of_cpu():
    text = ("A sentence of some words. " * 80_000)[:2_000_000]
    begin = time.process_time()
    spans = windows(text, estimated_token_starts(text), 512)
    assert time.process_time() - begin < 3
    assert spans[-1].stop == len(text)


def test_one_unbroken_word_of_a_megabyte_takes_under_two_seconds_of_cpu():
    text = "a" * 1_000_000
    begin = time.process_time()
    spans = windows(text, estimated_token_starts(text), 512)
    assert time.process_time() - begin < 2
    assert max(span.stop - span.start for span in spans) == 512 * 4
