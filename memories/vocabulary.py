"""PURE. Words that stand for each other: who asks for one is also searched the other, and nobody is given either."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from memories.words import UNSPACED, Word, words_of

LONGEST: Final = 120  # characters of either side
MOST_SPOKEN: Final = 5
MOST_ALIASES: Final = 500  # standing in one scope: a recall reads through them

type Pair = tuple[str, str]
type Widened = tuple[int, str]
"""The place of a word in a query, from 1, and a text that is as good."""

_UNSPACED: Final = re.compile(f"[{UNSPACED}]")


def spelt(text: str) -> str:
    """As it is compared: white space of one kind, lower case."""
    return " ".join(text.split()).lower()


def holds(query: str, term: str) -> bool:
    """Whether *term* stands in *query* as words of their own, both as ``spelt``."""
    if _UNSPACED.search(term):
        return term in query
    return re.search(rf"(?<!\w){re.escape(term)}(?!\w)", query) is not None


def widened(words: Sequence[Word], query: str, pairs: Iterable[Pair]) -> list[Widened]:
    """For each side of a pair that *query* holds, its words' places among *words*, with the other side."""
    said = spelt(query)
    places = {word.text.casefold(): place for place, word in enumerate(words, start=1)}
    found: dict[Widened, None] = {}
    for asked, other in _asked(said, pairs):
        own = (word.text.casefold() for word in words_of(asked))
        found |= dict.fromkeys((places[word], other) for word in own if word in places)
    return list(found)


def spoken(query: str, pairs: Iterable[Pair]) -> str:
    """*query* with the other sides in brackets behind it, as its meaning is looked for: no model knows a code name."""
    others = list(dict.fromkeys(other for _, other in _asked(spelt(query), pairs)))[:MOST_SPOKEN]
    return f"{query} ({', '.join(others)})" if others else query


def _asked(said: str, pairs: Iterable[Pair]) -> Iterator[Pair]:
    """Of each pair the side that was said, and the other."""
    for first, second in pairs:
        for asked, other in ((first, second), (second, first)):
            if holds(said, spelt(asked)):
                yield asked, other
