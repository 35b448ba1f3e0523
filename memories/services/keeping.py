"""What a person decides about memories that are about to leave a decaying scope, and the way back."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.utils import timezone

from memories.access import Actor, require_write
from memories.errors import Conflict, NotFound, ValidationFailed
from memories.models import AuditEntry, Memory, Scope
from memories.models.audit import OPERATION
from memories.models.memory import new_id
from memories.services import audit
from memories.services.writing import require_scope, writing

MOST: Final = 100
KEEP, TAKE_BACK = "keep", "take_back_keep"
KEPT, PINNED = "kept", "pinned"


@dataclass(frozen=True, slots=True)
class Kept:
    """*count* memories weigh 1 again, as if just used; *left* were not: retired, pinned or being changed meanwhile."""

    operation: UUID
    count: int
    left: int


def keep_many(*, actor: Actor, scope: Scope, memories: Collection[UUID], pin: bool = False) -> Kept:
    """Give each of *memories* its full weight again, and with *pin* keep it whatever its weight.

    Raises ValidationFailed for none or more than MOST, Conflict where none of them can be kept any more.
    """
    wanted = _checked(memories)
    require_scope(actor, scope)
    operation, now = new_id(), timezone.now()
    with writing():
        rows = Memory.objects.filter(pk__in=wanted, scope=scope, invalidated_at=None, pinned=False)
        held = list(rows.select_for_update(of=("self",), skip_locked=True))
        if not held:
            raise Conflict("None of these can be kept any more: they were retired or pinned, or somebody changes them.")
        _note(actor, scope, operation, held, pin, now)
        for row in held:
            row.weight, row.accessed_at = 1.0, now
            if pin:
                row.pinned, row.updated_at, row.version = True, now, row.version + 1
        Memory.objects.bulk_update(held, ["weight", "accessed_at", "pinned", "updated_at", "version"])
    return Kept(operation, len(held), len(wanted) - len(held))


def _checked(memories: Collection[UUID]) -> set[UUID]:
    wanted = set(memories)
    if not wanted:
        raise ValidationFailed("Choose at least one memory.", field="memories")
    if len(wanted) > MOST:
        raise ValidationFailed(f"Choose at most {MOST} memories at once.", field="memories")
    return wanted


def _note(actor: Actor, scope: Scope, operation: UUID, held: list[Memory], pin: bool, now: datetime) -> None:
    told: dict[str, Any] = {"count": len(held), "pinned": pin, "kept_at": now.isoformat()}
    audit.record_operation(actor=actor, action=KEEP, operation=operation, scope=scope, **told)
    subjects = [
        (row, {"operation": str(operation), "weight": row.weight, "accessed_at": row.accessed_at.isoformat()})
        for row in held
    ]
    audit.record_each(actor=actor, action="pin" if pin else KEEP, subjects=subjects)


def take_back_keep(*, actor: Actor, operation: UUID) -> int:
    """Undo ``keep_many``: those that nobody used or changed since weigh what they did, and are unpinned; how many."""
    entry = _operation_for(actor, operation)
    trail = AuditEntry.objects.filter(object_type="memory", action__in=[KEEP, "pin"], scope=entry.scope)
    were = {UUID(row.object_id): row.detail for row in trail.filter(detail__operation=str(operation))}
    pinned, kept_at = bool(entry.detail["pinned"]), datetime.fromisoformat(entry.detail["kept_at"])
    with writing():
        rows = Memory.objects.filter(pk__in=were, invalidated_at=None, pinned=pinned, accessed_at=kept_at)
        held = list(rows.select_for_update(of=("self",), skip_locked=True))
        for row in held:
            row.weight = were[row.pk]["weight"]
            row.accessed_at = datetime.fromisoformat(were[row.pk]["accessed_at"])
            if pinned:
                row.pinned, row.version = False, row.version + 1
        if not held:
            raise Conflict("Nothing of this is as it was left, so there is nothing to take back.")
        Memory.objects.bulk_update(held, ["weight", "accessed_at", "pinned", "version"])
        audit.record_each(
            actor=actor, action=TAKE_BACK, subjects=[(row, {"operation": str(operation)}) for row in held]
        )
    return len(held)


def _operation_for(actor: Actor, operation: UUID) -> AuditEntry:
    entry = (
        AuditEntry.objects.filter(object_type=OPERATION, object_id=str(operation), action=KEEP)
        .filter(scope_id__in=actor.readable)
        .first()
    )
    if entry is None or entry.scope_id is None:
        raise NotFound("There is no such operation here. Check the id.")
    require_write(actor, entry.scope_id)
    return entry
