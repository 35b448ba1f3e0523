"""Signals about a memory, and the multiplier that recall reads. The events are the truth; the row is computed."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from django.db import connection, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from memories.configuration import reinforcement_rule
from memories.models import Memory, Reinforcement, Scope, UsageEvent, User
from memories.reinforcement import NEUTRAL, Signal, Standing, standing, withdrawn_moments
from memories.services.edit import EDITED
from memories.sql import load
from memories.wordings import earlier_wordings, later_wordings

ROLL_UP_MEMORY: Final = "64MB"  # for the groups of a million signals; the default would sort them on disk


class RolledUp(NamedTuple):
    """Memories with signals in the window, rows of the multiplier written, and rows removed."""

    found: int
    written: int
    removed: int


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


def withdraw_reports(*, memory: Memory, user: User, only_of: datetime | None = None) -> list[datetime]:
    """What says so far that the memory misled turned out wrong and counts no more; the moments of those reports.

    With *only_of* that of one moment. Inside the caller's transaction, which holds the memory.
    """
    events = [signal_of(event) for event in events_about(memory).filter(Q(at=only_of) if only_of else Q())]
    misled = {event.at for event in events if event.misled}
    moments = sorted(misled - withdrawn_moments(events))
    _take_back(memory, moments, user, UsageEvent.Source.WITHDRAWN)
    return moments


def reinstate_reports(*, memory: Memory, moments: Sequence[datetime], user: User) -> None:
    """What was withdrawn counts again; inside the caller's transaction."""
    _take_back(memory, moments, user, UsageEvent.Source.REINSTATED)


def _take_back(memory: Memory, moments: Sequence[datetime], user: User, source: str) -> None:
    """Events are never changed, so new ones of the same moments speak of the old ones."""
    UsageEvent.objects.bulk_create(UsageEvent(memory=memory, at=moment, source=source, user=user) for moment in moments)
    roll_up_with_later(memory=memory, now=timezone.now())


def set_promoted(*, memory: Memory, promoted: bool, now: datetime) -> Reinforcement | None:
    """Whether the memory stands as a rule, which decides its multiplier whatever its signals say; inside the caller's
    transaction, which holds the memory."""
    Reinforcement.objects.update_or_create(
        memory=memory, defaults={"promoted": promoted}, create_defaults={"promoted": promoted, "multiplier": 1.0}
    )
    return roll_up(memory=memory, now=now)


def roll_up_all(*, now: datetime, scope: Scope | None = None) -> RolledUp:
    """Bring the row of every memory up to date, of all scopes or of one, in one statement and one transaction.

    Whatever another transaction writes at that moment is passed by; it is as new, and the next run sees it.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT set_config('work_mem', %s, true)", [ROLL_UP_MEMORY])
        cursor.execute(roll_up_statement(), what_to_roll_up(now=now, scope=scope))
        return RolledUp(*cursor.fetchone())


def roll_up_statement() -> str:
    return load("roll_up").format(voices=load("voices"))


def what_to_roll_up(*, now: datetime, scope: Scope | None) -> dict[str, Any]:
    """The parameters of ``roll_up_statement``."""
    constants = reinforcement_rule()
    return asdict(constants) | {
        "since": now - timedelta(days=constants.window_days),
        "scope": scope.pk if scope else None,
        "edited": EDITED,
    }


def roll_up_with_later(*, memory: Memory, now: datetime) -> Standing:
    """Like ``roll_up``, also for all that the memory was edited into; how the memory itself stands."""
    row = roll_up(memory=memory, now=now)
    found = Standing(row.useful, row.misled, row.multiplier) if row else NEUTRAL
    later = later_wordings(memory.pk)
    rows = Memory.objects.defer("content", "verbatim").in_bulk(later)
    for wording in later:
        roll_up(memory=rows[wording], now=now)
    return found


def roll_up(*, memory: Memory, now: datetime) -> Reinforcement | None:
    """Write what the signals amount to now; at neutral there is no row. Inside the caller's transaction.

    What was said of an earlier wording counts: an edit carries the standing on, and the events stay where they are.
    """
    found = standing_of(memory=memory, now=now)
    if found.is_neutral:
        # A rule keeps its row, whatever a rule counts.
        Reinforcement.objects.filter(memory=memory, promoted=False).delete()
        return Reinforcement.objects.filter(memory=memory).first()
    return _written(memory, found)


def standing_of(*, memory: Memory, now: datetime) -> Standing:
    """What the signals about the memory and its earlier wordings amount to now."""
    promoted, constants = Reinforcement.objects.filter(memory=memory, promoted=True).exists(), reinforcement_rule()
    # What left the window counts nothing, so years of it need not be read.
    recent = events_about(memory).filter(at__gte=now - timedelta(days=constants.window_days))
    return standing(map(signal_of, recent), now=now, promoted=promoted, constants=constants)


def _written(memory: Memory, found: Standing) -> Reinforcement:
    values = {"multiplier": found.multiplier, "useful": found.useful, "misled": found.misled}
    return Reinforcement.objects.update_or_create(memory=memory, defaults=values)[0]


def signal_of(event: UsageEvent) -> Signal:
    return Signal(event.at, event.source, event.useful, event.misled, event.confidence, event.session)


def events_about(memory: Memory) -> QuerySet[UsageEvent]:
    """Of the memory and of what it was edited from."""
    return UsageEvent.objects.filter(memory__in=earlier_wordings(memory.pk))
