"""Which tables travel beside the memories. Whoever keeps one registers it: memories itself knows of its own alone."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from uuid import UUID

from django.db.models import Model

from memories.models import (
    Alias,
    Anchor,
    BriefingConfig,
    CodeConfig,
    ConfigVersion,
    FreshnessConfig,
    FusionConfig,
    FusionWeights,
    RankingConfig,
    ReinforcementConfig,
    RetentionPolicy,
)

type Ruled = Callable[[Collection[UUID]], Collection[UUID]]
"""Which of these memories stand as a rule."""


@dataclass(frozen=True, slots=True, eq=False)
class Carried:
    """A table whose rows are lines of their own, called as it is in the database, by the names of its columns.

    ``without`` gives the reason for each column that stays, and ``stays`` for all of it: the rows are then counted
    alone. ``signed`` are the columns of people without whom a row may not be.
    """

    model: type[Model]
    without: Mapping[str, str] = field(default_factory=dict)
    signed: tuple[str, ...] = ()
    stays: str = ""
    is_configuration: bool = False

    @property
    def type(self) -> str:
        return self.model._meta.db_table

    @property
    def plural(self) -> str:
        return str(self.model._meta.verbose_name_plural)


_tables: dict[str, Carried] = {}
_ruled: list[Ruled] = []


def register(table: Carried) -> None:
    _tables[table.type] = table


def register_configuration(*models: type[Model]) -> None:
    for model in models:
        register(Carried(model, is_configuration=True))


def register_ruled(lookup: Ruled) -> None:
    if lookup not in _ruled:
        _ruled.append(lookup)


def called(type: str) -> Carried | None:
    found = _tables.get(type)
    return None if found is None or found.stays else found


def about_memories() -> Iterator[Carried]:
    return (table for table in _tables.values() if not table.is_configuration)


def configuration() -> Iterator[Carried]:
    """The tables of settings, then that of their versions."""
    found = [table for table in _tables.values() if table.is_configuration]
    return iter(sorted(found, key=lambda table: (table.model is ConfigVersion, table.type)))


def types() -> list[str]:
    return sorted(table.type for table in _tables.values() if not table.stays)


def ruled_among(memories: Collection[UUID]) -> set[UUID]:
    """Which of *memories* stand as a rule; nothing is asked about none."""
    return {memory for lookup in (_ruled if memories else ()) for memory in lookup(memories)}


register_configuration(RankingConfig, FusionConfig, FusionWeights, ReinforcementConfig, FreshnessConfig, BriefingConfig)
register_configuration(CodeConfig)
register(Carried(Anchor))
register(Carried(RetentionPolicy))
register(Carried(Alias))
register_configuration(ConfigVersion)
