"""Runs: searches for clusters in the background. The row is the list of work; the queue only rings."""

import logging
import uuid
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from typing import Any, Final, NamedTuple

from celery import current_app
from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone

from memories.access import Actor, require_write
from memories.errors import ValidationFailed, ZeroMemoryError
from memories.models import Scope
from memories.services.audit import record
from reflections.models import Run
from reflections.services.candidates import find_candidates
from reflections.services.progress import TakenOverError, beat, heard_of
from zeromemory.embedding import EmbedderError

logger = logging.getLogger(__name__)

SILENT_FOR: Final = timedelta(minutes=2)  # without a heartbeat for that long, a worker is taken to be gone
RING_AGAIN_AFTER: Final = timedelta(seconds=30)
MOST_ATTEMPTS: Final = 3  # a run that takes its worker down with it must not do so for ever
State = Run.State


class Started(NamedTuple):
    """``is_new`` is False when an unfinished run of the same requester was found instead."""

    run: Run
    is_new: bool


def start_run(*, actor: Actor | None, scopes: Sequence[Scope], ring: bool = True) -> Started:
    """Queue a search for clusters in *scopes*. Without an actor it is the schedule's or a command's.

    Raises Forbidden when the actor may not write to one of the scopes.
    """
    if not scopes:
        raise ValidationFailed("There is no scope to look through. Create one first.", field="scope")
    if actor:
        for scope in scopes:
            require_write(actor, scope.pk)
    try:
        return Started(_queued(actor, scopes, ring), is_new=True)
    except IntegrityError as error:
        unfinished = Run.objects.unfinished().asked_for_by(actor.user if actor else None).first()
        if unfinished is None:
            raise error from None  # it ended at this moment, or another rule of the table was broken
        return Started(unfinished, is_new=False)


def _queued(actor: Actor | None, scopes: Sequence[Scope], ring: bool) -> Run:
    with transaction.atomic():
        run = Run.objects.create(requested_by=actor.user if actor else None, scopes_total=len(scopes))
        run.scopes.set(scopes)
        record(actor=actor, action="start", subject=run, scopes=[scope.pk for scope in scopes])
        if ring:
            transaction.on_commit(partial(_ring, run.pk), robust=True)
    return run


def _ring(run_id: uuid.UUID) -> None:
    # Not retried: the sweep comes by within a minute, a person waits for the answer.
    current_app.send_task("reflections.tasks.reflect", [str(run_id)], retry=False)


def work_on(run_id: str | uuid.UUID) -> None:
    """Do a queued run. Returns quietly when another worker has it, or when it is gone."""
    run = _claimed(run_id)
    if run is None:
        return
    try:
        with heard_of(run):
            _search(run)
        _finish(run, State.DONE)
    except TakenOverError:
        logger.info("Run %s was taken over by another worker.", run.pk)
    except Exception as error:
        _finish(run, State.FAILED, error=_reason(error))
        raise


def _search(run: Run) -> None:
    for scope in run.scopes.select_related("owner").order_by("pk"):
        find_candidates(scope=scope, run=run)
        beat(run, scopes_done=F("scopes_done") + 1)


def _claimed(run_id: str | uuid.UUID) -> Run | None:
    now = timezone.now()
    claimed = Run.objects.filter(pk=run_id, state=State.QUEUED).update(
        state=State.RUNNING,
        started_at=now,
        heartbeat_at=now,
        scopes_done=0,
        episodes_seen=0,
        attempts=F("attempts") + 1,
    )
    return Run.objects.get(pk=run_id) if claimed else None


def _finish(run: Run, state: str, error: str = "") -> None:
    with transaction.atomic():
        beat(run, state=state, finished_at=timezone.now(), error=error[:2000])
        record(actor=None, label="reflection run", action="finish", subject=run, state=state)


def _reason(error: Exception) -> str:
    if isinstance(error, (ZeroMemoryError, EmbedderError)):
        return str(error)
    return f"It stopped at an unexpected error ({type(error).__name__}). The worker's log has the details."


def requeue_abandoned() -> int:
    """Put back the runs whose worker has fallen silent, and give up those that keep losing theirs."""
    given_up = _abandoned(attempts__gte=MOST_ATTEMPTS).update(
        state=State.FAILED,
        finished_at=timezone.now(),
        error=f"Its worker was lost {MOST_ATTEMPTS} times. The worker's log may say why; start it again from here.",
    )
    return given_up + _abandoned().update(state=State.QUEUED)


def _abandoned(**conditions: Any) -> Any:
    return Run.objects.abandoned(silent_for=SILENT_FOR).filter(**conditions)


def ring_waiting() -> int:
    """Ring again for every run that has been waiting for a while; how many there are."""
    waiting = Run.objects.waiting_since(timezone.now() - RING_AGAIN_AFTER).values_list("pk", flat=True)
    for run_id in waiting:
        _ring(run_id)
    return len(waiting)
