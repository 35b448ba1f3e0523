"""Changes of embedder: begun by the setting, watched over by people, finished in one step.

Until a change is finished the former embedder answers queries; its vectors are kept, so that it can be taken back.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Final

from django.db import connection, transaction
from django.utils import timezone

from memories.access import actor_for_user
from memories.embedder_in_use import InUse, former_of, in_use, newest_change
from memories.errors import Conflict, Forbidden, NotFound
from memories.models import EmbedderChange, Memory, User
from memories.models.embedders import stored
from memories.querysets import MemoryQuerySet
from memories.services import audit
from memories.sql import load
from zeromemory.embedding import Choice, Embedder, EmbedderError, configured, get_embedder

State = EmbedderChange.State
RESTAMPED_AT_ONCE: Final = 1000
RESTAMP_SECONDS: Final = 2.0
_COMMAND: Final = "embedder setting"


def keep_up() -> InUse:
    """Record what the setting asks for, where that is new: the first embedder, or a change to another.

    Raises EmbedderError when neither the configured embedder nor a former one can be told.
    """
    used, chosen = in_use(), get_embedder()
    if chosen is None or _is_recorded(chosen, used):
        return used
    with transaction.atomic():
        _take_turns()
        if newest_change() == used.change:
            _record(chosen, used.change)
    return in_use()


def _is_recorded(chosen: Embedder, used: InUse) -> bool:
    change = used.change
    if change is None:
        return False
    try:
        stamp = chosen.stamp
    except EmbedderError:
        return True  # a setting that cannot be used begins nothing; the former embedder stands in
    return stamp == change.stamp or (stamp == change.answering_stamp and not change.is_open)


def _record(chosen: Embedder, before: EmbedderChange | None) -> None:
    if before and before.is_open:
        _close(before, State.ROLLED_BACK)
        audit.record(actor=None, label=_COMMAND, action="roll_back_embedder", subject=before)
        if before.former_stamp == chosen.stamp:
            return
    answering = before.answering_stamp if before else ""
    at_once = not answering or not Memory.objects.filter(embedded_with=answering, invalidated_at__isnull=True).exists()
    change = EmbedderChange.objects.create(
        former_stamp=answering,
        former_choice=_answering_choice(before),
        stamp=chosen.stamp,
        choice=stored(_told_choice(chosen)),
        state=State.FINISHED if at_once else State.RUNNING,
        ended_at=timezone.now() if at_once else None,
    )
    audit.record(actor=None, label=_COMMAND, action="change_embedder", subject=change, to=change.stamp)


def _answering_choice(before: EmbedderChange | None) -> dict[str, str]:
    choice = before.answering_choice if before else None
    return stored(choice) if choice else {}


def _told_choice(embedder: Embedder) -> Choice:
    """An address can hold a password; the name of an embedder never does."""
    choice = configured()
    return replace(choice, setting=embedder.name) if choice.setting.startswith("openai:") else choice


def pause(*, user: User | None = None) -> EmbedderChange:
    """Stop making the new vectors. What was made is kept, and the former embedder goes on answering."""
    return _move(user, "pause_embedder_change", State.PAUSED, {State.RUNNING}, "No change of embedder is under way.")


def resume(*, user: User | None = None) -> EmbedderChange:
    """Go on after a pause, and begin again after a rollback."""
    change = newest_change()
    if change and change.stamp != _configured_stamp():
        raise Conflict(f"ZEROMEMORY_EMBEDDER does not name {change.stamp} any more, so there is nothing to go on with.")
    allowed = {State.PAUSED, State.ROLLED_BACK}
    return _move(user, "resume_embedder_change", State.RUNNING, allowed, "No change of embedder is paused.")


def roll_back(*, user: User | None = None) -> EmbedderChange:
    """Let the former embedder answer, at once; the vectors of both are kept."""
    change = newest_change()
    if change is None or not change.former_stamp:
        raise Conflict("There is no former embedder to go back to.")
    former = EmbedderChange(former_stamp=change.former_stamp, former_choice=change.former_choice, state=State.RUNNING)
    if former_of(former) is None:
        raise Conflict(f"{change.former_stamp} cannot be used here any more. Set ZEROMEMORY_EMBEDDER to it instead.")
    allowed = {*EmbedderChange.OPEN, State.FINISHED}
    done = _move(user, "roll_back_embedder", State.ROLLED_BACK, allowed, "This change is already rolled back.")
    restamp(done)
    return done


def _move(user: User | None, action: str, state: State, allowed: set[State], otherwise: str) -> EmbedderChange:
    if user is not None and not (user.is_active and user.is_staff):
        raise Forbidden("Only staff may change the embedder. Ask an administrator.")
    with transaction.atomic():
        _take_turns()
        change = newest_change()
        if change is None:
            raise NotFound("No change of embedder is known.")
        if change.state not in allowed:
            raise Conflict(otherwise)
        if state == State.ROLLED_BACK:
            _close(change, state)
        else:
            _open(change, state, user)
        actor = actor_for_user(user) if user else None
        audit.record(actor=actor, label="" if user else "manage.py reembed", action=action, subject=change)
    return change


def _open(change: EmbedderChange, state: State, user: User | None) -> None:
    change.state, change.ended_at = state, None
    change.started_by = change.started_by or user
    change.save(update_fields=["state", "ended_at", "started_by"])


def _close(change: EmbedderChange, state: State, memories: int = 0) -> None:
    change.state, change.ended_at, change.memories = state, timezone.now(), memories
    change.save(update_fields=["state", "ended_at", "memories"])


def finish_if_complete() -> bool:
    """Let the new embedder answer when every memory that has vectors has its vectors too: one step, one row."""
    change = newest_change()
    if change is None or change.state != State.RUNNING or change.stamp != _configured_stamp():
        return False
    if _left(change).exists():
        return False
    with transaction.atomic():
        _take_turns()
        change = newest_change()
        if change is None or change.state != State.RUNNING or _left(change).exists():
            return False
        counted = Memory.objects.filter(invalidated_at__isnull=True, embedded_with=change.stamp).count()
        _close(change, State.FINISHED, memories=counted)
        audit.record(actor=None, label=_COMMAND, action="finish_embedder_change", subject=change, memories=counted)
    return True


def _left(change: EmbedderChange) -> MemoryQuerySet:
    rows = Memory.objects.filter(invalidated_at__isnull=True, embedded_at__isnull=False)
    return rows.exclude(embedded_with=change.stamp)


def restamp(change: EmbedderChange, seconds: float = RESTAMP_SECONDS) -> int:
    """After a rollback: call memories by the former embedder where they have its vectors. The sweep does the rest."""
    wanted: dict[str, str | int] = {"from": change.stamp, "to": change.former_stamp, "most": RESTAMPED_AT_ONCE}
    deadline, done, last = time.monotonic() + seconds, 0, -1
    while last and time.monotonic() < deadline:
        with connection.cursor() as cursor:
            cursor.execute(load("restamp"), wanted)
            last = cursor.rowcount
        done += last
    return done


def _configured_stamp() -> str:
    chosen = get_embedder()
    return chosen.stamp if chosen else ""


def _take_turns() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended('embedder_change', 0))")
