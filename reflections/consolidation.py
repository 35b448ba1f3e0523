"""A cycle of a decaying scope: what may start one, and what it is given to do."""

from __future__ import annotations

import logging
import math
import time
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from celery import current_app
from django.utils import timezone

from memories.access import Actor, actor_for_user
from memories.decaying import held
from memories.errors import Conflict, ZeroMemoryError
from memories.models import RetentionCycle, RetentionPolicy, Scope, User
from memories.retention import runs
from memories.services.retention import DROPPED, Cycled, is_running, run_cycle, too_few
from memories.services.writing import require_scope
from reflections.services.summaries import summarise

logger = logging.getLogger(__name__)
Trigger = RetentionCycle.Trigger

BY_ITSELF: Final = (Trigger.WRITE, Trigger.SCHEDULE)  # nobody waits for these, so they leave each other some time
PAUSE: Final = timedelta(minutes=1)
JUST_ENDED: Final = "A cycle of this scope ended less than a minute ago, so this one was dropped."
STARTED: Final = "A cycle was started. It is done by the worker; the scope then shows it as its last one."
EXPIRES_SECONDS: Final = 60  # a bell that nobody answered by then is dropped: the next write rings again


@dataclass(frozen=True, slots=True)
class Asked:
    """Whether a cycle was started, and in a sentence what will come of it."""

    is_started: bool
    said: str


def consolidate(*, scope: Scope, trigger: str, actor: Actor | None = None, now: datetime | None = None) -> Cycled:
    """Do a cycle of *scope* here and now: decay, summarise, prune. Without an actor it is that of the product itself.

    It may ask the model, so no transaction may be open, and it takes as long as that. Nothing is queued: where another
    one runs, or ended within a minute in case nobody asked for this one, it is dropped and says so.
    Raises Conflict for a scope that does not decay, NotFound or Forbidden for an actor who may not write there.
    """
    if trigger in BY_ITSELF and has_just_ended(scope):
        return Cycled(None, JUST_ENDED)
    return run_cycle(scope=scope, trigger=trigger, actor=actor, summarise=summarise, now=now)


def start(*, actor: Actor, scope: Scope, trigger: str) -> Asked:
    """Have the worker do a cycle, and return at once. Raises like ``consolidate``.

    Dropped, and not queued, where one runs, or where the scope holds too few for one.
    """
    require_scope(actor, scope)
    require_decaying(scope)
    if is_running(scope):
        return Asked(False, DROPPED)
    rule, count = RetentionPolicy.of(scope).rule, held(scope).count()
    if not runs(count, rule):
        return Asked(False, too_few(count, rule))
    ring(scope.pk, trigger, actor)
    return Asked(True, STARTED)


def require_decaying(scope: Scope) -> None:
    if scope.retention != Scope.Retention.DECAYING:
        raise Conflict(f"The scope {scope.slug} does not decay: nothing in it loses weight or leaves. Switch it first.")


def ring(scope_id: int, trigger: str, actor: Actor | None = None) -> None:
    who = [actor.user.pk, actor.label] if actor else [None, ""]
    current_app.send_task(
        "reflections.tasks.consolidate", [scope_id, str(trigger), *who], retry=False, expires=EXPIRES_SECONDS
    )


def on_growth(*, scope_id: int, **_signal: object) -> None:
    """After a write into a decaying scope: ring for a cycle where there is something to do and none is about to.

    At most four reads of one row each, and none within a minute after this process rang for the scope; every other
    write reads anew, so that the one which makes it enough rings. No cycle runs here and no model is asked.
    """
    if not _bells.are_silent(scope_id):
        return
    scope = Scope(pk=scope_id)
    if has_just_ended(scope) or not has_enough(scope) or is_running(scope):
        return
    _bells.note(scope_id)
    ring(scope_id, Trigger.WRITE)


def has_enough(scope: Scope) -> bool:
    """Whether a cycle would have something to do; it counts no further than that."""
    threshold = RetentionPolicy.of(scope).rule.threshold
    return held(scope).order_by()[threshold - 1 : threshold].exists()


class _Bells:
    """When this process rang for which scope, so that a burst of writes rings once."""

    def __init__(self) -> None:
        self._rung: dict[int, float] = {}

    def are_silent(self, scope_id: int) -> bool:
        return time.monotonic() - self._rung.get(scope_id, -math.inf) >= PAUSE.total_seconds()

    def note(self, scope_id: int) -> None:
        self._rung[scope_id] = time.monotonic()


_bells: Final = _Bells()


def has_just_ended(scope: Scope) -> bool:
    ended = RetentionCycle.objects.filter(scope=scope, state=RetentionCycle.State.DONE)
    return ended.filter(finished_at__gt=timezone.now() - PAUSE).exists()


def work_on(scope_id: int, trigger: str, user_id: int | None = None, label: str = "") -> None:
    """A cycle that was rung for. What became impossible meanwhile, such as for a scope that ages again, is logged."""
    scope = Scope.objects.select_related("owner").filter(pk=scope_id).first()
    if scope is None:
        return
    try:
        done = consolidate(scope=scope, trigger=trigger, actor=_acting(user_id, label))
    except ZeroMemoryError as error:
        logger.warning("A cycle of scope %s was not done: %s", scope_id, error)
        return
    logger.info("Cycle of scope %s: %s", scope_id, done.said)


def _acting(user_id: int | None, label: str) -> Actor | None:
    """Whoever asked, with the rights of this moment and the name of that one."""
    if user_id is None:
        return None
    actor = actor_for_user(User.objects.get(pk=user_id))
    return replace(actor, label=label or actor.label)
