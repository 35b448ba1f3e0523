"""What can wait in the inbox. A source is one class and one line in ``sources.py``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import models
from django.db.models import Q

from memories.access import Actor

WAITING, SNOOZED, DECIDED = "waiting", "snoozed", "decided"
TABS: Final = {WAITING: "Waiting", SNOOZED: "Snoozed", DECIDED: "Decided"}


@dataclass(frozen=True, slots=True)
class Item:
    """A row of the inbox by name, at the version somebody looked at: ``dispute.<id>.<version>``."""

    source: str
    id: UUID
    version: int = 0

    @property
    def name(self) -> str:
        return f"{self.source}.{self.id}"

    def __str__(self) -> str:
        return f"{self.name}.{self.version}"


def item_of(text: str) -> Item | None:
    """None for what is no name of an item, or of an unknown source."""
    name, _, rest = text.partition(".")
    identity, _, version = rest.partition(".")
    try:
        return Item(source_called(name).name, UUID(identity), int(version or 0)) if len(version) < 10 else None
    except (KeyError, ValueError):
        return None


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the list. ``place`` is what the order at hand sorts by."""

    item: Item
    place: Any
    type: str
    kind: str
    scope: int
    since: datetime
    confidence: float | None
    title: str
    reason: str
    until: datetime | None
    decided: datetime | None
    outcome: str
    decider: str


@dataclass(frozen=True, slots=True)
class Failure:
    item: Item
    message: str


@dataclass(slots=True)
class Tally:
    """``done`` at the versions they have now; ``skipped``: the act says nothing about them."""

    done: list[Item] = field(default_factory=list)
    skipped: list[Item] = field(default_factory=list)
    failed: list[Failure] = field(default_factory=list)


type Act = Callable[[Actor, Any, int, Mapping[str, Any]], str]
"""Decides about a row at a version with the cleaned fields of its form, and says what was done."""
type BulkAct = Callable[[Actor, Sequence[Item], bool], Tally]
"""Decides about many, or only tries to where the last argument is true."""


class Source(ABC):
    """A table whose rows wait for a person."""

    name: str
    types: Mapping[str, str]  # each type with its word
    template: str
    acts: Mapping[str, Act]
    bulk: Mapping[str, BulkAct]

    @abstractmethod
    def visible(self, actor: Actor) -> models.QuerySet[Any]:
        """The rows the actor may read."""

    @abstractmethod
    def tabs(self) -> Mapping[str, Q]:
        """The condition of each of TABS."""

    @abstractmethod
    def columns(self) -> Mapping[str, Any]:
        """Expressions for ``e_type``, ``e_kind`` and the rest of what ``Entry`` holds."""

    @abstractmethod
    def load(self, actor: Actor, row_id: UUID) -> Any:
        """The row; NotFound for a foreign one."""

    @abstractmethod
    def is_open(self, row: Any) -> bool:
        """Waiting for a decision now."""

    @abstractmethod
    def evidence(self, actor: Actor, row: Any, query: str, bad: Mapping[str, Any]) -> dict[str, Any]:
        """What ``template`` shows. *query* is the query string of the list, *bad* holds refused forms by their act."""

    def draws(self, act: str, row: Any) -> bool:
        """Whether the evidence of *row* shows the form of *act*, with a place for what is wrong in its fields."""
        return False

    @abstractmethod
    def form(self, act: str, row: Any, sent: Mapping[str, Any]) -> Any:
        """The bound form of an act; None where it takes nothing."""


_sources: dict[str, Source] = {}


def register(source: Source) -> None:
    _sources[source.name] = source


def all_sources() -> list[Source]:
    return list(_sources.values())


def source_called(name: str) -> Source:
    """Raises KeyError for a name nobody registered."""
    return _sources[name]
