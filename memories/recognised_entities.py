"""Entities that a text speaks of, where its writer named none: known ones of the scope, by whole words, and only names
that can hardly be anything else."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

from memories.models import Entity, Memory, MemoryEntity
from memories.models.graph import UNTYPED
from memories.words import names_in

READ: Final = 4000  # characters of the text
MOST: Final = 10
SHORTEST: Final = 3  # letters of a name of one word
_PART_OF_A_NAME: Final = r"[\w/\\-]"
_IDENTIFIER: Final = re.compile(r"\w[_/\\.]\w|[a-z][A-Z]")


def recognise(memory: Memory) -> tuple[str, ...]:
    """Tie *memory* to what is recognised in it; the names. One query where nothing is, and two otherwise."""
    text = unicodedata.normalize("NFKC", memory.content[:READ])
    known = Entity.objects.filter(scope=memory.scope_id, canonical__in=sorted(names_in(text)))
    found = sorted(
        (entity for entity in _unambiguous(known) if _is_spoken_of(entity, text)),
        key=lambda entity: (-len(entity.canonical), entity.canonical),
    )[:MOST]
    MemoryEntity.objects.bulk_create(
        [MemoryEntity(memory=memory, entity=entity, recognised=True) for entity in found], ignore_conflicts=True
    )
    return tuple(entity.name for entity in found)


def recognised_of(memory: Memory) -> list[str]:
    ties = memory.memory_entities.filter(recognised=True).order_by("entity__canonical")
    return list(ties.values_list("entity__name", flat=True))


def _unambiguous(entities: Iterable[Entity]) -> list[Entity]:
    """One of each name: that of a type before the one without; none where there are two types."""
    named: dict[str, list[Entity]] = {}
    for entity in entities:
        named.setdefault(entity.canonical, []).append(entity)
    typed = {name: [one for one in rows if one.type != UNTYPED] or rows for name, rows in named.items()}
    return [rows[0] for rows in typed.values() if len(rows) == 1]


def _is_spoken_of(entity: Entity, text: str) -> bool:
    """Several words and identifiers speak for themselves. Of a single word its capitals do, where no sentence begins:
    "release" may be any release, and "Mark" at the beginning may be what is to be done."""
    name = unicodedata.normalize("NFKC", entity.name)
    whole = rf"(?<!{_PART_OF_A_NAME}){re.escape(entity.canonical)}(?!{_PART_OF_A_NAME})"
    if " " in entity.canonical or _IDENTIFIER.search(name):
        return re.search(whole.replace(r"\ ", r"\s+"), text.casefold()) is not None
    if len(name) < SHORTEST or name == entity.canonical:
        return False
    within = rf"(?<=[^\s.!?:] )(?<!{_PART_OF_A_NAME}){re.escape(name)}(?!{_PART_OF_A_NAME})"
    return re.search(within, text) is not None
