"""Which memories of one scope a bulk act is about. There is no way to say "all"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Protocol

from django.db.models import Count, Q
from django.utils import timezone

from memories.configuration import ranking_rules
from memories.decaying import PROTECTED
from memories.errors import ValidationFailed
from memories.facets import Choice, narrowed
from memories.guard import masked
from memories.models import Kind, Memory, Scope
from memories.moments import EARLIEST, FURTHEST, LATEST, is_within_reach
from memories.querysets import MemoryQuerySet

LEFT_ALONE: Final = Q(pinned=True) | PROTECTED
RETIRED: Final = {"superseded", "invalidated", "archived"}
SAMPLE: Final = 10


class Chosen(Protocol):
    """Which memories of one scope an act is about, and how that is said on record."""

    @property
    def scope(self) -> Scope: ...

    def forgettable(self) -> MemoryQuerySet: ...

    def said(self) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
class Selection:
    """The live memories of one scope under a filter: *before* (when they were learned), *kinds*, or any filter of the
    list in *choice*.

    Raises ValidationFailed without a scope, and without a filter beside it.
    """

    choice: Choice
    before: datetime | None = None
    kinds: Sequence[str] | None = None

    def __post_init__(self) -> None:
        _check_scope(self.choice.scope)
        if self.choice.state in RETIRED:
            raise ValidationFailed("What is in this state is retired already.", field="state")
        if self.before:
            _check_moment(self.before)
        _check_kinds(self.kinds)
        if not self._narrows:
            raise ValidationFailed(_NOT_ALL, field="before")

    @property
    def scope(self) -> Scope:
        return _check_scope(self.choice.scope)

    @property
    def _narrows(self) -> bool:
        chosen = {name for name in self.choice.in_force if (name, self.choice.state) != ("state", "live")}
        return bool(self.before or self.kinds or chosen - {"scope"})

    def rows(self) -> MemoryQuerySet:
        """The live ones that match, those left alone among them."""
        rows = Memory.objects.in_scopes([self.scope.pk]).filter(invalidated_at__isnull=True)
        if self.before:
            rows = rows.filter(created_at__lt=self.before)
        if self.kinds:
            rows = rows.filter(kind__in=self.kinds)
        return narrowed(rows, self.choice, ranking_rules(), timezone.now())

    def forgettable(self) -> MemoryQuerySet:
        return self.rows().exclude(LEFT_ALONE)

    def said(self) -> dict[str, Any]:
        """The filter as it goes on record: short words, no text of a memory, no secret that somebody looked for."""
        choice = {name: masked(str(getattr(self.choice, name))) for name in self.choice.in_force if name != "scope"}
        before = {"before": self.before.isoformat()} if self.before else {}
        return choice | before | ({"kinds": list(self.kinds)} if self.kinds else {})


_NOT_ALL: Final = (
    "Say which: a date before which they were learned, or another filter. "
    "There is no way to forget a whole scope without one."
)


def _check_scope(scope: Scope | None) -> Scope:
    if scope is None:
        raise ValidationFailed("Name the scope. A bulk act never reaches beyond one.", field="scope")
    return scope


def _check_moment(before: datetime) -> None:
    if before.utcoffset() is None:
        raise ValidationFailed(
            "before needs a moment with its time zone, such as 2025-01-31T00:00:00Z.", field="before"
        )
    if not is_within_reach(before):
        raise ValidationFailed(
            f"before is out of reach: give a moment from {EARLIEST:%-d %B} of the year 1 to {LATEST:%-d %B %Y}, "
            f"at most {FURTHEST.seconds // 3600} hours from UTC.",
            field="before",
        )


def _check_kinds(kinds: Sequence[str] | None) -> None:
    if kinds is not None and not kinds:
        raise ValidationFailed("An empty list of kinds selects nothing. Leave it out for every kind.", field="kinds")
    for kind in kinds or ():
        if kind not in Kind.values:
            raise ValidationFailed(f"There is no kind {kind!r}; use one of {', '.join(Kind.values)}.", field="kinds")


@dataclass(frozen=True, slots=True)
class Counted:
    """What a bulk act would do: how many it would retire, the newest of them, and how many it would leave alone."""

    count: int
    sample: list[Memory]
    pinned: int
    protected: int


def counted(selection: Selection) -> Counted:
    rows = selection.rows()
    numbers = rows.order_by().aggregate(
        n_matched=Count("pk"),
        n_pinned=Count("pk", filter=Q(pinned=True)),
        n_protected=Count("pk", filter=PROTECTED & Q(pinned=False)),
    )
    sample = selection.forgettable().for_list().order_by("-created_at", "-pk")[:SAMPLE]
    pinned, protected = numbers["n_pinned"], numbers["n_protected"]
    return Counted(numbers["n_matched"] - pinned - protected, list(sample), pinned, protected)
