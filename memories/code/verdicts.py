"""What became of the code that a memory is about, from fingerprints alone."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from memories.code.symbols import Fingerprints


class Verdict(StrEnum):
    UNCHANGED = "unchanged"
    COSMETIC = "cosmetic"  # the text differs, what it says does not
    CHANGED = "changed"
    MOVED = "moved"  # the same code, once, in another place
    RENAMED = "renamed"  # the same code under another name, one for one
    AMBIGUOUS = "ambiguous"  # two or more could be it
    GONE = "gone"
    UNKNOWN = "unknown"  # nobody could look


DEMOTING: Final = frozenset({Verdict.CHANGED, Verdict.GONE})
# Worst first. What demotes comes before what nobody knows, and that before what is known to be well.
_WORST: Final = (
    Verdict.GONE,
    Verdict.CHANGED,
    Verdict.UNKNOWN,
    Verdict.AMBIGUOUS,
    Verdict.RENAMED,
    Verdict.MOVED,
    Verdict.COSMETIC,
    Verdict.UNCHANGED,
)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a symbol stands: a path relative to the repository, and a qualified name, empty for the whole file."""

    path: str
    symbol: str = ""

    def __str__(self) -> str:
        return f"{self.symbol} in {self.path}" if self.symbol else self.path


@dataclass(frozen=True, slots=True)
class Judged:
    """``place`` is where the code stands now, where that is another place than it was saved at."""

    verdict: Verdict
    detail: str = ""
    place: Place | None = None


def worst(verdicts: Collection[Verdict]) -> Verdict | None:
    """The one by which a memory with several anchors is ranked."""
    return next((verdict for verdict in _WORST if verdict in verdicts), None)


def judged_here(*, saved: Fingerprints, now: Fingerprints, is_same_text: bool) -> Judged:
    """The symbol is where it was: does it still say the same?

    What was fingerprinted by the weaker method once is compared by it again.
    """
    if is_same_text:
        return Judged(Verdict.UNCHANGED)
    if saved.exact == now.exact:
        return Judged(Verdict.COSMETIC, "Only its layout or its comments differ.")
    if saved.is_weak != now.is_weak:
        return Judged(Verdict.UNKNOWN, "The parser does not understand the code as it is now.")
    return Judged(Verdict.CHANGED)


def judged_elsewhere(*, exact: Collection[Place], masked: Collection[Place], had_twins: bool) -> Judged:
    """The symbol is not where it was. *exact* and *masked* are all places of the repository with its fingerprints.

    ``had_twins``: when it was saved, another symbol said the same under another name, so a like one is no proof of a
    new name.
    """
    if len(exact) == 1:
        (place,) = exact
        return Judged(Verdict.MOVED, f"It stands in {place.path} now.", place)
    if len(exact) > 1:
        return Judged(Verdict.AMBIGUOUS, f"The same code stands in {_named(exact)}.")
    if not masked:
        return Judged(Verdict.GONE)
    if len(masked) == 1 and not had_twins:
        (place,) = masked
        return Judged(Verdict.RENAMED, f"The same code is called {place} now.", place)
    return Judged(Verdict.AMBIGUOUS, f"It may be {_named(masked)} now.")


def _named(places: Collection[Place]) -> str:
    shown = sorted(map(str, places))
    more = f" and {len(shown) - 3} more" if len(shown) > 3 else ""
    return ", ".join(shown[:3]) + more
