import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.packing import CHARACTERS_A_TOKEN, Cut, Purse, cut


def test_what_fits_is_given_whole():
    assert cut("short", 5) == Cut("short", False)


def test_what_is_too_long_ends_at_a_word_and_says_so():
    assert cut("the harbour gate is closed at night", 25) == Cut("the harbour gate is…", True)


def test_a_word_without_end_is_cut_within():
    assert cut("x" * 100, 10) == Cut("x" * 9 + "…", True)


@given(st.text(max_size=400), st.integers(min_value=2, max_value=300))
def test_a_cut_is_never_longer_than_asked_and_begins_like_the_text(text, most):
    given_text = cut(text, most)
    assert len(given_text.text) <= most
    assert given_text.truncated == (len(text) > most)
    assert text.startswith(given_text.text.removesuffix("…").rstrip() if given_text.truncated else given_text.text)


def test_a_purse_takes_in_order_and_counts_what_it_cannot_pay():
    purse = Purse(tokens=10)
    assert purse.take(Cut("x" * 30, False)) == Cut("x" * 30, False)
    assert purse.take(Cut("y" * 30, False)) is None
    assert purse.take(Cut("z" * 10, False)) == Cut("z" * 10, False)
    assert (purse.left, purse.left_out) == (0, 1)


@pytest.mark.parametrize(("room", "length"), [(250, 250), (199, None)])
def test_a_long_text_shrinks_to_the_room_there_is_unless_that_is_next_to_none(room, length):
    purse = Purse(tokens=100)
    purse.take(Cut("x" * (100 * CHARACTERS_A_TOKEN - room), False))
    taken = purse.take(Cut("y" * 1000, False), may_shrink=True)
    assert (len(taken.text) if taken else None) == length
    assert taken is None or taken.truncated
