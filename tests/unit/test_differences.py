import itertools
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.differences import MOST_EDITS, difference

WORDY = st.lists(st.sampled_from(["a", "b", " ", "\n", ".", "word", "été", "語"]), max_size=60).map("".join)


def told(parts, *ops):
    return "".join(part["text"] for part in parts if part["op"] in ops)


@given(WORDY, WORDY)
def test_the_parts_make_both_texts(old, new):
    parts = difference(old, new)
    assert told(parts, "same", "remove") == old
    assert told(parts, "same", "add") == new


@given(st.text(max_size=200), st.text(max_size=200))
def test_the_parts_make_both_texts_whatever_characters_they_hold(old, new):
    parts = difference(old, new)
    assert told(parts, "same", "remove") == old
    assert told(parts, "same", "add") == new


@given(WORDY)
def test_equal_texts_have_no_difference(text):
    assert [part["op"] for part in difference(text, text)] == (["same"] if text else [])


@given(WORDY, WORDY)
def test_neighbouring_parts_differ_in_kind_and_none_is_empty(old, new):
    parts = difference(old, new)
    assert all(part["text"] for part in parts)
    assert all(one["op"] != next_one["op"] for one, next_one in itertools.pairwise(parts))


def test_one_changed_word_is_one_pair_of_parts():
    assert difference("Deploys run on Monday.", "Deploys run on Friday.") == [
        {"op": "same", "text": "Deploys run on "},
        {"op": "remove", "text": "Monday"},
        {"op": "add", "text": "Friday"},
        {"op": "same", "text": "."},
    ]


def test_an_added_sentence_leaves_the_rest_alone():
    assert difference("First. Third.", "First. Second. Third.") == [
        {"op": "same", "text": "First. "},
        {"op": "add", "text": "Second. "},
        {"op": "same", "text": "Third."},
    ]


def test_a_changed_phrase_is_one_pair_of_parts():
    assert difference("Two people watch the graphs.", "Somebody else reads the graphs.") == [
        {"op": "remove", "text": "Two people watch"},
        {"op": "add", "text": "Somebody else reads"},
        {"op": "same", "text": " the graphs."},
    ]


def test_texts_far_apart_are_compared_by_lines():
    old = "\n".join(f"old words in plenty number {n}" for n in range(MOST_EDITS)) + "\nthe same line\n"
    new = "\n".join(f"new {n} terms entirely {n}" for n in range(MOST_EDITS // 3)) + "\nthe same line\n"
    parts = difference(old[: len(old) // 4] + "\nthe same line\n", new)
    assert parts[-1] == {"op": "same", "text": "the same line\n"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a " * 900, "b a " * 450),
        ("a " * 25_000, "b a " * 12_500),
        ("a" * 50_000, "b" * 50_000),
        ("x\n" * 20_000, "y\nx\n" * 10_000),
        ("\n" * 50_000, " " * 50_000),
        ("., " * 15_000, ",. " * 15_000),
    ],
    ids=["short", "words", "one word", "lines", "blank", "marks"],
)
def test_no_pair_of_texts_keeps_a_page_waiting(old, new):
    began = time.process_time()
    parts = difference(old, new)
    assert time.process_time() - began < 2
    assert told(parts, "same", "remove") == old
    assert told(parts, "same", "add") == new
