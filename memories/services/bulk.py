"""Forgetting many memories in one act, and taking that act back.

The rows go a batch at a time, each batch in a short transaction of its own, and a row that somebody is changing is
passed over: so no other writer waits for more than one batch. The operation stands in the audit trail before its first
batch, so that a half done one can be taken back as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import batched
from typing import Any, Final
from uuid import UUID

from django.db import connection
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from memories.access import Actor, require_write
from memories.errors import Conflict, NotFound
from memories.models import AuditEntry, Memory, Scope
from memories.models.audit import OPERATION
from memories.models.memory import new_id
from memories.querysets import MemoryQuerySet
from memories.selection import Chosen
from memories.services import audit
from memories.services.validation import check_line
from memories.services.writing import require_scope, writing

BATCH: Final = 200
_BROUGHT_BACK: Final = ("pk", "scope_id", "archived_at", "weight", "accessed_at")
FORGET, TAKE_BACK = "forget_together", "take_back_together"


@dataclass(frozen=True, slots=True)
class Done:
    """*count* memories were retired or brought back; *left* were not: somebody was changing them at that moment, or,
    on the way back, a live memory says the same by now."""

    operation: UUID
    count: int
    left: int


def forget_many(*, actor: Actor, selection: Chosen, expected: int, reason: str = "") -> Done:
    """Forget what *selection* matches, if it still matches *expected* memories. Pinned and protected ones stay.

    Raises Conflict, with nothing changed, when the number is another by now, nothing matches, or somebody else is
    changing all that does.
    """
    check_line(reason, "reason")
    require_scope(actor, selection.scope)
    found = list(selection.forgettable().order_by("pk").values_list("pk", flat=True))
    if len(found) != expected:
        raise Conflict(f"{len(found):,} match by now, not {expected:,}. Look again first.", field="expected_count")
    if not found:
        raise Conflict("Nothing matches, so there is nothing to forget.")
    retired_at, operation = timezone.now(), new_id()
    audit.record_operation(
        actor=actor, action=FORGET, operation=operation, scope=selection.scope, reason=reason,
        filter=selection.said(), expected=expected, retired_at=retired_at.isoformat(),
    )  # fmt: skip

    def act(ids: Sequence[UUID]) -> int:
        return _forget(actor, selection.forgettable().filter(pk__in=ids), operation, retired_at, reason)

    done = in_batches(found, act)
    if not done:  # the same act came from elsewhere at this moment, or somebody changes them all
        raise Conflict("Others were forgetting or changing all of these at this moment, so nothing was left to forget.")
    return Done(operation, done, len(found) - done)


def in_batches(ids: Sequence[UUID], act: Callable[[Sequence[UUID]], int], size: int = 0) -> int:
    """How many *act* did, *size* (BATCH unless named) at a time, each in a transaction of its own."""
    done = 0
    for batch in batched(ids, size or BATCH):
        with writing():
            done += act(batch)
    return done


def _forget(actor: Actor, rows: MemoryQuerySet, operation: UUID, retired_at: datetime, reason: str) -> int:
    held = list(rows.select_for_update(of=("self",), skip_locked=True).only("pk", "scope_id", "updated_at"))
    Memory.objects.filter(pk__in=[row.pk for row in held]).update(
        invalidated_at=retired_at,
        updated_at=retired_at,
        invalidated_by=actor.user,
        invalidated_actor=actor.label[:200],
        invalidation_reason=reason,
    )
    subjects = [(row, {"operation": str(operation), "updated_at": row.updated_at.isoformat()}) for row in held]
    audit.record_each(actor=actor, action="forget", subjects=subjects, reason=reason)
    return len(held)


# Taking it back ------------------------------------------------------------------------------


def operation_for(actor: Actor, operation: UUID) -> AuditEntry:
    """The entry of a bulk act in a scope that the actor may read; raises NotFound otherwise."""
    entry = (
        AuditEntry.objects.filter(object_type=OPERATION, object_id=str(operation), action=FORGET)
        .filter(scope_id__in=actor.readable)
        .select_related("scope__owner")
        .first()
    )
    if entry is None:
        raise NotFound("There is no such operation here. Check the id.")
    return entry


def still_retired(entry: AuditEntry) -> MemoryQuerySet:
    """What the operation retired and nobody has brought back or retired anew since."""
    retired_at = datetime.fromisoformat(entry.detail["retired_at"])
    rows = Memory.objects.in_scopes([entry.scope.pk] if entry.scope else [])
    return rows.filter(invalidated_at=retired_at, superseded_by=None)


def take_back_many(*, actor: Actor, operation: UUID) -> Done:
    """Bring back what *operation* retired, and nothing else: the rows are as they were before.

    Raises Conflict when nothing of it is retired any more.
    """
    entry = operation_for(actor, operation)
    if entry.scope is None:
        raise NotFound("The scope of this operation is gone.")
    require_write(actor, entry.scope.pk)
    found = list(still_retired(entry).order_by("pk").values_list("pk", flat=True))
    if not found:
        raise Conflict("Nothing that this retired is forgotten any more, so there is nothing to bring back.")

    def act(ids: Sequence[UUID]) -> int:
        return _bring_back(actor, entry, still_retired(entry).filter(pk__in=ids))

    done = in_batches(found, act)
    audit.record_operation(
        actor=actor, action=TAKE_BACK, operation=operation, scope=entry.scope, restored=done, left=len(found) - done
    )
    return Done(operation, done, len(found) - done)


def _bring_back(actor: Actor, entry: AuditEntry, rows: MemoryQuerySet) -> int:
    take_turns_over(rows)
    held = rows.select_for_update(of=("self",), skip_locked=True).exclude(_has_twin()).only(*_BROUGHT_BACK)
    were = _were(entry, held)
    members = [row for row in held if row.pk in were]
    for row in members:
        row.updated_at = were[row.pk]
        row.invalidated_at = row.invalidated_by = None
        row.invalidated_actor = row.invalidation_reason = ""
        row.archived_at = None
        if entry.scope and entry.scope.retention == Scope.Retention.DECAYING:  # else its next cycle might let them go
            row.weight, row.accessed_at = 1.0, timezone.now()
    Memory.objects.bulk_update(
        members,
        [
            "invalidated_at",
            "invalidated_by",
            "invalidated_actor",
            "invalidation_reason",
            "updated_at",
            "archived_at",
            "weight",
            "accessed_at",
        ],
    )
    subjects = [(row, {"operation": entry.object_id}) for row in members]
    audit.record_each(actor=actor, action="restore", subjects=subjects)
    return len(members)


def take_turns_over(rows: MemoryQuerySet) -> None:
    """With writers of the same texts, as ``writing.take_turns`` does for one."""
    names = sorted(f"content:{scope}:{text}" for scope, text in rows.values_list("scope_id", "content_sha256"))
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(name, 0)) FROM unnest(%s::text[]) name", [names])


def _has_twin() -> Q:
    """Whose exact words another live memory has by now; as ``writing.refuse_twin`` does for one."""
    same = {"scope_id": OuterRef("scope_id"), "kind": OuterRef("kind"), "content_sha256": OuterRef("content_sha256")}
    return Q(Exists(Memory.objects.live().filter(external_id="", **same)), external_id="")


def _were(entry: AuditEntry, rows: Sequence[Memory] | MemoryQuerySet) -> dict[Any, datetime]:
    """When each member was last changed before the operation; who is no member is not in it."""
    trail = AuditEntry.objects.filter(object_type="memory", object_id__in=[str(row.pk) for row in rows])
    members = trail.filter(action="forget", detail__operation=entry.object_id)
    changed = members.values_list("object_id", "detail__updated_at")
    return {UUID(memory): datetime.fromisoformat(moment) for memory, moment in changed}
