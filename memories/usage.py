"""What became of memories after agents were given them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db.models import Case, Count, Exists, OuterRef, Q, QuerySet, Sum, When
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce

from memories.models import Memory, Surfacing, UsageEvent
from memories.moments import utc_midnight

LATELY_DAYS: Final = 30
_SOURCE: Final = UsageEvent.Source
_TAKES_BACK: Final = {_SOURCE.WITHDRAWN: 1, _SOURCE.REINSTATED: -1}


@dataclass(frozen=True, slots=True)
class GivenLately:
    """Of one memory in LATELY_DAYS days, of which today is one, in UTC. A report without a session stands alone."""

    times: int
    useful: int
    misled: int


def reports() -> QuerySet[UsageEvent]:
    """Those that say something of a memory and were not withdrawn."""
    taken_back = (
        UsageEvent.objects.filter(memory=OuterRef("memory"), at=OuterRef("at"), source__in=_TAKES_BACK)
        .values("memory")
        .annotate(times=Sum(Case(*[When(source=source, then=by) for source, by in _TAKES_BACK.items()])))
        .filter(times__gt=0)
    )
    said = UsageEvent.objects.exclude(source__in=_TAKES_BACK)
    return said.exclude(Q(source=_SOURCE.CHALLENGE) & Exists(taken_back))


def given_lately(memory: Memory, now: datetime) -> GivenLately:
    since = utc_midnight(now, days_ago=LATELY_DAYS - 1)
    days = Surfacing.objects.filter(memory=memory, day__gte=since.date())
    times = days.aggregate(times=Coalesce(Sum("count"), 0))["times"]
    said = reports().filter(memory=memory, at__gte=since).aggregate(useful=_voices("useful"), misled=_voices("misled"))
    return GivenLately(times, said["useful"], said["misled"])


def _voices(flag: str) -> Combinable:
    """Sessions that said so, and reports that name no session."""
    told = Q(**{flag: True})
    return Count("session", distinct=True, filter=told & ~Q(session="")) + Count("pk", filter=told & Q(session=""))
