"""What became of a memory after agents were given it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db.models import Prefetch, Sum
from django.db.models.functions import Coalesce

from memories.models import Memory, Surfacing, UsageEvent
from memories.moments import utc_midnight
from memories.ranking import ReinforcementRule
from memories.reinforcement import Outcome, Signal, outcomes
from memories.services.reinforcement import events_about, signal_of

LATELY_DAYS: Final = 30
OLDER_TOLD: Final = 50


@dataclass(frozen=True, slots=True)
class Said:
    event: UsageEvent
    signal: Signal
    outcome: Outcome

    @property
    def counts(self) -> bool:
        return self.outcome == Outcome.COUNTS


@dataclass(frozen=True, slots=True)
class GivenLately:
    """Of one wording in LATELY_DAYS days, of which today is one, in UTC. A report without a session stands alone."""

    times: int
    useful: int
    misled: int


def said_of(memory: Memory, *, now: datetime, constants: ReinforcementRule) -> list[Said]:
    """What was said of the memory and its earlier wordings, newest first: all within the window, and the newest
    OLDER_TOLD of what has left it."""
    since = now - timedelta(days=constants.window_days)
    # Fetched beside the events: thousands of them are said by few people, about few wordings.
    wordings = Prefetch("memory", Memory.objects.defer("content", "verbatim"))
    rows = events_about(memory).prefetch_related("user", wordings)
    newest = rows.order_by("-at", "-pk")
    events = [*newest.filter(at__gte=since), *newest.filter(at__lt=since)[:OLDER_TOLD]]
    signals = [signal_of(event) for event in events]
    told = outcomes(signals, now=now, constants=constants)
    return [Said(*row) for row in zip(events, signals, told, strict=True)]


def given_lately(memory: Memory, said: Iterable[Said], now: datetime) -> GivenLately:
    """Of what was *said* it counts what the multiplier counts, where it was said of this wording."""
    since = utc_midnight(now, days_ago=LATELY_DAYS - 1)
    days = Surfacing.objects.filter(memory=memory, day__gte=since.date())
    times = days.aggregate(times=Coalesce(Sum("count"), 0))["times"]
    counted = [one.signal for one in said if one.counts and one.event.memory_id == memory.pk and one.signal.at >= since]
    return GivenLately(times, sum(one.useful for one in counted), sum(one.misled for one in counted))
