"""What hangs together with memories that were found: by typed links either way, and by the things they name."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db.models import Count, Q

from memories.configuration import ranking_rules
from memories.models import Entity, Link, Memory, MemoryEntity
from memories.querysets import MemoryQuerySet
from memories.ranking import KindRule, age_in_days, aged

TIE: Final = 0.5  # of the score of the memory that leads there
COMMON: Final = 200  # memories; what more of them name says nothing of any


@dataclass(frozen=True, slots=True)
class Neighbour:
    memory: Memory
    why: str
    score: float


@dataclass(frozen=True, slots=True)
class _Tie:
    strength: float
    why: str


def neighbours(scores: Mapping[UUID, float], others: MemoryQuerySet, *, now: datetime) -> list[Neighbour]:
    """Those of *others* that are tied to the memories of *scores*, best first; *others* brings scope and reinforcement.

    score = score of the memory that leads there × tie × kind weight × age × reinforcement, by the strongest tie: 0.5
    for a link, 0.5 / √n for an entity that n memories of its scope name. Entities that more than COMMON name tie
    nothing.
    """
    ties: dict[UUID, _Tie] = {}
    for memory, tie in (*_links(scores), *_shared_entities(scores)):
        if memory not in scores and (memory not in ties or tie.strength > ties[memory].strength):
            ties[memory] = tie
    rules = ranking_rules()
    near = [
        Neighbour(memory, ties[pk].why, ties[pk].strength * _weight(memory, rules[memory.kind], now))
        for pk, memory in others.in_bulk(list(ties)).items()
    ]
    return sorted(near, key=lambda each: (-each.score, each.memory.pk))


def _links(scores: Mapping[UUID, float]) -> Iterator[tuple[UUID, _Tie]]:
    rows = Link.objects.filter(Q(source__in=scores) | Q(target__in=scores))
    for source, target, type in rows.values_list("source", "target", "type"):
        said = Link.Type(type).label
        if source in scores:
            yield target, _Tie(scores[source] * TIE, f"Linked: a memory above {said} it.")
        if target in scores:
            yield source, _Tie(scores[target] * TIE, f"Linked: it {said} a memory above.")


def _shared_entities(scores: Mapping[UUID, float]) -> Iterator[tuple[UUID, _Tie]]:
    leading = _leading(scores)
    named = Entity.objects.filter(pk__in=leading).annotate(n=Count("memory_entities"))
    rare = {entity.pk: entity for entity in named.filter(n__gt=1, n__lte=COMMON)}
    for memory, pk in MemoryEntity.objects.filter(entity__in=rare).values_list("memory", "entity"):
        entity = rare[pk]
        yield (
            memory,
            _Tie(leading[pk] * TIE / math.sqrt(vars(entity)["n"]), f"Names {entity.name}, like a memory above."),
        )


def _leading(scores: Mapping[UUID, float]) -> dict[int, float]:
    """For each entity that they name, the score of the best of them."""
    best: dict[int, float] = {}
    for memory, entity in MemoryEntity.objects.filter(memory__in=scores).values_list("memory", "entity"):
        best[entity] = max(best.get(entity, 0.0), scores[memory])
    return best


def _weight(memory: Memory, rule: KindRule, now: datetime) -> float:
    age = aged(age_in_days(memory.created_at, now), rule, memory.scope.retention)
    reinforcement = getattr(memory, "reinforcement", None)
    return rule.weight * age * (reinforcement.multiplier if reinforcement else 1.0)
