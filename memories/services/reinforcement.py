"""Signals about a memory, and the multiplier that recall reads. The events are the truth; the row is computed."""

import uuid
from datetime import datetime

from django.utils import timezone

from memories.models import Memory, Reinforcement, UsageEvent, User
from memories.reinforcement import Signal, Standing, standing
from memories.services.edit import EDITED


def record_challenge(
    *, memory: Memory, user: User, session: str = "", at: datetime | None = None
) -> Reinforcement | None:
    """One report, at full weight, that the memory misled; inside the caller's transaction, which holds the memory.

    Its moment *at*, by default now, names it when it is withdrawn.
    """
    now = timezone.now()
    UsageEvent.objects.create(
        memory=memory, at=at or now, source=UsageEvent.Source.CHALLENGE, session=session, user=user, misled=True
    )
    return roll_up(memory=memory, now=now)


def withdraw_challenge(*, memory: Memory, at: datetime, user: User) -> None:
    """The challenge of that moment turned out wrong and counts no more; inside the caller's transaction."""
    _take_back(memory, at, user, UsageEvent.Source.WITHDRAWN)


def reinstate_challenge(*, memory: Memory, at: datetime, user: User) -> None:
    """What was withdrawn counts again; inside the caller's transaction."""
    _take_back(memory, at, user, UsageEvent.Source.REINSTATED)


def _take_back(memory: Memory, at: datetime, user: User, source: str) -> None:
    """Events are never changed, so a new one of the same moment speaks of the old one."""
    UsageEvent.objects.create(memory=memory, at=at, source=source, user=user)
    roll_up(memory=memory, now=timezone.now())
    while memory.superseded_by and memory.invalidation_reason == EDITED:
        memory = memory.superseded_by
        roll_up(memory=memory, now=timezone.now())


def set_promoted(*, memory: Memory, promoted: bool, now: datetime) -> Reinforcement | None:
    """Whether the memory stands as a rule, which decides its multiplier whatever its signals say; inside the caller's
    transaction, which holds the memory."""
    Reinforcement.objects.update_or_create(
        memory=memory, defaults={"promoted": promoted}, create_defaults={"promoted": promoted, "multiplier": 1.0}
    )
    return roll_up(memory=memory, now=now)


def roll_up(*, memory: Memory, now: datetime) -> Reinforcement | None:
    """Write what the signals amount to now; at neutral there is no row. Inside the caller's transaction.

    What was said of an earlier wording counts: an edit carries the standing on, and the events stay where they are.
    """
    row = Reinforcement.objects.filter(memory=memory).first()
    promoted = bool(row and row.promoted)
    found = standing(_signals(memory), now=now, promoted=promoted)
    if found.is_neutral:
        Reinforcement.objects.filter(memory=memory).delete()
        return None
    return _written(memory, found)


def _written(memory: Memory, found: Standing) -> Reinforcement:
    values = {"multiplier": found.multiplier, "useful": found.useful, "misled": found.misled}
    return Reinforcement.objects.update_or_create(memory=memory, defaults=values)[0]


def _signals(memory: Memory) -> list[Signal]:
    rows = UsageEvent.objects.filter(memory__in=_wordings(memory))
    return [Signal(*row) for row in rows.values_list("at", "source", "useful", "misled", "confidence", "session")]


def _wordings(memory: Memory) -> set[uuid.UUID]:
    """The memory and what it was edited from."""
    found = frontier = {memory.pk}
    while frontier:
        earlier = Memory.objects.filter(superseded_by__in=frontier, invalidation_reason=EDITED)
        frontier = set(earlier.values_list("pk", flat=True)) - found
        found = found | frontier
    return found
