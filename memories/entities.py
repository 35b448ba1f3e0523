"""The things memories talk about: canonical names, and attaching them to a memory."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, Exists, OuterRef, Subquery

from memories.models import Entity, Memory, MemoryEntity, Scope
from memories.models.graph import UNTYPED


@dataclass(frozen=True, slots=True)
class EntitySpec:
    name: str
    type: str = UNTYPED


def canonical_name(name: str) -> str:
    """One spelling for all: NFKC, case-folded, single spaces."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def attach(memory: Memory, specs: Sequence[EntitySpec]) -> int:
    """Tie the entities to the memory, making those its scope does not know yet; the number of new ties."""
    # Sorted, so that two writers naming the same new entities wait for each other instead of deadlocking.
    named = dict(sorted({(canonical_name(spec.name), spec.type): spec.name for spec in reversed(specs)}.items()))
    if not named:
        return 0
    entities = _found_or_made(memory.scope_id, named)
    before = MemoryEntity.objects.filter(memory=memory).count()
    MemoryEntity.objects.bulk_create(
        [MemoryEntity(memory=memory, entity=entity) for entity in entities], ignore_conflicts=True
    )
    return MemoryEntity.objects.filter(memory=memory).count() - before


def detach_all_but(memory: Memory, specs: Sequence[EntitySpec]) -> int:
    """Cut the ties to entities that are not among *specs*; the number of ties cut."""
    wanted = {(canonical_name(spec.name), spec.type) for spec in specs}
    ties = MemoryEntity.objects.filter(memory=memory).select_related("entity")
    unwanted = [tie.pk for tie in ties if (tie.entity.canonical, tie.entity.type) not in wanted]
    return MemoryEntity.objects.filter(pk__in=unwanted).delete()[0]


def specs_of(memory: Memory) -> list[EntitySpec]:
    return [EntitySpec(entity.name, entity.type) for entity in memory.entities.order_by("canonical", "type")]


def with_typed_namesake(scope: Scope) -> list[tuple[Entity, Entity]]:
    """The untyped entities that a memory names and that have exactly one namesake of a type in the scope, with it."""
    namesakes = Entity.objects.filter(scope=scope, canonical=OuterRef("canonical")).exclude(type=UNTYPED).order_by()
    number = namesakes.values("canonical").annotate(number=Count("pk")).values("number")
    rows = Entity.objects.filter(Exists(MemoryEntity.objects.filter(entity=OuterRef("pk"))), scope=scope, type=UNTYPED)
    rows = rows.annotate(namesakes=Subquery(number), namesake=Subquery(namesakes.values("pk")[:1]))
    untyped = list(rows.filter(namesakes=1).order_by("pk"))
    typed = Entity.objects.in_bulk([vars(entity)["namesake"] for entity in untyped])
    return [(entity, typed[vars(entity)["namesake"]]) for entity in untyped]


def _found_or_made(scope_id: int, named: dict[tuple[str, str], str]) -> list[Entity]:
    Entity.objects.bulk_create(
        [
            Entity(scope_id=scope_id, name=name, canonical=canonical, type=type)
            for (canonical, type), name in named.items()
        ],
        ignore_conflicts=True,
    )
    known = Entity.objects.filter(scope_id=scope_id, canonical__in=[canonical for canonical, _ in named])
    return [entity for entity in known if (entity.canonical, entity.type) in named]
