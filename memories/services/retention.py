"""The cycle of a decaying scope: weights fall, what is below the floor leaves. Set-based, a batch at a time.

Nobody waits for a cycle: each batch is a short transaction of its own, and a row that somebody is changing is passed by
until the next cycle. A cycle that is killed half-way has done whole batches, and the next one goes on from the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import connection, models
from django.db.models import Exists, F, OuterRef, Q
from django.utils import timezone

from memories.access import Actor
from memories.decaying import KEPT, falling, held, may_leave, weight_at
from memories.errors import Conflict
from memories.models import Memory, RetentionCycle, RetentionPolicy, Scope
from memories.protection import PROTECTED_KINDS, PROVISIONAL
from memories.querysets import MemoryQuerySet
from memories.retention import DELETE, MOST_HALF_LIVES, RetentionRule, runs, summarises
from memories.services import audit
from memories.services.bulk import in_batches, take_turns_over
from memories.services.writing import require_scope, writing
from memories.sql import load

BATCH: Final = 2000
DELETED_AT_ONCE: Final = 500
SCANNER: Final = "consolidation"
DROPPED: Final = "A cycle of this scope runs already, so this one was dropped."
LOST: Final = "Its worker was lost. Another cycle went on from there."

type Summarise = Callable[[RetentionCycle, RetentionRule], int]
"""Turns some of the cycle's scope into a summary; how many memories that made tombstones. It may leave a note."""


@dataclass(frozen=True, slots=True)
class Cycled:
    """What became of a call: the cycle, or None and *said*, why there was none."""

    cycle: RetentionCycle | None
    said: str


def run_cycle(
    *,
    scope: Scope,
    trigger: str,
    actor: Actor | None = None,
    summarise: Summarise | None = None,
    now: datetime | None = None,
) -> Cycled:
    """Decay, summarise and prune, once, as of *now*. Nothing is queued: where a cycle runs, this one is dropped.

    Raises Conflict for a scope that does not decay, and like the door for an actor who may not write there.
    """
    if actor is not None:
        require_scope(actor, scope)
    if Scope.objects.only("retention").get(pk=scope.pk).retention != Scope.Retention.DECAYING:
        raise Conflict(f"The scope {scope.slug} does not decay: nothing in it loses weight or leaves. Switch it first.")
    with _only_one(scope) as is_mine:
        if not is_mine:
            return Cycled(None, DROPPED)
        rule, count = RetentionPolicy.of(scope).rule, held(scope).count()
        if not runs(count, rule):
            return Cycled(None, too_few(count, rule))
        return _worked(_begun(scope, trigger, actor, count, now or timezone.now()), rule, summarise)


@contextmanager
def _only_one(scope: Scope) -> Iterator[bool]:
    """True for one at a time. Held by the connection, so that a killed worker holds it no longer."""
    name = [_lock_of(scope)]
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", name)
        (is_mine,) = cursor.fetchone()
    try:
        yield is_mine
    finally:
        if is_mine:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", name)


def is_running(scope: Scope) -> bool:
    """Whether a cycle of *scope* runs at this moment; one that a killed worker left unfinished does not."""
    with connection.cursor() as cursor:
        cursor.execute(load("cycle_running"), {"name": _lock_of(scope)})
        (found,) = cursor.fetchone()
    return bool(found)


def _lock_of(scope: Scope) -> str:
    return f"retention:{scope.pk}"


def _begun(scope: Scope, trigger: str, actor: Actor | None, count: int, now: datetime) -> RetentionCycle:
    for lost in RetentionCycle.objects.filter(scope=scope, state=RetentionCycle.State.RUNNING).select_related("scope"):
        lost.archived = _archived_by(lost).count()
        _end(lost, RetentionCycle.State.FAILED, LOST)
    return RetentionCycle.objects.create(
        scope=scope,
        trigger=trigger,
        actor=(actor.label if actor else SCANNER)[:200],
        user=actor.user if actor else None,
        started_at=now,
        counted=count,
    )


