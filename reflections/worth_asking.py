"""PURE. Which two memories are worth a question to a judge although they lie less near each other than most that are
asked about: those that say nearly the same sentence, and those that speak of one thing by its name.

A contradiction about a thing is often told in other words than the first statement was, and so lies further from it.
"""

from collections.abc import Collection
from typing import Final

from memories.words import names_in, searchable, words_of
from reflections.extractive import split_sentences
from reflections.ladder import Pair, Side
from reflections.naming import texts_of_one_shape

WIDELY: Final = 100  # a name that more memories of a scope hold says little of the two that share it


def is_worth_asking(pair: Pair, *, widely_named: Collection[str] = ()) -> bool:
    """*widely_named* are those of ``names_shared`` that count for nothing."""
    return _are_of_one_shape(pair) or bool(names_shared(pair).difference(widely_named))


def _are_of_one_shape(pair: Pair) -> bool:
    one, another = (list(split_sentences(searchable(side.content))) for side in (pair.a, pair.b))
    return texts_of_one_shape(one, another)


def names_shared(pair: Pair) -> frozenset[str]:
    """The entities of one that the other has or names in its text, and the identifiers that stand in both."""
    a, b = pair.a, pair.b
    by_one = a.entities & (b.entities | names_in(searchable(b.content)))
    by_the_other = b.entities & names_in(searchable(a.content))
    return by_one | by_the_other | (_identifiers(a) & _identifiers(b))


def _identifiers(side: Side) -> set[str]:
    """Paths, codes and names in code. What begins with a digit is a number, a date or a measure."""
    words = words_of(searchable(side.content))
    return {word.text.casefold() for word in words if word.identifier and word.text[0].isalpha()}
