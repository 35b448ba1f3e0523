"""Imports that people hand in: kept, checked, confirmed, done, undone. The row is the list of work."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from datetime import timedelta
from functools import partial
from itertools import batched
from typing import Any, Final

from celery import current_app
from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from memories.access import Actor
from memories.errors import Conflict, NotFound
from memories.guard import masked
from memories.models import Import, ImportedMemory, Memory, Scope
from memories.models.memory import new_id
from memories.models.transfers import ERROR_LENGTH, FILE_NAME_LENGTH
from memories.services import bulk
from memories.services.audit import record
from memories.services.writing import require_scope
from memories.transfer import kept_files
from memories.transfer.imported import Imported
from memories.words import UNSTORABLE

SILENT_FOR: Final = timedelta(seconds=30)  # without a heartbeat for that long, a worker is taken to be gone
RING_AGAIN_AFTER: Final = timedelta(seconds=30)
KEPT_FOR: Final = timedelta(days=1)
MOST_ATTEMPTS: Final = 3
MOST_WAITING: Final = 20  # of one person
State = Import.State
AT_WORK: Final = (State.CHECKING, State.RUNNING)
WAITING: Final = (State.TO_CHECK, State.QUEUED)
UNFINISHED: Final = (*AT_WORK, *WAITING, State.CHECKED)
_MEMBERS: Final = 5000  # in one statement
_TAKEN_UP: Final = {State.TO_CHECK: State.CHECKING, State.QUEUED: State.RUNNING}
_PUT_BACK: Final = {State.CHECKING: State.TO_CHECK, State.RUNNING: State.QUEUED}


def hand_in(*, actor: Actor, scope: Scope, format: str, file_name: str, pieces: Iterable[bytes]) -> Import:
    """Keep the file, and queue the check of what it would write. Raises NotFound, Forbidden, PayloadTooLarge, and
    Conflict when too many of this person wait."""
    require_scope(actor, scope)
    if Import.objects.filter(user=actor.user, state__in=UNFINISHED).count() >= MOST_WAITING:
        raise Conflict(f"{MOST_WAITING} of your files wait to be imported. Import or cancel one of them first.")
    id = new_id()
    length = kept_files.keep(id, pieces)
    try:
        with transaction.atomic():
            row = Import.objects.create(
                id=id, user=actor.user, actor=actor.label[:200], scope=scope, format=format,
                file_name=_shown(file_name), file_bytes=length,
            )  # fmt: skip
            record(actor=actor, action="hand_in_import", subject=row, scope=scope, format=format)
            transaction.on_commit(partial(_ring, id), robust=True)
    except BaseException:
        kept_files.remove(id)
        raise
    return row


def _shown(file_name: str) -> str:
    return masked(UNSTORABLE.sub(" ", file_name))[:FILE_NAME_LENGTH]


def _ring(id: uuid.UUID) -> None:
    # Not retried: the sweep comes by, a person waits for the answer.
    current_app.send_task("memories.tasks.work_on_import", [str(id)], retry=False)


def confirm(*, actor: Actor, row: Import) -> None:
    """Import what was checked. Raises Conflict where that is under way, done, or not to be done any more."""
    require_scope(actor, row.scope)
    with transaction.atomic():
        mine = Import.objects.filter(pk=row.pk, user=actor.user, state=State.CHECKED)
        if not mine.update(state=State.QUEUED, attempts=0, read=0):
            raise Conflict("This file does not wait to be imported. The page shows where it stands.")
        record(actor=actor, action="confirm_import", subject=row, scope=row.scope, format=row.format)
        transaction.on_commit(partial(_ring, row.pk), robust=True)


def cancel(*, actor: Actor, row: Import) -> None:
    """At once while it waits, at the next batch while a worker has it. Nothing of it is written then."""
    with transaction.atomic():
        found = Import.objects.select_for_update().filter(pk=row.pk, user=actor.user, state__in=UNFINISHED).first()
        if found is None:
            raise Conflict("This import has ended already, so there is nothing to cancel.")
        found.cancel_asked_at = found.cancel_asked_at or timezone.now()
        if found.state not in AT_WORK:
            found.state, found.finished_at = State.CANCELLED, timezone.now()
            transaction.on_commit(partial(kept_files.remove, row.pk))
        found.save(update_fields=["cancel_asked_at", "state", "finished_at"])
        record(actor=actor, action="cancel_import", subject=found, scope=found.scope)


# The worker's part ---------------------------------------------------------------------------


def claim(id: str | uuid.UUID) -> Import | None:
    """The row, taken up; None when another worker has it, when it is gone, or while another import of its scope is at
    work: they would only wait for each other."""
    here = Import.objects.filter(pk=id).values("scope")
    if Import.objects.filter(scope__in=here, state__in=AT_WORK).exists():
        return None
    for waiting, at_work in _TAKEN_UP.items():
        taken = Import.objects.filter(pk=id, state=waiting)
        if taken.update(state=at_work, heartbeat_at=timezone.now(), attempts=F("attempts") + 1, read=0):
            return Import.objects.select_related("user", "scope__owner").get(pk=id)
    return None


def mine(row: Import) -> QuerySet[Import]:
    """The row while it is this worker's: whoever takes it up again counts the attempts on."""
    return Import.objects.filter(pk=row.pk, state=row.state, attempts=row.attempts)


