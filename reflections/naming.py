"""PURE. Sentences of one shape about differently named things: the CEO and the CTO of one company, one office in two
cities. Their vectors lie close together, and yet they are no repeats of one another.

A name is told by its letters: capitals within a sentence, or all through. So roles in small letters are not seen, and
where every noun has a capital more is kept apart than would need to be.
"""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import islice, product
from typing import Final

_WORD: Final = re.compile(r"[^\W_]+(?:[-'’.][^\W_]+)*")
_ALIKE: Final = 0.7  # shared words over those of the longer sentence, from which two have one shape
_SHAPE: Final = 4  # shared words that make a shape
_READ: Final = 40  # sentences of a text that are compared
# What such a word is put for changes with time, so a later one is news and no other thing.
_OF_THE_CALENDAR: Final = frozenset(
    word
    for words in (
        "monday tuesday wednesday thursday friday saturday sunday mon tue wed thu fri sat sun",
        "january february march april may june july august september october november december",
        "jan feb mar apr jun jul aug sep sept oct nov dec am pm utc",
    )
    for word in words.split()
)


def named_apart(one: str, another: str) -> bool:
    """Whether two sentences say the same of differently named things."""
    ours, theirs = _WORD.findall(one), _WORD.findall(another)
    return any(
        op == "replace" and _holds_a_name(ours, start, end) and _holds_a_name(theirs, begin, stop)
        for op, start, end, begin, stop in _edits_of_one_shape(ours, theirs)
    )


def of_one_shape(one: str, another: str) -> bool:
    """Whether two sentences are one but for a few words."""
    return bool(_edits_of_one_shape(_WORD.findall(one), _WORD.findall(another)))


def texts_named_apart(one: Sequence[str], another: Sequence[str]) -> bool:
    """Whether a sentence of one text and one of another are ``named_apart``."""
    return any(named_apart(ours, theirs) for ours, theirs in product(islice(one, _READ), islice(another, _READ)))


def texts_of_one_shape(one: Sequence[str], another: Sequence[str]) -> bool:
    """Whether a sentence of one text and one of another are ``of_one_shape``."""
    return any(of_one_shape(ours, theirs) for ours, theirs in product(islice(one, _READ), islice(another, _READ)))


def _edits_of_one_shape(one: Sequence[str], another: Sequence[str]) -> list[tuple[str, int, int, int, int]]:
    """What leads from one sentence to the other; empty where they are equal, or of two shapes."""
    plain, other_plain = [word.casefold() for word in one], [word.casefold() for word in another]
    if not _could_share_a_shape(plain, other_plain):
        return []
    edits = SequenceMatcher(None, plain, other_plain, autojunk=False).get_opcodes()
    shared = sum(end - start for op, start, end, _, _ in edits if op == "equal")
    return list(edits) if _is_one_shape(shared, plain, other_plain) else []


def _could_share_a_shape(one: Sequence[str], another: Sequence[str]) -> bool:
    """Cheaper than looking at their order, and never wrong where the answer is no."""
    return one != another and _is_one_shape(len(set(one) & set(another)) + _repeats(one, another), one, another)


def _repeats(one: Sequence[str], another: Sequence[str]) -> int:
    return max(len(one) - len(set(one)), len(another) - len(set(another)))


def _is_one_shape(shared: int, one: Sequence[str], another: Sequence[str]) -> bool:
    return shared >= _SHAPE and shared >= _ALIKE * max(len(one), len(another))


def _holds_a_name(words: Sequence[str], start: int, end: int) -> bool:
    return any(_is_name(words[place], first=place == 0) for place in range(start, end))


def _is_name(word: str, *, first: bool) -> bool:
    if word.casefold() in _OF_THE_CALENDAR or any(letter.isdigit() for letter in word):
        return False
    return (len(word) > 1 and word.isupper()) or (word[0].isupper() and not first)