def _worked(cycle: RetentionCycle, rule: RetentionRule, summarise: Summarise | None) -> Cycled:
    try:
        cycle.decayed = decay(cycle, rule)
        if summarise and summarises(cycle.counted, rule):
            cycle.summarised = summarise(cycle, rule)
        cycle.archived, cycle.deleted = prune(cycle, rule)
    except BaseException as error:
        cycle.archived = _archived_by(cycle).count()
        _end(
            cycle, RetentionCycle.State.FAILED, f"{cycle.note} It stopped at an error ({type(error).__name__}).".strip()
        )
        raise
    _end(cycle, RetentionCycle.State.DONE, note=cycle.note)
    return Cycled(cycle, told(cycle))


def _archived_by(cycle: RetentionCycle) -> MemoryQuerySet:
    """Whole batches stand, also of a cycle that did not come to its end."""
    return Memory.objects.filter(scope=cycle.scope, archived_at=cycle.started_at)


def _end(cycle: RetentionCycle, state: str, note: str) -> None:
    cycle.state, cycle.note = state, note[:2000]
    cycle.finished_at = max(timezone.now(), cycle.started_at)
    with writing():
        cycle.save()
        audit.record(
            actor=None, label=cycle.actor, action="consolidate", subject=cycle, scope=cycle.scope,
            decayed=cycle.decayed, summarised=cycle.summarised, archived=cycle.archived, deleted=cycle.deleted,
            trigger=cycle.trigger,
        )  # fmt: skip


def too_few(count: int, rule: RetentionRule) -> str:
    return f"Nothing was done: the scope holds {count:,}; a cycle runs from {rule.threshold:,} on."


def told(cycle: RetentionCycle) -> str:
    left = f"{cycle.archived:,} archived" + (f", {cycle.deleted:,} deleted" if cycle.deleted else "")
    return f"Of {cycle.counted:,}: weight fell for {cycle.decayed:,}, {cycle.summarised:,} summarised, {left}."


# Decay ---------------------------------------------------------------------------------------


def decay(cycle: RetentionCycle, rule: RetentionRule) -> int:
    """Lower every weight to what it is by the cycle's moment; how many fell.

    What would fall below the floor keeps what it has until it leaves: weight never rises, and whoever is asked for
    while the cycle goes on should stay.
    """
    rows = held(cycle.scope).exclude(pinned=True, invalidated_at=None)
    lighter = rows.annotate(weight_then=weight_at(rule, cycle.started_at)).filter(
        Q(weight_then__gte=rule.floor) | KEPT, weight__gt=F("weight_then")
    )
    numbers = {"now": cycle.started_at, "half_life": rule.half_life_hours, "most": MOST_HALF_LIVES}
    return in_batches(_ids(lighter), lambda ids: _counted("decay", numbers | {"ids": list(ids)}), BATCH)


def _ids(rows: MemoryQuerySet) -> list[UUID]:
    return list(rows.order_by("pk").values_list("pk", flat=True))


def _counted(statement: str, parameters: dict[str, Any]) -> int:
    with connection.cursor() as cursor:
        cursor.execute(load(statement), parameters)
        return cursor.rowcount


def summary_source(cycle: RetentionCycle) -> str:
    """Where a memory that the cycle made by itself says that it comes from."""
    return f"{SCANNER}:{cycle.pk}"


# Prune ---------------------------------------------------------------------------------------


def prune(cycle: RetentionCycle, rule: RetentionRule) -> tuple[int, int]:
    """Let go of what weighs less than the floor: how many were archived, and how many deleted for good.

    What this very cycle put into a summary stays beside it until the next one.
    Where the scope deletes, what a draft or a distilled fact rests on is archived instead: it keeps its sources.
    """
    just_summarised = Q(superseded_by__source=summary_source(cycle))
    below = falling(cycle.scope, rule, cycle.started_at).exclude(just_summarised)
    if rule.prune_action != DELETE:
        return _archive(cycle, rule, _ids(below)), 0
    rested_on = _rested_on()
    archived = _archive(cycle, rule, _ids(below.filter(rested_on)))
    return archived, in_batches(_ids(below.exclude(rested_on)), lambda ids: _delete(cycle, rule, ids), DELETED_AT_ONCE)