def note_members(row: Import, memories: Sequence[uuid.UUID]) -> None:
    members = (ImportedMemory(arrival=row, memory_id=memory) for memory in memories)
    ImportedMemory.objects.bulk_create(members, batch_size=_MEMBERS)


def finish(row: Import, state: str, *, error: str = "", **values: Any) -> bool:
    """False when the row was taken from this worker meanwhile."""
    ended = state != State.CHECKED
    values |= {"state": state, "error": error[:ERROR_LENGTH], "finished_at": timezone.now() if ended else None}
    with transaction.atomic():
        is_mine = bool(mine(row).update(**values))
        if is_mine and ended:
            transaction.on_commit(partial(kept_files.remove, row.pk))
    return is_mine


def put_back(row: Import) -> bool:
    """Let the sweep try again what another write stood in the way of; False after the last attempt."""
    return row.attempts < MOST_ATTEMPTS and bool(mine(row).update(state=_PUT_BACK[State(row.state)]))


def record_done(
    *,
    actor: Actor,
    scope: Scope,
    format: str,
    report: dict[str, Any],
    memories: Sequence[uuid.UUID],
    file_name: str = "",
) -> None:
    """An import that was done while its sender waited stands beside those that were handed in on the page."""
    row = Import.objects.create(
        user=actor.user, actor=actor.label[:200], scope=scope, format=format, state=State.DONE,
        file_name=_shown(file_name), read=report["read"], report=report, finished_at=timezone.now(),
    )  # fmt: skip
    note_members(row, memories)


def record_done_by_command(
    *, actor: Actor, format: str, report: dict[str, Any], memories: Sequence[uuid.UUID], file_name: str
) -> None:
    """A row in each scope that something was written into: each is undone by itself."""
    written: dict[Scope, list[uuid.UUID]] = {}
    for part in batched(memories, _MEMBERS):
        for memory in Memory.objects.filter(pk__in=part).select_related("scope").only("scope"):
            written.setdefault(memory.scope, []).append(memory.pk)
    for scope, ids in written.items():
        told = report if len(written) == 1 else report | {"written": len(ids), "scopes": [scope.slug]}
        record_done(actor=actor, scope=scope, format=format, report=told, memories=ids, file_name=file_name)


# The clock's part ----------------------------------------------------------------------------


def sweep() -> None:
    """Put back what a lost worker left, end what nobody came back to, and forget files that nobody needs."""
    _put_back_abandoned()
    _end_forgotten()
    kept_files.remove_others(
        Import.objects.filter(state__in=UNFINISHED).values_list("pk", flat=True),
        older_than=RING_AGAIN_AFTER.total_seconds(),
    )
    waiting = Import.objects.filter(state__in=WAITING, handed_in_at__lt=timezone.now() - RING_AGAIN_AFTER)
    for id in waiting.values_list("pk", flat=True):
        _ring(id)


def _put_back_abandoned() -> None:
    silent = Import.objects.filter(heartbeat_at__lt=timezone.now() - SILENT_FOR)
    stopped = {"state": State.CANCELLED, "finished_at": timezone.now()}
    silent.filter(state__in=AT_WORK, cancel_asked_at__isnull=False).update(**stopped)
    silent.filter(state__in=AT_WORK, attempts__gte=MOST_ATTEMPTS).update(
        state=State.FAILED,
        finished_at=timezone.now(),
        error=f"Its worker was lost {MOST_ATTEMPTS} times, and nothing was imported. The worker's log may say why.",
    )
    for at_work, waiting in _PUT_BACK.items():
        silent.filter(state=at_work).update(state=waiting)


def _end_forgotten() -> None:
    Import.objects.filter(state=State.CHECKED, handed_in_at__lt=timezone.now() - KEPT_FOR).update(
        state=State.CANCELLED,
        finished_at=timezone.now(),
        error="Nobody imported it within a day, so the file was removed. Choose it again.",
    )


# Taking it back ------------------------------------------------------------------------------


def undo(*, actor: Actor, row: Import, expected: int) -> bulk.Done:
    """Forget what the import wrote and nobody has touched since, restorable as one act.

    Raises Conflict, with nothing changed, when it is another number than *expected* by now.
    """
    if row.state != State.DONE:
        raise Conflict("Nothing of this file was imported, so there is nothing to undo.")
    done = bulk.forget_many(
        actor=actor, selection=Imported(row), expected=expected, reason=f"Undo of the import of {row.file_name}".strip()
    )
    Import.objects.filter(pk=row.pk).update(undone_by=done.operation)
    return done


def import_for(actor: Actor, id: uuid.UUID) -> Import:
    """Of this person alone, in a scope they still reach: whoever reads the scope sees the memories, not the file."""
    found = Import.objects.select_related("scope__owner").filter(pk=id, user=actor.user, scope__in=actor.readable)
    row = found.first()
    if row is None:
        raise NotFound("There is no such import here. Check the address.")
    return row
