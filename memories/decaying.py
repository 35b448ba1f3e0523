"""What a decaying scope holds and will let go, in SQL. ``memories.retention`` holds the same maths in Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db.models import Avg, Count, ExpressionWrapper, F, FloatField, Func, Q, Sum, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce, Least, NullIf, Power
from django.db.models.lookups import LessThan

from memories.models import Memory, Regret, RetentionCycle, Scope
from memories.protection import PROTECTED_KINDS, PROVISIONAL, is_protected
from memories.querysets import MemoryQuerySet
from memories.retention import FLOOR, HALF_LIFE_HOURS, MOST_HALF_LIVES, RetentionRule, hours_kept, in_hours, weight

TOMBSTONE: Final = Q(invalidated_at__isnull=False)
PROTECTED: Final = Q(kind__in=PROTECTED_KINDS, provenance__gt=PROVISIONAL)
# No job decays, summarises or prunes the pinned, and none lets go of the protected.
KEPT: Final = Q(pinned=True, invalidated_at=None) | PROTECTED

type Spare = Callable[[datetime], Q]
"""What else stays at a moment, for as long as whoever registers it has use for it."""

_spared: list[Spare] = []


def spare(lookup: Spare) -> None:
    if lookup not in _spared:
        _spared.append(lookup)


def hours_since_access(now: datetime) -> Func:
    """A date in the future is 0 hours."""
    return Func(
        Value(now),
        F("accessed_at"),
        template="GREATEST(0, EXTRACT(EPOCH FROM (%(expressions)s))::float8 / 3600)",
        arg_joiner=" - ",
        output_field=FloatField(),
    )


def weight_at(rule: RetentionRule, now: datetime) -> Combinable:
    """``memories.retention.weight`` for every row at once; a pinned memory keeps what it has."""
    return _weight(Value(rule.half_life_hours), now)


def _weight(half_life: Combinable, now: datetime) -> Combinable:
    half_lives = Least(hours_since_access(now) / half_life, Value(MOST_HALF_LIVES))
    fallen = Power(Value(2.0), ExpressionWrapper(half_lives * Value(-1.0), output_field=FloatField()))
    return Least(F("weight"), fallen, output_field=FloatField())


def falling_by(moments: Mapping[str, datetime]) -> dict[str, Count]:
    """Of the memories of any scopes: how many each scope's own policy lets go by each of the named *moments*."""
    half_life = Coalesce(NullIf(F("scope__retention_policy__half_life_hours"), Value(0.0)), Value(HALF_LIFE_HOURS))
    floor = Coalesce(NullIf(F("scope__retention_policy__floor"), Value(0.0)), Value(FLOOR))
    return {
        name: Count("pk", filter=LessThan(_weight(half_life, moment), floor) & ~KEPT)
        for name, moment in moments.items()
    }


def held(scope: Scope) -> MemoryQuerySet:
    """All that the scope holds, tombstones among them; what is in the archive has left."""
    return Memory.objects.filter(scope=scope, archived_at=None)


def archive_of(scope: Scope) -> MemoryQuerySet:
    return Memory.objects.filter(scope=scope, archived_at__isnull=False)


def may_leave(scope: Scope, now: datetime) -> MemoryQuerySet:
    """All that a cycle at *now* may let go, once it is light enough."""
    return without_spared(held(scope).exclude(KEPT), now)


def without_spared(rows: MemoryQuerySet, now: datetime) -> MemoryQuerySet:
    for lookup in _spared:
        rows = rows.exclude(lookup(now))
    return rows


def falling(scope: Scope, rule: RetentionRule, now: datetime) -> MemoryQuerySet:
    """What a cycle at *now* would let go."""
    return may_leave(scope, now).annotate(weight_then=weight_at(rule, now)).filter(weight_then__lt=rule.floor)


def is_kept(memory: Memory) -> bool:
    """KEPT, for one row."""
    return is_protected(memory.kind, memory.provenance) or (memory.pinned and memory.invalidated_at is None)


def days_left(memory: Memory, rule: RetentionRule, now: datetime) -> float | None:
    """Days until *memory* falls through the floor if nobody asks for it; None for what no cycle lets go."""
    if memory.archived_at or is_kept(memory):
        return None
    hours = in_hours(memory.accessed_at, now)
    return max(0.0, hours_kept(weight(memory.weight, hours, rule.half_life_hours), rule) - hours) / 24


@dataclass(frozen=True, slots=True)
class Statistics:
    """Of one scope. ``average_weight`` is that of the live ones as stored, None where there is none; ``recalls`` counts
    every access ever; ``kept`` are those that are pinned or of a protected kind."""

    all: int
    live: int
    tombstones: int
    average_weight: float | None
    recalls: int
    kept: int
    archived: int
    regretted: int
    last_cycle: RetentionCycle | None


def statistics(scope: Scope) -> Statistics:
    """Reads, and writes nothing."""
    numbers: Mapping[str, Any] = held(scope).aggregate(
        n_all=Count("pk"),
        n_tombstones=Count("pk", filter=TOMBSTONE),
        n_kept=Count("pk", filter=KEPT & ~TOMBSTONE),
        average=Avg("weight", filter=~TOMBSTONE),
        n_recalls=Sum("access_count"),
    )
    return Statistics(
        all=numbers["n_all"],
        live=numbers["n_all"] - numbers["n_tombstones"],
        tombstones=numbers["n_tombstones"],
        average_weight=numbers["average"],
        recalls=numbers["n_recalls"] or 0,
        kept=numbers["n_kept"],
        archived=archive_of(scope).count(),
        regretted=Regret.objects.filter(memory__scope=scope, memory__archived_at__isnull=False).count(),
        last_cycle=last_cycle(scope),
    )


def last_cycle(scope: Scope) -> RetentionCycle | None:
    return RetentionCycle.objects.filter(scope=scope, state=RetentionCycle.State.DONE).order_by("-started_at").first()
