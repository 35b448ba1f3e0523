"""What became of the code, from fingerprints alone."""

import pytest

from memories.code.symbols import Source
from memories.code.verdicts import DEMOTING, Place, Verdict, judged_elsewhere, judged_here, worst

SAVED = "def f(a):\n    return a + 1\n"


def here(now, saved=SAVED, language="python", symbol="f"):
    before, after = (Source(text, language).symbol(symbol) for text in (saved, now))
    return judged_here(
        saved=before.fingerprints, now=after.fingerprints, is_same_text=before.text == after.text
    ).verdict


@pytest.mark.parametrize(
    ("now", "verdict"),
    [
        (SAVED, Verdict.UNCHANGED),
        ("import os\n\n\n" + SAVED, Verdict.UNCHANGED),
        ("def f(a):\n    # one more\n    return a + 1\n", Verdict.COSMETIC),
        ("def f(a):\n    return a + 2\n", Verdict.CHANGED),
        ("def f(a):\n    return (a + 2\n\nx = 1\n", Verdict.UNKNOWN),
    ],
)
def test_a_symbol_in_its_place(now, verdict):
    assert here(now) == verdict


@pytest.mark.behaviour("H12")
def test_the_same_code_once_elsewhere_has_moved():
    place = Place("b.py", "f")
    judged = judged_elsewhere(exact=[place], masked=[place, Place("c.py", "g")], had_twins=False)
    assert (judged.verdict, judged.place) == (Verdict.MOVED, place)
    assert "b.py" in judged.detail


@pytest.mark.behaviour("H13")
def test_the_same_code_under_one_other_name_was_renamed_and_under_two_nobody_knows():
    one, two = Place("a.py", "g"), Place("a.py", "h")
    assert judged_elsewhere(exact=[], masked=[one], had_twins=False).verdict == Verdict.RENAMED
    assert judged_elsewhere(exact=[], masked=[one, two], had_twins=False).verdict == Verdict.AMBIGUOUS
    assert judged_elsewhere(exact=[], masked=[one], had_twins=True).verdict == Verdict.AMBIGUOUS
    assert judged_elsewhere(exact=[one, two], masked=[], had_twins=False).verdict == Verdict.AMBIGUOUS


@pytest.mark.behaviour("H14")
def test_what_is_nowhere_is_gone():
    assert judged_elsewhere(exact=[], masked=[], had_twins=False).verdict == Verdict.GONE


@pytest.mark.behaviour("H17")
def test_the_worst_of_several_counts():
    assert worst([Verdict.UNCHANGED, Verdict.UNKNOWN, Verdict.CHANGED]) == Verdict.CHANGED
    assert worst([Verdict.UNCHANGED, Verdict.UNKNOWN]) == Verdict.UNKNOWN
    assert worst([]) is None
    assert sorted(DEMOTING) == [Verdict.CHANGED, Verdict.GONE]
