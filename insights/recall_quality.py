"""Whether recall is useful, as frozen dataclasses. A share or a median of nothing is None, never 0.

What was given, reported and judged is counted for a scope, whoever asked. What was asked is counted from the log, which
is for one person and holds ACTIVITY_DAYS days.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final

from django.db import connection

from insights.sql import load
from memories import sql
from memories.access import Actor, readable_scopes
from memories.configuration import reinforcement_rule
from memories.models import Scope
from memories.moments import utc_midnight
from memories.presentation import scope_names
from memories.services.accesses import ACTIVITY_DAYS

JUDGED_NEEDED: Final = 25
DAYS: Final = 30
LONGEST: Final = 365


@dataclass(frozen=True, slots=True)
class DayAsked:
    day: date
    found: int
    empty: int
    failed: int


@dataclass(frozen=True, slots=True)
class RecallQuality:
    """Of the last ``days`` days, of which today is one, in UTC; what is counted from the log: of ``log_days`` of them.

    ``usefulness`` = ``useful`` ÷ ``surfaced``, distinct memories, and null while nobody has reported anything.
    ``precision`` = ``relevant`` ÷ ``judged``, and null below ``judged_needed``. ``empty_share`` is that of ``recalls``,
    which hold no failures, and ``reinforced_share`` that of ``given``: what use had not moved is the rest.
    """

    scope: str | None
    days: int
    log_days: int
    surfaced: int
    times: int
    useful: int
    misled: int
    reports: int
    usefulness: float | None
    judged: int
    judged_needed: int
    relevant: int
    precision: float | None
    recalls: int
    empty: int
    failed: int
    empty_share: float | None
    given: int
    reinforced: int
    reinforced_share: float | None
    median_age_days: float | None
    by_day: tuple[DayAsked, ...]


def recall_quality(*, actor: Actor, scope: Scope | None = None, days: int = DAYS, now: datetime) -> RecallQuality:
    """Of all the actor may read, or of one readable *scope*. Four queries, however much is stored."""
    readable = readable_scopes(actor)
    chosen = [row.pk for row in readable if scope is None or row.pk == scope.pk]
    period = _Period(now, days)
    found = _counted(actor, scope, chosen, period)
    return RecallQuality(
        scope=scope_names(readable)[scope.pk] if scope else None,
        days=days,
        log_days=period.log_days,
        usefulness=_share(found["useful"], found["surfaced"]) if found["reports"] else None,
        judged_needed=JUDGED_NEEDED,
        precision=_share(found["relevant"], found["judged"]) if found["judged"] >= JUDGED_NEEDED else None,
        empty_share=_share(found["empty"], found["recalls"]),
        reinforced_share=_share(found["reinforced"], found["given"]),
        by_day=_by_day(actor, scope, chosen, period),
        **found,
    )


@dataclass(frozen=True, slots=True)
class _Period:
    now: datetime
    days: int

    @property
    def since(self) -> datetime:
        return utc_midnight(self.now, days_ago=self.days - 1)

    @property
    def log_days(self) -> int:
        return min(self.days, ACTIVITY_DAYS)

    @property
    def log_since(self) -> datetime:
        return utc_midnight(self.now, days_ago=self.log_days - 1)


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _counted(actor: Actor, scope: Scope | None, scopes: list[int], period: _Period) -> dict[str, Any]:
    values: dict[str, Any] = {
        "first_day": period.since.date(),
        "since": period.since,
        "scopes": scopes,
        "judge_minimum": reinforcement_rule().judge_minimum,
        "user": actor.user.pk,
        "log_since": period.log_since,
        "everywhere": _is_everywhere(actor, scope),
        "token": _token_of(actor, scope),
    }
    with connection.cursor() as cursor:
        cursor.execute(load("recall_quality").format(voices=sql.load("voices")), values)
        names = [column.name for column in cursor.description]
        return dict(zip(names, cursor.fetchone(), strict=True))


def _by_day(actor: Actor, scope: Scope | None, scopes: list[int], period: _Period) -> tuple[DayAsked, ...]:
    values: dict[str, Any] = {
        "user": actor.user.pk,
        "since": period.log_since,
        "now": period.now,
        "everywhere": _is_everywhere(actor, scope),
        "token": _token_of(actor, scope),
        "scopes": scopes,
    }
    with connection.cursor() as cursor:
        cursor.execute(load("recall_days"), values)
        return tuple(DayAsked(*row) for row in cursor.fetchall())


def _token_of(actor: Actor, scope: Scope | None) -> int | None:
    """Whose failures are counted beside what was searched: of a chosen scope nobody's, for they name none."""
    return actor.token.pk if actor.token and scope is None else None


def _is_everywhere(actor: Actor, scope: Scope | None) -> bool:
    """A person's own log is theirs whatever they may read by now; a token looks no further than its scopes."""
    return scope is None and actor.token is None
