"""Conversations that are handed in to be judged: queued, taken up, put off, ended. The row is the list of work."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

from celery import current_app
from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone
from django.utils.crypto import salted_hmac

from memories.access import Actor
from memories.errors import Conflict, Forbidden, PayloadTooLarge, ValidationFailed
from memories.models import Memory, RecallActivity
from memories.services.accesses import ACTIVITY_DAYS
from memories.services.audit import record
from memories.services.validation import check_line, check_storable
from memories.services.writing import writing
from reflections.models import Transcript
from reflections.models.transcripts import NOTE_LENGTH
from reflections.services import asking
from reflections.services.runs import SILENT_FOR
from reflections.usefulness import groups, pieces
from zeromemory.lib.unseen import is_blank

MOST_BYTES: Final = 200_000
MOST_SHOWN: Final = 60
MOST_WAITING: Final = 50  # of one person
GIVEN_WITHIN: Final = timedelta(days=ACTIVITY_DAYS)  # as long as the log of recalls is kept
WAITS: Final = (timedelta(minutes=1), timedelta(minutes=10), timedelta(hours=1), timedelta(hours=6))
MOST_ATTEMPTS: Final = len(WAITS) + 1
RING_AGAIN_AFTER: Final = timedelta(seconds=20)
NO_MODEL: Final = "No model is configured, so nobody read it. Name one in ZEROMEMORY_MODEL and hand it in again."
NOTHING_SHOWN: Final = (
    "The log of recalls names no memory that this session was given, so there is nothing to judge. "
    "Recall with this session, or name the memories in shown."
)
LOST_TOO_OFTEN: Final = f"Its worker was lost {MOST_ATTEMPTS} times. The worker's log may say why; hand it in again."
State = Transcript.State


def hand_in(*, actor: Actor, session: str, transcript: str, shown: Collection[uuid.UUID] | None = None) -> Transcript:
    """Queue a piece of the conversation of *session*, to judge how the memories did that it was given.

    Of *shown* only those count that the log of recalls says this caller was given; without it all of that session.
    What is handed in twice is one row; one that was not judged then is queued again. Without a model, or with nothing
    to judge, the row says so and keeps no text. Raises ValidationFailed, also for a secret in the text, Forbidden,
    PayloadTooLarge, or Conflict when too many wait.
    """
    _check(actor, session, transcript)
    judged = _given(actor, session, shown)
    note = NO_MODEL if not asking.is_model_configured() else "" if judged else NOTHING_SHOWN
    columns: dict[str, Any] = {
        "token": actor.token,
        "actor": actor.label[:200],
        "shown": judged,
        "questions": len(list(pieces(transcript))) * len(groups(judged)),
        "text": "" if note else transcript,
        "note": note,
        "state": State.SKIPPED if note else State.QUEUED,
        "finished_at": timezone.now() if note else None,
    }
    key = {"user": actor.user, "session": session, "digest": _digest(transcript, judged)}
    try:
        return _queued(actor, key, columns)
    except IntegrityError:
        return Transcript.objects.get(**key)  # handed in twice at this moment


def _check(actor: Actor, session: str, transcript: str) -> None:
    if actor.token is not None and not actor.token.can_write:
        raise Forbidden("This token may only read, and a judgement is written. Use a token that may write.")
    check_line(session, "session")
    if is_blank(session):
        raise ValidationFailed("Name the session of the conversation.", field="session")
    check_storable(transcript, "transcript")
    if is_blank(transcript):
        raise ValidationFailed("The transcript is empty.", field="transcript")
    if len(transcript.encode()) > MOST_BYTES:
        raise PayloadTooLarge(
            f"The transcript is larger than {MOST_BYTES // 1000} kB. Hand it in piece by piece.", field="transcript"
        )


def _given(actor: Actor, session: str, shown: Collection[uuid.UUID] | None) -> list[uuid.UUID]:
    """Newest first. A recall that named no session counts where the caller says so, one of another session never."""
    log = RecallActivity.objects.filter(user=actor.user, at__gt=timezone.now() - GIVEN_WITHIN)
    if actor.token is not None:
        log = log.filter(token=actor.token)
    log = log.filter(session__in=[session] if shown is None else [session, ""])
    if shown is not None:
        log = log.filter(memories__overlap=list(shown))
    given = dict.fromkeys(memory for row in log.order_by("-at").values_list("memories", flat=True) for memory in row)
    asked = [memory for memory in given if shown is None or memory in set(shown)]
    readable = set(Memory.objects.visible_to(actor).filter(pk__in=asked).values_list("pk", flat=True))
    return [memory for memory in asked if memory in readable][:MOST_SHOWN]


def _digest(transcript: str, shown: Sequence[uuid.UUID]) -> str:
    said = "\n".join([*sorted(map(str, shown)), transcript])
    return salted_hmac("reflections.transcript", said, algorithm="sha256").hexdigest()


def _queued(actor: Actor, key: dict[str, Any], columns: dict[str, Any]) -> Transcript:
    with writing():
        row = Transcript.objects.select_for_update().filter(**key).first()
        if row is not None and row.state not in (State.SKIPPED, State.FAILED):
            return row
        if Transcript.objects.unfinished().filter(user=actor.user).count() >= MOST_WAITING:
            raise Conflict(f"{MOST_WAITING} of your transcripts wait to be judged. Hand this one in when they are.")
        row = row or Transcript(**key)
        fresh = {"asked": 0, "unusable": 0, "verdicts": [], "attempts": 0, "due_at": timezone.now()}
        for name, value in (columns | fresh).items():
            setattr(row, name, value)
        row.save()
        record(actor=actor, action="hand_in", subject=row, state=row.state, shown=len(row.shown))
        if row.state == State.QUEUED:
            transaction.on_commit(partial(ring, row.pk), robust=True)
    return row


def ring(transcript_id: uuid.UUID) -> None:
    # Not retried: the sweep comes by within a minute, a person waits for the answer.
    current_app.send_task("reflections.tasks.judge_transcript", [str(transcript_id)], retry=False)


# For the worker ------------------------------------------------------------------------------


def claim(transcript_id: str | uuid.UUID) -> Transcript | None:
    """The waiting row, taken up; None when another worker has it, when it is not due, or when one is being read: a
    heap of transcripts keeps no worker from everything else."""
    now = timezone.now()
    if Transcript.objects.filter(state=State.RUNNING).exists():
        return None
    mine = Transcript.objects.due(now).filter(pk=transcript_id)
    claimed = mine.update(state=State.RUNNING, heartbeat_at=now, attempts=F("attempts") + 1)
    return Transcript.objects.select_related("user", "token").get(pk=transcript_id) if claimed else None


def keep(row: Transcript, **columns: Any) -> bool:
    """Write what was found so far, and that its worker lives. False when another worker has it by now."""
    mine = Transcript.objects.filter(pk=row.pk, state=State.RUNNING, attempts=row.attempts)
    return bool(mine.update(heartbeat_at=timezone.now(), **columns))


def put_off(row: Transcript, reason: str) -> None:
    """To be taken up again later; for good when that was tried often enough."""
    if row.attempts >= MOST_ATTEMPTS:
        end(row, State.FAILED, reason)
        return
    keep(row, state=State.QUEUED, due_at=timezone.now() + WAITS[row.attempts - 1], note=reason[:NOTE_LENGTH])


def wait_until(row: Transcript, until: datetime, reason: str) -> None:
    """To be taken up again then. It was no attempt: nothing is wrong with this conversation or with the model."""
    keep(row, state=State.QUEUED, due_at=until, note=reason[:NOTE_LENGTH], attempts=F("attempts") - 1)


def end(row: Transcript, state: str, note: str = "") -> bool:
    """Ends it and forgets the text; inside the caller's transaction where there is one."""
    with transaction.atomic():
        ended = keep(row, state=state, note=note[:NOTE_LENGTH], text="", finished_at=timezone.now())
        if ended:
            record(actor=None, label="judge of usefulness", action="judge", subject=row, state=state)
    return ended


def requeue_lost() -> int:
    """Put back those whose worker has fallen silent, and give up those that keep losing it; how many there were."""
    now = timezone.now()
    lost = Transcript.objects.lost(now, silent_for=SILENT_FOR)
    with transaction.atomic():
        given_up = list(lost.filter(attempts__gte=MOST_ATTEMPTS).select_for_update(skip_locked=True))
        for row in given_up:
            end(row, State.FAILED, LOST_TOO_OFTEN)
    return len(given_up) + lost.filter(attempts__lt=MOST_ATTEMPTS).update(state=State.QUEUED, due_at=now)


def ring_due() -> None:
    """For what has waited for a while."""
    _ring_first(timezone.now() - RING_AGAIN_AFTER)


def ring_next() -> None:
    """One after another: whoever has read one rings for the next."""
    _ring_first(timezone.now())


def _ring_first(due_by: datetime) -> None:
    if Transcript.objects.filter(state=State.RUNNING).exists():
        return
    due = Transcript.objects.due(due_by).order_by("due_at", "pk")
    if first := due.values_list("pk", flat=True).first():
        ring(first)
