"""Which memories are in doubt. Whoever keeps the disputes registers the lookup: memories itself knows of none."""

from collections.abc import Callable, Collection, Mapping
from uuid import UUID

type Lookup = Callable[[Collection[UUID]], Mapping[UUID, UUID]]
"""From ids of memories to the open dispute about each that has one."""

_lookups: list[Lookup] = []


def register(lookup: Lookup) -> None:
    if lookup not in _lookups:
        _lookups.append(lookup)


def open_disputes(memories: Collection[UUID]) -> dict[UUID, UUID]:
    """The open dispute about each of *memories* that has one; nothing is asked about none."""
    found: dict[UUID, UUID] = {}
    for lookup in _lookups if memories else ():
        found |= lookup(memories)
    return found
