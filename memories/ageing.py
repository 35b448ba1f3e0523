"""Age in SQL: the buckets, what has faded, and the age factor. ``memories.ranking`` holds the same maths in Python."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Final

from django.db.models import Case, F, FloatField, Func, Q, Value, When
from django.db.models.expressions import Combinable
from django.db.models.functions import Greatest, Power
from django.db.models.lookups import GreaterThanOrEqual

from memories.errors import ValidationFailed
from memories.ranking import AGEING, KINDS, LINEAR, SMALLEST_FACTOR, UNKNOWN_RULE, KindRule

Rules = Mapping[str, KindRule]


@dataclass(frozen=True, slots=True)
class AgeBucket:
    """Ages above *over* and up to *to* days, counted exactly and not in whole days; None is open."""

    label: str
    over: int | None
    to: int | None


AGE_BUCKETS: Final[Mapping[str, AgeBucket]] = MappingProxyType(
    {
        "le_7d": AgeBucket("Up to 7 days", None, 7),
        "d8_30": AgeBucket("8 to 30 days", 7, 30),
        "d31_90": AgeBucket("31 to 90 days", 30, 90),
        "d91_365": AgeBucket("91 to 365 days", 90, 365),
        "gt_1y": AgeBucket("Over a year", 365, None),
    }
)


def in_bucket(name: str, now: datetime) -> Q:
    if name not in AGE_BUCKETS:
        raise ValidationFailed(f"There is no age {name!r}. Choose from {', '.join(AGE_BUCKETS)}.", field="age")
    bucket, condition = AGE_BUCKETS[name], Q()
    if bucket.over is not None:
        condition &= Q(created_at__lt=now - timedelta(days=bucket.over))
    if bucket.to is not None:
        condition &= Q(created_at__gte=now - timedelta(days=bucket.to))
    return condition


def is_faded(rules: Rules, now: datetime) -> Q:
    """Older than the half-life of its kind; ``memories.ranking.is_faded`` as a condition on dates, so that the index
    over kind and creation serves it. Nothing fades where age does not count."""
    condition = Q(pk__in=[])
    for kind in {*KINDS, *rules}:
        half_life = timedelta(days=_rule(rules, kind).half_life_days)
        condition |= Q(kind=kind, created_at__lt=now - half_life)
    return can_fade() & condition


def can_fade() -> Q:
    """A decaying scope keeps by last access; its memories have no half-life."""
    return Q(scope__retention=AGEING)


def age_days(now: datetime) -> Func:
    """Days since creation; a date in the future is age 0."""
    return Func(
        Value(now),
        F("created_at"),
        template="GREATEST(0, EXTRACT(EPOCH FROM (%(expressions)s))::float8 / 86400)",
        arg_joiner=" - ",
        output_field=FloatField(),
    )


def age_factor(rules: Rules, now: datetime) -> Case:
    """``memories.ranking.age_factor`` in SQL, for every row at once.

    PostgreSQL raises where a power or a quotient leaves the range of a float, so the ends are held by hand.
    """
    half_lives = age_days(now) / Greatest(_half_life(rules), Value(1e-300))
    linear = [kind for kind, rule in rules.items() if rule.curve == LINEAR]
    return Case(
        When(kind__in=linear, then=Greatest(Value(0.0), Value(1.0) - half_lives / 2.0)),
        When(GreaterThanOrEqual(half_lives, Value(1022.0)), then=Value(SMALLEST_FACTOR)),
        default=Power(Value(2.0), -half_lives),
        output_field=FloatField(),
    )


def _half_life(rules: Rules) -> Combinable:
    cases = [When(kind=kind, then=Value(rule.half_life_days)) for kind, rule in rules.items()]
    return Case(*cases, default=Value(UNKNOWN_RULE.half_life_days), output_field=FloatField())


def _rule(rules: Rules, kind: str) -> KindRule:
    return rules.get(kind, UNKNOWN_RULE)
