"""PURE. A conversation in pieces that a judge can read, and of what it says of each piece one verdict a memory."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

PIECE: Final = 24_000  # characters of a conversation in one question
AT_ONCE: Final = 20  # memories in one question


@dataclass(frozen=True, slots=True)
class Verdict:
    id: str
    useful: bool
    relevant: bool
    misled: bool
    confidence: float


def pieces(text: str, size: int = PIECE) -> Iterator[str]:
    """*text* in pieces of at most *size* characters, cut between lines where there are any."""
    while len(text) > size:
        cut = text.rfind("\n", 0, size) + 1 or size
        yield text[:cut]
        text = text[cut:]
    if text:
        yield text


def groups[T](items: Sequence[T], size: int = AT_ONCE) -> list[Sequence[T]]:
    return [items[first : first + size] for first in range(0, len(items), size)]


def merged(verdicts: Iterable[Verdict], *, minimum: float) -> list[Verdict]:
    """One verdict for each memory, in the order of their first: of those that count the gravest and surest, for what
    misled in one place was not made good by another. Relevant anywhere is relevant."""
    found: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        found.setdefault(verdict.id, []).append(verdict)
    return [_one(of_one, minimum) for of_one in found.values()]


def _one(verdicts: Sequence[Verdict], minimum: float) -> Verdict:
    counting = [verdict for verdict in verdicts if verdict.confidence >= minimum] or verdicts
    worst = max(counting, key=_gravity)
    relevant = any(verdict.relevant for verdict in counting)
    return Verdict(worst.id, worst.useful, relevant, worst.misled, worst.confidence)


def _gravity(verdict: Verdict) -> tuple[Any, ...]:
    return verdict.misled, verdict.useful, verdict.confidence
