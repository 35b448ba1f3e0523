"""Back out of the archive: those that a person chose."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from memories.access import Actor
from memories.decaying import archive_of
from memories.errors import Conflict, ValidationFailed
from memories.models import Memory, Scope
from memories.services.lifecycle import restore
from memories.services.writing import require_scope

MOST: Final = 100


@dataclass(frozen=True, slots=True)
class BroughtBack:
    """*count* memories are live again; *left* stay: a live memory says the same, or they are no longer archived."""

    count: int
    left: int


def bring_back_chosen(*, actor: Actor, scope: Scope, memories: Collection[UUID]) -> BroughtBack:
    """Restore each of *memories* by itself, as ``restore`` does, the newest first.

    Raises ValidationFailed for none or more than MOST, Conflict where none of them can come back.
    """
    require_scope(actor, scope)
    wanted = set(memories)
    if not wanted:
        raise ValidationFailed("Choose at least one memory.", field="memories")
    if len(wanted) > MOST:
        raise ValidationFailed(f"Choose at most {MOST} memories at once.", field="memories")
    rows = archive_of(scope).filter(pk__in=wanted).select_related("scope").order_by("-created_at", "pk")
    count = sum(_came_back(actor, memory) for memory in rows)
    if not count:
        raise Conflict("None of these can come back: a live memory says the same by now, or they left the archive.")
    return BroughtBack(count, len(wanted) - count)


def _came_back(actor: Actor, memory: Memory) -> bool:
    try:
        restore(actor=actor, memory=memory)
    except Conflict:  # counted by the caller as one that stays
        return False
    return True
