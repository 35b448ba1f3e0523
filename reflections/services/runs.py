"""Runs of the hygiene cycle: asked for, queued, taken up, ended. The row is the list of work; the queue only rings."""

import logging
import uuid
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from typing import Any, Final, NamedTuple

from celery import current_app
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from memories.access import Actor, require_write
from memories.errors import Conflict, ValidationFailed
from memories.models import Scope
from memories.services.audit import record
from reflections.models import Run, RunScope, RunStep

logger = logging.getLogger(__name__)

SILENT_FOR: Final = timedelta(seconds=30)  # without a heartbeat for that long, a worker is taken to be gone
RING_AGAIN_AFTER: Final = timedelta(seconds=30)
MOST_ATTEMPTS: Final = 3  # a run that takes its worker down with it must not do so for ever
State, Kind = Run.State, Run.Kind
REFLECTION: Final = "reflection"
SCHEDULE: Final = "schedule"


class Started(NamedTuple):
    """``is_new`` is False when an unfinished run over one of the scopes was found instead."""

    run: Run
    is_new: bool


def start_run(
    *,
    actor: Actor | None,
    scopes: Sequence[Scope],
    kind: str = Kind.CLUSTERS,
    steps: Sequence[str] = (REFLECTION,),
    label: str = SCHEDULE,
    ring: bool = True,
) -> Started:
    """Queue *steps* over *scopes*. Without an actor it is that of *label*: the schedule, or a command.

    No two runs look after one scope at once. Raises Forbidden when the actor may not write to one of the scopes.
    """
    if not scopes:
        raise ValidationFailed("There is no scope to look through. Create one first.", field="scope")
    if actor:
        for scope in scopes:
            require_write(actor, scope.pk)
    try:
        return Started(_queued(actor, scopes, kind, steps, label, ring), is_new=True)
    except _TakenError:
        unfinished = Run.objects.over(scopes).order_by("requested_at").first()
        if unfinished is None:
            raise Conflict("A run over one of these scopes ended at this moment. Try again.") from None
        return Started(unfinished, is_new=False)


class _TakenError(Exception):
    """Another run looks after one of the scopes."""


def _queued(
    actor: Actor | None, scopes: Sequence[Scope], kind: str, steps: Sequence[str], label: str, ring: bool
) -> Run:
    with transaction.atomic():
        run = Run.objects.create(
            kind=kind,
            requested_by=actor.user if actor else None,
            requested_actor=(actor.label if actor else label)[:200],
            scopes_total=len(scopes),
        )
        in_order = sorted(scopes, key=lambda scope: scope.pk)  # so that two requests do not wait for each other
        # Passed over where one is taken, and not refused: the server would note an error for every second request.
        RunScope.objects.bulk_create((RunScope(run=run, scope=scope) for scope in in_order), ignore_conflicts=True)
        if run.run_scopes.count() < len(in_order):
            raise _TakenError
        RunStep.objects.bulk_create(RunStep(run=run, position=at, name=name) for at, name in enumerate(steps))
        scope_ids = [scope.pk for scope in scopes]
        record(actor=actor, label="" if actor else label, action="start", subject=run, scopes=scope_ids, kind=kind)
        if ring:
            transaction.on_commit(partial(_ring, run.pk), robust=True)
    return run


def _ring(run_id: uuid.UUID) -> None:
    # Not retried: the sweep comes by within a minute, a person waits for the answer.
    current_app.send_task("reflections.tasks.reflect", [str(run_id)], retry=False)


def claim(run_id: str | uuid.UUID) -> Run | None:
    """The queued run, taken up; None when another worker has it, or when it is gone."""
    now = timezone.now()
    claimed = Run.objects.filter(pk=run_id, state=State.QUEUED).update(
        state=State.RUNNING, started_at=now, heartbeat_at=now, scopes_done=0, attempts=F("attempts") + 1
    )
    return Run.objects.get(pk=run_id) if claimed else None


def finish(run: Run, state: str, error: str = "") -> bool:
    """End a run that is this worker's. False when it was taken over or cancelled meanwhile."""
    with transaction.atomic():
        mine = Run.objects.filter(pk=run.pk, state=State.RUNNING, attempts=run.attempts)
        ended = mine.update(state=state, finished_at=timezone.now(), error=error[:2000])
        if ended:
            _close(run.pk)
            record(actor=None, label="hygiene", action="finish", subject=run, state=state)
    return bool(ended)


def _close(*run_ids: uuid.UUID) -> None:
    RunScope.objects.filter(run__in=run_ids, is_open=True).update(is_open=False)


def cancel(*, actor: Actor, run: Run) -> Run:
    """Stop a run: at once while it waits, at its worker's next beat while it works. What it did stays.

    Raises Forbidden for somebody who may not write to all its scopes, Conflict when it has ended.
    """
    for scope_id in run.run_scopes.values_list("scope_id", flat=True):
        require_write(actor, scope_id)
    with transaction.atomic():
        row = Run.objects.select_for_update().get(pk=run.pk)
        if not row.is_unfinished:
            raise Conflict(f"This run has ended already: {row.get_state_display().lower()}.")
        row.cancel_asked_at = row.cancel_asked_at or timezone.now()
        if row.state == State.QUEUED:
            row.state, row.finished_at = State.CANCELLED, timezone.now()
            row.steps.update(state=RunStep.State.CANCELLED)
            _close(row.pk)
        row.save(update_fields=["cancel_asked_at", "state", "finished_at"])
        record(actor=actor, action="cancel", subject=row)
    return row


def requeue_abandoned() -> int:
    """Put back the runs whose worker has fallen silent, end those that were to stop, and give up those that keep
    losing their worker."""
    with transaction.atomic():
        stopped = list(_abandoned(cancel_asked_at__isnull=False).select_for_update().values_list("pk", flat=True))
        Run.objects.filter(pk__in=stopped).update(state=State.CANCELLED, finished_at=timezone.now())
        _end_steps(stopped, RunStep.State.CANCELLED)
        _close(*stopped)
        lost = list(_abandoned(attempts__gte=MOST_ATTEMPTS).select_for_update().values_list("pk", flat=True))
        Run.objects.filter(pk__in=lost).update(
            state=State.FAILED,
            finished_at=timezone.now(),
            error=f"Its worker was lost {MOST_ATTEMPTS} times. The worker's log may say why; start it again from here.",
        )
        _end_steps(lost, RunStep.State.FAILED)
        _close(*lost)
    return len(stopped) + len(lost) + _abandoned().update(state=State.QUEUED)


def _end_steps(run_ids: Sequence[uuid.UUID], state: str) -> None:
    under_way = RunStep.objects.filter(run__in=run_ids, state=RunStep.State.RUNNING)
    under_way.update(state=state, finished_at=timezone.now())
    waiting = RunStep.objects.filter(run__in=run_ids, state=RunStep.State.WAITING)
    waiting.update(state=RunStep.State.CANCELLED)


def _abandoned(**conditions: Any) -> Any:
    return Run.objects.abandoned(silent_for=SILENT_FOR).filter(**conditions)


def ring_waiting() -> int:
    """Ring again for every run that has been waiting for a while; how many there are."""
    waiting = Run.objects.waiting_since(timezone.now() - RING_AGAIN_AFTER).values_list("pk", flat=True)
    for run_id in waiting:
        _ring(run_id)
    return len(waiting)
