"""What a person may filter the list of memories by, and how many each choice would show under the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db.models import Count, Exists, OuterRef, Q

from memories import ageing
from memories.ageing import AGE_BUCKETS, Rules
from memories.embedding_queue import without_vectors
from memories.entities import canonical_name
from memories.errors import ValidationFailed
from memories.models import Kind, MemoryEntity, Scope
from memories.models.memory import AuthorKind
from memories.querysets import STATES, MemoryQuerySet

FEED: Final = ""  # the state shown unless another is asked for


@dataclass(frozen=True, slots=True)
class Choice:
    """The filters in force; None, and FEED for the state, do not filter further."""

    scope: Scope | None = None
    kind: str | None = None
    state: str = FEED
    author: str | None = None
    pinned: bool = False
    age: str | None = None
    faded: bool = False
    waiting: bool = False
    entity: str | None = None

    def __post_init__(self) -> None:
        _known("kind", self.kind, Kind.values)
        _known("state", self.state, STATES)
        _known("author", self.author, AuthorKind.values)
        _known("age", self.age, AGE_BUCKETS)


def _known(name: str, value: str | None, values: Any) -> None:
    if value is not None and value not in values:
        raise ValidationFailed(f"There is no {name} {value!r} to filter by.", field=name)


@dataclass(frozen=True, slots=True)
class Facets:
    """Rows behind each value of each filter, under all other filters."""

    kind: Mapping[str, int]
    scope: Mapping[int, int]
    state: Mapping[str, int]
    author: Mapping[str, int]
    age: Mapping[str, int]
    pinned: int
    faded: int
    waiting: int


def narrowed(rows: MemoryQuerySet, choice: Choice, rules: Rules, now: datetime, *, but: str = "") -> MemoryQuerySet:
    """*rows* under every filter of *choice*, *but* one."""
    conditions = {
        "state": Q() if but == "state" else STATES[choice.state],
        "scope": Q(scope=choice.scope) if choice.scope else Q(),
        "kind": Q(kind=choice.kind) if choice.kind else Q(),
        "author": Q(author_kind=choice.author) if choice.author else Q(),
        "pinned": Q(pinned=True) if choice.pinned else Q(),
        "age": ageing.in_bucket(choice.age, now) if choice.age else Q(),
        "faded": _faded(rules, now) if choice.faded else Q(),
        "waiting": _waiting() if choice.waiting else Q(),
        "entity": _about(choice.entity) if choice.entity else Q(),
    }
    for name, condition in conditions.items():
        rows = rows if name == but else rows.filter(condition)
    return rows


def _faded(rules: Rules, now: datetime) -> Q:
    """Only what is live can fade."""
    return STATES["live"] & ageing.is_faded(rules, now)


def _waiting() -> Q:
    """Found by words only."""
    return without_vectors() & Q(invalidated_at__isnull=True)


def _about(entity: str) -> Q:
    ties = MemoryEntity.objects.filter(memory=OuterRef("pk"), entity__canonical=canonical_name(entity))
    return Q(Exists(ties))


def facets(rows: MemoryQuerySet, choice: Choice, rules: Rules, now: datetime) -> Facets:
    """A fixed number of counting queries, whatever the corpus holds."""

    def under(but: str) -> MemoryQuerySet:
        return narrowed(rows, choice, rules, now, but=but)

    return Facets(
        kind=_grouped(under("kind"), "kind"),
        scope=_grouped(under("scope"), "scope_id"),
        author=_grouped(under("author"), "author_kind"),
        state=_counted(under("state"), STATES),
        age=_counted(under("age"), {name: ageing.in_bucket(name, now) for name in AGE_BUCKETS}),
        pinned=under("pinned").filter(pinned=True).count(),
        waiting=under("waiting").filter(_waiting()).count(),
        faded=under("faded").filter(_faded(rules, now)).count(),
    )


def _grouped(rows: MemoryQuerySet, field: str) -> dict[Any, int]:
    return dict(rows.order_by().values_list(field).annotate(n=Count("pk")).values_list(field, "n"))


def _counted(rows: MemoryQuerySet, conditions: Mapping[str, Q]) -> dict[str, int]:
    names = list(conditions)
    counts = rows.order_by().aggregate(
        **{f"n{place}": Count("pk", filter=conditions[name]) for place, name in enumerate(names)}
    )
    return {name: counts[f"n{place}"] for place, name in enumerate(names)}
