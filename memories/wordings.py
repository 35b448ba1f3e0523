"""The wordings of a memory: an edit is a new row, and the same memory. One query, however often it was edited."""

from collections.abc import Collection
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection

from memories.services.edit import EDITED
from memories.sql import load


class _Wording(NamedTuple):
    seed: UUID
    id: UUID
    is_edited: bool


def earlier_wordings(memory: UUID) -> set[UUID]:
    """The memory and what it was edited from."""
    return {wording.id for wording in _walked([memory], earlier=True)}


def later_wordings(memory: UUID) -> list[UUID]:
    """What the memory was edited into, without itself, in order."""
    return [wording.id for wording in _walked([memory], later=True) if wording.id != memory]


def all_wordings(memory: UUID) -> set[UUID]:
    """The memory and everything it was edited from or into."""
    return {wording.id for wording in _walked([memory], earlier=True, later=True)}


def newest_wordings(memories: Collection[UUID]) -> dict[UUID, UUID]:
    """For each memory the wording that stands; in a circle, which an import may bring, none does, and it has none."""
    return {wording.seed: wording.id for wording in _walked(memories, later=True) if not wording.is_edited}


def _walked(memories: Collection[UUID], *, earlier: bool = False, later: bool = False) -> list[_Wording]:
    wanted: dict[str, Any] = {"seeds": list(memories), "earlier": earlier, "later": later, "edited": EDITED}
    with connection.cursor() as cursor:
        cursor.execute(load("wordings"), wanted)
        return [_Wording(*row) for row in cursor.fetchall()]