def _archive(cycle: RetentionCycle, rule: RetentionRule, found: Sequence[UUID]) -> int:
    told = {
        "floor": rule.floor,
        "half_life": rule.half_life_hours,
        "most": MOST_HALF_LIVES,
        "protected": list(PROTECTED_KINDS),
        "provisional": PROVISIONAL,
        "now": cycle.started_at,
        "cycle": str(cycle.pk),
        "actor": cycle.actor,
        "user": cycle.user_id,
        "reason": f"Nobody asked for it: its weight fell below {rule.floor:g}.",
    }

    def act(ids: Sequence[UUID]) -> int:
        still = may_leave(cycle.scope, cycle.started_at).filter(pk__in=ids)
        return _counted("archive", told | {"ids": _ids(still)})

    return in_batches(found, act, BATCH)


def _rested_on() -> Q:
    """Whatever another table may not lose."""
    protected = Q(pk__in=[])
    for relation in Memory._meta.related_objects:
        if relation.on_delete is models.PROTECT and relation.related_model is not Memory:
            field = relation.field.name
            protected |= Q(Exists(relation.related_model._default_manager.filter(**{field: OuterRef("pk")})))
    return protected


def _delete(cycle: RetentionCycle, rule: RetentionRule, ids: Sequence[UUID]) -> int:
    rows = falling(cycle.scope, rule, cycle.started_at).filter(pk__in=ids).exclude(_rested_on())
    going = list(rows.select_for_update(of=("self",), skip_locked=True).only("pk", "scope_id"))
    subjects = [(row, {"cycle": str(cycle.pk), "weight": row.weight_then}) for row in going]
    audit.record_each(actor=None, label=cycle.actor, action="prune", subjects=subjects)
    gone = [row.pk for row in going]
    Memory.objects.filter(superseded_by__in=gone).update(superseded_by=None)
    Memory.objects.filter(pk__in=gone).delete()
    return len(gone)


# The archive ---------------------------------------------------------------------------------


def bring_back(*, actor: Actor, cycle: RetentionCycle) -> int:
    """Restore all that *cycle* archived and that was live until then; how many. Each weighs 1 again, as if just used.

    Those whose exact words a live memory has by now stay where they are.
    """
    require_scope(actor, cycle.scope)
    return in_batches(_ids(brought_back_by(cycle)), lambda ids: _revived(actor, cycle, ids), BATCH)


def brought_back_by(cycle: RetentionCycle) -> MemoryQuerySet:
    """What ``bring_back`` would restore."""
    twin = Memory.objects.live().filter(
        scope_id=OuterRef("scope_id"), kind=OuterRef("kind"), content_sha256=OuterRef("content_sha256")
    )
    rows = Memory.objects.filter(
        scope=cycle.scope, archived_at=cycle.started_at, invalidated_at=cycle.started_at, superseded_by=None
    )
    return rows.exclude(Exists(twin))


def _revived(actor: Actor, cycle: RetentionCycle, ids: Sequence[UUID]) -> int:
    rows = brought_back_by(cycle).filter(pk__in=ids)
    take_turns_over(rows)
    found = rows.select_for_update(of=("self",), skip_locked=True).only("pk", "scope_id", "kind", "content_sha256")
    held_rows = list({(row.kind, row.content_sha256): row for row in found}.values())  # of equal words one comes back
    now = timezone.now()
    Memory.objects.filter(pk__in=[row.pk for row in held_rows]).update(
        archived_at=None, invalidated_at=None, invalidated_by=None, invalidated_actor="", invalidation_reason="",
        weight=1.0, accessed_at=now, updated_at=now,
    )  # fmt: skip
    audit.record_each(actor=actor, action="restore", subjects=[(row, {}) for row in held_rows])
    return len(held_rows)


def preview(scope: Scope, *, rule: RetentionRule | None = None, now: datetime | None = None) -> MemoryQuerySet:
    """What the next cycle would let go, by *rule* or the scope's own; counted from the rows, nothing is changed.

    Nothing where the scope holds too few for a cycle.
    """
    rule = rule or RetentionPolicy.of(scope).rule
    found = falling(scope, rule, now or timezone.now())
    return found if runs(held(scope).count(), rule) else found.none()


__all__ = [
    "BATCH",
    "DROPPED",
    "Cycled",
    "bring_back",
    "brought_back_by",
    "decay",
    "is_running",
    "preview",
    "prune",
    "run_cycle",
    "summary_source",
    "told",
    "too_few",
]
