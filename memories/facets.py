"""What a person may filter the list of memories by, and how many each choice would show under the others."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any, Final

from django.db.models import Count, Exists, OuterRef, Q

from memories import ageing
from memories.ageing import AGE_BUCKETS, Rules
from memories.candidates import Filters
from memories.embedding_queue import without_vectors
from memories.entities import canonical_name
from memories.errors import ValidationFailed
from memories.looks import budgets, is_stale
from memories.models import Kind, MemoryEntity, Scope
from memories.models.memory import AuthorKind
from memories.querysets import STATES, MemoryQuerySet
from memories.retention import CONFIDENCES, at_least

ALL: Final = "all"
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
    stale: bool = False
    entity: str | None = None
    confidence: str | None = None

    def __post_init__(self) -> None:
        _known("kind", self.kind, Kind.values)
        _known("state", self.state, STATES)
        _known("author", self.author, AuthorKind.values)
        _known("age", self.age, AGE_BUCKETS)
        _known("confidence", self.confidence, CONFIDENCES)

    @property
    def in_force(self) -> list[str]:
        """The names of the filters that narrow the list."""
        unset = Choice()
        names = [one.name for one in fields(self) if getattr(self, one.name) != getattr(unset, one.name)]
        return [name for name in names if (name, self.state) != ("state", "all")]

    def without(self, name: str) -> Choice:
        return replace(self, **{name: getattr(Choice(), name)})


def _known(name: str, value: str | None, values: Any) -> None:
    if value is not None and value not in values:
        raise ValidationFailed(f"There is no {name} {value!r} to filter by.", field=name)


@dataclass(frozen=True, slots=True)
class Without:
    """How many memories an empty answer would hold without one of its filters."""

    filter: str
    found: int

    def said(self, *, most: int | None = None) -> str:
        """``0 with this kind, 7 without``; at *most*, where counting stops, ``20 or more``."""
        more = " or more" if self.found == most else ""
        return f"0 {FILTER_WORDS[self.filter]}, {self.found:,}{more} without"


FILTER_WORDS: Final = {
    "kind": "with this kind",
    "scope": "in this scope",
    "state": "in this state",
    "author": "by this author",
    "age": "of this age",
    "pinned": "pinned",
    "faded": "faded",
    "waiting": "not found by meaning",
    "stale": "not checked lately",
    "entity": "about this entity",
    "confidence": "so sure",
    ALL: "with all of them",
}


@dataclass(frozen=True, slots=True)
class Facets:
    """Rows behind each value of each filter, under all other filters."""

    kind: Mapping[str, int]
    scope: Mapping[int, int]
    state: Mapping[str, int]
    author: Mapping[str, int]
    age: Mapping[str, int]
    confidence: Mapping[str, int]
    pinned: int
    faded: int
    waiting: int
    stale: int


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
        "stale": is_stale(budgets(), now) if choice.stale else Q(),
        "entity": _about(choice.entity) if choice.entity else Q(),
        "confidence": _as_sure_as(choice.confidence) if choice.confidence else Q(),
    }
    for name, condition in conditions.items():
        rows = rows if name == but else rows.filter(condition)
    return rows


def without_each(choice: Choice, count: Callable[[Choice], int]) -> tuple[Without, ...]:
    """For a list that is empty: each filter in force, with what *count* finds under the others.

    Where no filter alone hides anything, a last entry ``all`` says what they hide together.
    """
    return _counted_without({name: choice.without(name) for name in choice.in_force}, Choice(), count)


def search_without_each(
    filters: Filters, readable: Collection[int], count: Callable[[Filters], int]
) -> tuple[Without, ...]:
    """The same for a recall: *readable* are the scopes it searches where none is named."""
    unfiltered = Filters(readable, as_of=filters.as_of)
    return _counted_without(_widened(filters, readable), unfiltered, count)


def _counted_without[Asked](
    wider: Mapping[str, Asked], widest: Asked, count: Callable[[Asked], int]
) -> tuple[Without, ...]:
    each = tuple(Without(name, count(asked)) for name, asked in wider.items())
    if len(each) < 2 or any(one.found for one in each):
        return each
    return (*each, Without(ALL, count(widest)))


def _widened(filters: Filters, readable: Collection[int]) -> dict[str, Filters]:
    """The filters without each of those in force; both ends of a period are one filter."""
    wider: dict[str, dict[str, Any]] = {
        "kind": {"kinds": None},
        "scope": {"scopes": readable},
        "author": {"author_kind": None},
        "age": {"created_from": None, "created_to": None},
        "pinned": {"pinned": None},
        "entity": {"entity": None},
        "confidence": {"confidences": None},
    }
    return {
        name: replace(filters, **changed)
        for name, changed in wider.items()
        if any(_narrows(getattr(filters, field), value) for field, value in changed.items())
    }


def _narrows(value: Any, wide: Any) -> bool:
    return value is not None and (wide is None or set(value) != set(wide))


def _faded(rules: Rules, now: datetime) -> Q:
    """Only what is live can fade."""
    return STATES["live"] & ageing.is_faded(rules, now)


def _waiting() -> Q:
    """Found by words only."""
    return without_vectors() & Q(invalidated_at__isnull=True)


def _about(entity: str) -> Q:
    ties = MemoryEntity.objects.filter(memory=OuterRef("pk"), entity__canonical=canonical_name(entity))
    return Q(Exists(ties))


def _as_sure_as(confidence: str) -> Q:
    return Q(confidence__in=at_least(confidence))


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
        confidence=_counted(under("confidence"), {label: _as_sure_as(label) for label in CONFIDENCES}),
        pinned=under("pinned").filter(pinned=True).count(),
        waiting=under("waiting").filter(_waiting()).count(),
        stale=under("stale").filter(is_stale(budgets(), now)).count(),
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
