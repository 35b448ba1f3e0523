"""Which languages a working tree holds, by the files that belong to it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from memories.checkout import Checkout, Unreadable
from memories.code.grammars import TEXT, language_of


@dataclass(frozen=True, slots=True)
class Languages:
    """``parsed``: languages read by symbol with their number of files, most first. ``others`` are compared whole.

    ``problem`` says why nothing was counted.
    """

    parsed: tuple[tuple[str, int], ...] = ()
    others: int = 0
    problem: str = ""


def languages_of(tree: Checkout) -> Languages:
    """By the endings of their names; no file is read."""
    try:
        counts = Counter(language_of(path) for path in tree.paths)
    except Unreadable as problem:
        return Languages(problem=str(problem))
    others = counts.pop(TEXT, 0)
    return Languages(tuple(counts.most_common()), others)
