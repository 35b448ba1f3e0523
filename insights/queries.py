"""Aggregates over the corpus, as frozen dataclasses. A share or a median of nothing is None, never 0."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import BooleanField, Case, CharField, Q, QuerySet, Value, When

from insights.sql import load
from memories.access import Actor, readable_scopes
from memories.ageing import AGE_BUCKETS, Rules, age_days, can_fade, in_bucket, is_faded
from memories.configuration import ranking_rules
from memories.models import Memory, Scope
from memories.presentation import scope_names
from memories.ranking import KINDS, KindRule


@dataclass(frozen=True, slots=True)
class KindAgeing:
    kind: str
    live: int
    median_age_days: float | None
    can_fade: int
    faded: int
    faded_share: float | None
    half_life_days: float
    curve: str


@dataclass(frozen=True, slots=True)
class ScopeAgeing:
    """``scope`` is the name that finds it: the slug, or ``owner/slug`` where the actor reads several of that slug."""

    scope: str
    retention: str
    live: int
    median_age_days: float | None
    can_fade: int
    faded: int
    faded_share: float | None


@dataclass(frozen=True, slots=True)
class Ageing:
    """How old the live corpus is. Faded = older than the half-life of its kind; the buckets sum to ``live``.

    ``faded_share`` is that of ``can_fade``, in [0, 1]: in a decaying scope nothing fades. Every kind and every readable
    scope has an entry, also where nothing is remembered.
    """

    scope: str | None
    live: int
    median_age_days: float | None
    can_fade: int
    faded: int
    faded_share: float | None
    oldest_at: datetime | None
    newest_at: datetime | None
    buckets: Mapping[str, int]
    by_kind: tuple[KindAgeing, ...]
    by_scope: tuple[ScopeAgeing, ...]


class _Group(NamedTuple):
    live: int = 0
    can_fade: int = 0
    faded: int = 0
    median_age_days: float | None = None
    oldest_at: datetime | None = None
    newest_at: datetime | None = None

    @property
    def faded_share(self) -> float | None:
        return self.faded / self.can_fade if self.can_fade else None


_Groups = dict[tuple[str, str | None], _Group]
_NOTHING = _Group()


def ageing(*, actor: Actor, scope: Scope | None = None, now: datetime) -> Ageing:
    """Of all the actor may read, or of one readable *scope*. Three queries, however much is stored."""
    rules, readable = ranking_rules(), readable_scopes(actor)
    names = scope_names(readable)
    chosen = [row for row in readable if scope is None or row.pk == scope.pk]
    groups = _groups(chosen, rules, now)
    whole = groups.get(("all", None), _NOTHING)
    return Ageing(
        scope=names[scope.pk] if scope else None,
        live=whole.live,
        median_age_days=whole.median_age_days,
        can_fade=whole.can_fade,
        faded=whole.faded,
        faded_share=whole.faded_share,
        oldest_at=whole.oldest_at,
        newest_at=whole.newest_at,
        buckets={name: groups.get(("bucket", name), _NOTHING).live for name in AGE_BUCKETS},
        by_kind=tuple(_kind(kind, rules[kind], groups.get(("kind", kind), _NOTHING)) for kind in KINDS),
        by_scope=tuple(_scope(row, names[row.pk], groups.get(("scope", str(row.pk)), _NOTHING)) for row in chosen),
    )


def _groups(scopes: list[Scope], rules: Rules, now: datetime) -> _Groups:
    if not scopes:
        return {}
    corpus, parameters = _corpus(scopes, rules, now).query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute(load("ageing").format(corpus=corpus), parameters)
        return {(level, name): _Group(*values) for level, name, *values in cursor.fetchall()}


def _corpus(scopes: list[Scope], rules: Rules, now: datetime) -> QuerySet[Any, Any]:
    """The live rows of *scopes*, each with its age in days, its bucket, and whether it can fade and has."""
    buckets = Case(*[When(in_bucket(name, now), then=Value(name)) for name in AGE_BUCKETS], output_field=CharField())
    faded, fading = _whether(is_faded(rules, now)), _whether(can_fade())
    return (
        Memory.objects.live()
        .in_scopes([scope.pk for scope in scopes])
        .annotate(age_days=age_days(now), can_fade=fading, faded=faded, bucket=buckets)
        .values("kind", "scope_id", "created_at", "age_days", "can_fade", "faded", "bucket")
    )


def _whether(condition: Q) -> Case:
    return Case(When(condition, then=True), default=False, output_field=BooleanField())


def _kind(kind: str, rule: KindRule, group: _Group) -> KindAgeing:
    return KindAgeing(
        kind=kind,
        live=group.live,
        median_age_days=group.median_age_days,
        can_fade=group.can_fade,
        faded=group.faded,
        faded_share=group.faded_share,
        half_life_days=rule.half_life_days,
        curve=rule.curve,
    )


def _scope(scope: Scope, name: str, group: _Group) -> ScopeAgeing:
    return ScopeAgeing(
        scope=name,
        retention=scope.retention,
        live=group.live,
        median_age_days=group.median_age_days,
        can_fade=group.can_fade,
        faded=group.faded,
        faded_share=group.faded_share,
    )
