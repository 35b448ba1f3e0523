"""What a decaying scope keeps: its weights now, and what leaves when. Aggregates as frozen dataclasses."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db.models import Count, F, Q, Sum

from memories.decaying import Statistics, archive_of, falling, falling_by, held, statistics, weight_at, without_spared
from memories.models import ArchiveSample, Memory, RetentionPolicy, Scope
from memories.querysets import MemoryQuerySet
from memories.retention import RetentionRule

WEIGHTS: Final = ((0.5, 1.0), (0.25, 0.5), (0.1, 0.25), (0.05, 0.1), (0.0, 0.05))  # from the heaviest
SOON_DAYS: Final = 30
HORIZONS: Final = (7, 30, 90)
SAMPLED_DAYS: Final = 90
REGRET_LINE: Final = 0.02
LARGE_SCOPE: Final = 50_000
COMMON_SHARE: Final = 0.5
FEWEST_POLICIES: Final = 3


@dataclass(frozen=True, slots=True)
class WeightBand:
    """Live memories above *over* and up to *to*; the lightest band begins at the floor's 0."""

    over: float
    to: float
    count: int


@dataclass(frozen=True, slots=True)
class Regrets:
    """Of the recalls of the last days that were compared with the archive; ``share`` is None where none was."""

    recalls: int
    regretted: int

    @property
    def share(self) -> float | None:
        return self.regretted / self.recalls if self.recalls else None


@dataclass(frozen=True, slots=True)
class Keeping:
    """``leaving`` by days from now, under the policy as it is, if nobody asks for anything."""

    scope: Scope
    rule: RetentionRule
    statistics: Statistics
    bands: tuple[WeightBand, ...]
    leaving: dict[int, int]
    leaving_now: int
    regrets: Regrets


def keeping(scope: Scope, now: datetime) -> Keeping:
    rule = RetentionPolicy.of(scope).rule
    return Keeping(
        scope=scope,
        rule=rule,
        statistics=statistics(scope),
        bands=_bands(scope, rule, now),
        leaving=leaving_within([scope], now),
        leaving_now=falling(scope, rule, now).count(),
        regrets=regrets([scope], now),
    )


def _bands(scope: Scope, rule: RetentionRule, now: datetime) -> tuple[WeightBand, ...]:
    rows = held(scope).filter(invalidated_at=None).annotate(weight_now=weight_at(rule, now))
    counts = rows.aggregate(
        **{f"band_{place}": Count("pk", filter=_within(*band)) for place, band in enumerate(WEIGHTS)}
    )
    return tuple(WeightBand(over, to, counts[f"band_{place}"]) for place, (over, to) in enumerate(WEIGHTS))


def _within(over: float, to: float) -> Q:
    return Q(weight_now__gt=over, weight_now__lte=to) if over else Q(weight_now__lte=to)


def leaving_within(scopes: list[Scope], now: datetime) -> dict[int, int]:
    """By days from now: what the policies of *scopes* let go by then, if nobody asks for anything."""
    rows = Memory.objects.in_scopes([scope.pk for scope in scopes]).filter(archived_at=None)
    moments = {f"in_{days}": now + timedelta(days=days) for days in HORIZONS}
    counts = without_spared(rows, now).aggregate(**falling_by(moments))
    return {days: counts[f"in_{days}"] for days in HORIZONS}


def leaving_soon(scope: Scope, rule: RetentionRule, now: datetime) -> MemoryQuerySet:
    """The live ones that leave within SOON_DAYS unless somebody asks for them, the lightest first."""
    soon = falling(scope, rule, now + timedelta(days=SOON_DAYS)).filter(invalidated_at=None)
    return soon.annotate(weight_now=weight_at(rule, now)).order_by(F("weight_then").asc(), "accessed_at", "pk")


def regrets(scopes: list[Scope], now: datetime) -> Regrets:
    since = now.date() - timedelta(days=SAMPLED_DAYS)
    sums = ArchiveSample.objects.filter(scope__in=scopes, day__gte=since).aggregate(
        recalls=Sum("recalls"), regretted=Sum("regretted")
    )
    return Regrets(sums["recalls"] or 0, sums["regretted"] or 0)


def asked_for(scope: Scope, most: int = 10) -> list[Memory]:
    """The archived ones that recalls would have given most often."""
    rows = archive_of(scope).filter(regret__count__gt=0).select_related("regret")
    return list(rows.order_by("-regret__count", "-regret__last_at", "pk")[:most])


# When the choice for decay should be looked at again -------------------------------------------


@dataclass(frozen=True, slots=True)
class Gauges:
    """Over all decaying scopes that somebody may read. ``common_hours`` is the half-life that most owners chose, where
    it is another than the default and enough of them chose at all."""

    scopes: int
    regrets: Regrets
    largest: int
    leaving: dict[int, int]
    common_hours: float | None
    common: int


def gauges(scopes: list[Scope], now: datetime) -> Gauges | None:
    """None where no scope decays."""
    decaying = [scope for scope in scopes if scope.retention == Scope.Retention.DECAYING]
    if not decaying:
        return None
    ids = [scope.pk for scope in decaying]
    sizes = dict(Memory.objects.live().in_scopes(ids).values_list("scope_id").annotate(n=Count("pk")).order_by())
    policies = {policy.scope_id: policy.rule for policy in RetentionPolicy.objects.filter(scope__in=ids)}
    common, hours = _common([policies.get(pk, RetentionRule()).half_life_hours for pk in ids])
    return Gauges(
        scopes=len(decaying),
        regrets=regrets(decaying, now),
        largest=max(sizes.values(), default=0),
        leaving=leaving_within(decaying, now),
        common_hours=hours,
        common=common,
    )


def _common(hours: list[float]) -> tuple[int, float | None]:
    default = RetentionRule().half_life_hours
    chosen = max({*hours}, key=hours.count)
    number = hours.count(chosen)
    is_common = len(hours) >= FEWEST_POLICIES and number > COMMON_SHARE * len(hours) and chosen != default
    return (number, chosen) if is_common else (0, None)
