import random

import pytest

from reflections.usefulness import Verdict, groups, merged, pieces


def verdict(identity="m", useful=False, relevant=False, misled=False, confidence=0.8):
    return Verdict(identity, useful, relevant, misled, confidence)


@pytest.mark.parametrize("seed", range(5))
def test_pieces_are_short_and_together_the_whole(seed):
    dice = random.Random(seed)
    text = "".join(dice.choice("ab \n") * dice.randrange(1, 30) for _ in range(40))
    found = list(pieces(text, size=25))
    assert "".join(found) == text
    assert max(map(len, found)) <= 25


def test_a_piece_ends_with_a_line_where_there_is_one():
    assert list(pieces("one\ntwo\nthree", size=9)) == ["one\ntwo\n", "three"]
    assert list(pieces("onetwothree", size=4)) == ["onet", "woth", "ree"]
    assert list(pieces("", size=4)) == []


def test_groups_hold_at_most_so_many():
    assert groups([1, 2, 3, 4, 5], size=2) == [[1, 2], [3, 4], [5]]


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([verdict(useful=True, confidence=0.9), verdict(misled=True, confidence=0.6)], (False, True, 0.6)),
        ([verdict(useful=True, confidence=0.9), verdict(misled=True, confidence=0.59)], (True, False, 0.9)),
        ([verdict(useful=True, confidence=0.3), verdict(misled=True, confidence=0.2)], (False, True, 0.2)),
        ([verdict(confidence=0.9), verdict(useful=True, confidence=0.7)], (True, False, 0.7)),
        ([verdict(useful=True, confidence=0.7), verdict(useful=True, confidence=0.8)], (True, False, 0.8)),
    ],
    ids=["misled counts", "misled is unsure", "none is sure", "silence is no vote", "the surest"],
)
def test_of_several_verdicts_the_gravest_that_counts_stands_in_whatever_order(verdicts, expected):
    for order in (verdicts, verdicts[::-1]):
        (one,) = merged(order, minimum=0.6)
        assert (one.useful, one.misled, one.confidence) == expected


def test_relevant_anywhere_is_relevant_and_each_memory_has_one_verdict():
    found = merged([verdict("a"), verdict("b", relevant=True), verdict("a", relevant=True)], minimum=0.6)
    assert [(one.id, one.relevant) for one in found] == [("a", True), ("b", True)]
