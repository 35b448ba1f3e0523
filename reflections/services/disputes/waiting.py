"""Putting a decision off, and taking one back."""

from datetime import datetime
from typing import Any

from memories.access import Actor
from memories.errors import Conflict
from memories.models import AuditEntry, Memory
from memories.services import lifecycle
from memories.services.anchors import put_back
from memories.services.audit import record
from memories.services.reinforcement import reinstate_reports
from memories.services.verification import take_back_stamp
from memories.services.writing import locked, writing
from reflections.models import Dispute
from reflections.services.decisions import wake_date
from reflections.services.disputes.rows import decide, held, held_open

UNDONE = "Decision undone"


def snooze(*, actor: Actor, dispute: Dispute, version: int, until: datetime | None = None) -> Dispute:
    """Out of the queue until *until*, by default for the configured number of days; then pending again."""
    until = wake_date(until)
    with writing():
        row = held_open(actor, dispute, version)
        decide(row, by=actor, status=Dispute.Status.SNOOZED, snoozed_until=until)
        record(actor=actor, action="snooze_dispute", subject=row, scope=row.scope, until=until.isoformat())
    return row


def undo(*, actor: Actor, dispute: Dispute, version: int) -> Dispute:
    """Back to pending, with the memories exactly as they were before the decision; what they became is forgotten.

    Raises Conflict when there is nothing to undo, or when one of those memories was changed since.
    """
    with writing():
        row = held(actor, dispute, version)
        if row.status == Dispute.Status.PENDING:
            raise Conflict("There is nothing to undo: this dispute is waiting for a decision.")
        undone = row.resolution or row.status
        _refuse_second_open(row)
        _give_back(actor, row)
        decide(
            row,
            by=actor,
            status=Dispute.Status.PENDING,
            resolution="",
            winner=None,
            merged=None,
            retired=[],
            former_kind="",
            reanchored={},
            upheld={},
            reason="",
        )
        record(actor=actor, action="reopen_dispute", subject=row, scope=row.scope, undone=undone)
    return row


def _refuse_second_open(row: Dispute) -> None:
    if row.is_pair or row.status == Dispute.Status.SNOOZED:
        return
    types = [Dispute.Type.CHALLENGED, Dispute.Type.STALE_SUSPECT] if row.is_challenge else [row.type]
    same = Dispute.objects.unsettled().singles().filter(subject=row.subject, type__in=types)
    if same.exists():
        raise Conflict("The same doubt about this memory was raised again since, and waits. Settle that one.")


def _give_back(actor: Actor, row: Dispute) -> None:
    _refuse_changed(actor, row)
    if row.resolution == Dispute.Resolution.UPHELD:
        _accuse_again(actor, row)
    for mark in sorted(row.retired, key=lambda mark: str(mark["memory"])):
        give_back = _file_back if row.former_kind else _take_back
        give_back(actor, row, mark, datetime.fromisoformat(mark["updated_at"]))
    if row.reanchored:
        put_back(actor=actor, memory=row.subject, reason=UNDONE, **row.reanchored)
    if row.merged:
        lifecycle.forget(actor=actor, memory=row.merged, reason=UNDONE)


def _accuse_again(actor: Actor, row: Dispute) -> None:
    # Of a challenge that was upheld before this was kept, its own report was withdrawn.
    kept = row.upheld.get("reports", [row.opened_at.isoformat()] if row.is_challenge else [])
    if kept:
        moments = [datetime.fromisoformat(moment) for moment in kept]
        reinstate_reports(memory=row.subject, moments=moments, user=actor.user)
    if look := row.upheld.get("look"):
        take_back_stamp(actor=actor, memory=row.subject, at=datetime.fromisoformat(look), reason=UNDONE)


def _take_back(actor: Actor, row: Dispute, mark: dict[str, Any], updated_at: datetime) -> None:
    lifecycle.take_back(
        actor=actor,
        memory=_named(row, mark),
        retired_at=datetime.fromisoformat(mark["at"]),
        updated_at=updated_at,
        reason=UNDONE,
    )


def _file_back(actor: Actor, row: Dispute, mark: dict[str, Any], updated_at: datetime) -> None:
    lifecycle.file_back(
        actor=actor,
        memory=_named(row, mark),
        kind=row.former_kind,
        version=mark["version"],
        updated_at=updated_at,
        reason=UNDONE,
    )


def _named(row: Dispute, mark: dict[str, Any]) -> Memory:
    return next(side for side in row.sides if str(side.pk) == mark["memory"])


def _was_changed(memory: Memory, since: datetime | None) -> bool:
    """A pin moves the row too, but says nothing of what was decided."""
    if memory.invalidated_at or since is None:
        return memory.invalidated_at is not None
    edits = AuditEntry.objects.filter(object_type="memory", object_id=str(memory.pk), action="edit")
    return edits.filter(at__gt=since).exists()


def _refuse_changed(actor: Actor, row: Dispute) -> None:
    """What stayed must stand as the decision left it: one that was retired since has its own way back."""
    if row.status == Dispute.Status.SNOOZED:
        return  # nothing was decided about a memory
    gone = {mark["memory"] for mark in row.retired if "at" in mark}
    stayed = [side for side in row.sides if str(side.pk) not in gone]
    since = None if row.former_kind else row.decided_at  # of a refiled one the version tells
    if any(_was_changed(locked(actor, side), since) for side in stayed):
        raise Conflict("A memory of this dispute was retired or edited since, so the decision stands.")
    if row.merged:
        merged = locked(actor, row.merged)
        if merged.invalidated_at or merged.version != (1 if row.is_pair else row.subject.version + 1):
            raise Conflict("The new memory was changed since, so the decision stands. Open it to go on from there.")
