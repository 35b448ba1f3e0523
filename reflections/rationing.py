"""PURE. Which of the standing rules of a place are delivered: pinned ones all, and of the others as many as it takes.

First the pinned ones, then those whose memories proved the most useful, then those promoted first.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

MOST_UNPINNED: Final = (
    12  # of a place, everywhere or a scope: what is said at the start of every session is read every time
)
CROWDED: Final = f"{MOST_UNPINNED} others come first. Pin it, or revoke one of those."


@dataclass(frozen=True, slots=True)
class Standing:
    """``useful`` is the evidence of its memory, ``hindrance`` why it is not delivered at all."""

    id: UUID
    pinned: bool
    useful: float
    promoted_at: datetime
    hindrance: str = ""


@dataclass(frozen=True, slots=True)
class Rationed:
    """In the order of delivery, and why each other one is left out."""

    delivered: tuple[UUID, ...]
    left_out: tuple[tuple[UUID, str], ...]


def ration(rules: Iterable[Standing], most: int = MOST_UNPINNED) -> Rationed:
    """Of the rules of one place those that are delivered, at most *most* of them unpinned."""
    delivered: list[UUID] = []
    left_out: list[tuple[UUID, str]] = []
    unpinned = 0
    for rule in sorted(rules, key=_place):
        unpinned += not rule.pinned and not rule.hindrance
        why = rule.hindrance or (CROWDED if not rule.pinned and unpinned > most else "")
        if why:
            left_out.append((rule.id, why))
        else:
            delivered.append(rule.id)
    return Rationed(tuple(delivered), tuple(left_out))


def ration_each(places: Iterable[Iterable[Standing]], most: int = MOST_UNPINNED) -> Rationed:
    """Of the rules of several places those that are delivered in one of them at least, each place with its *most*."""
    rules: dict[UUID, Standing] = {}
    said: dict[UUID, str] = {}
    for place in map(list, places):
        rules |= {rule.id: rule for rule in place}
        rationed = ration(place, most)
        said |= dict.fromkeys(rationed.delivered, "") | {id: said.get(id, why) for id, why in rationed.left_out}
    order = [rule.id for rule in sorted(rules.values(), key=_place)]
    delivered = tuple(id for id in order if not said[id])
    return Rationed(delivered, tuple((id, said[id]) for id in order if said[id]))


def _place(rule: Standing) -> tuple[bool, float, datetime, UUID]:
    return not rule.pinned, -rule.useful, rule.promoted_at, rule.id
