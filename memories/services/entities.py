"""One name, one entity."""

from typing import Final, NamedTuple
from uuid import UUID

from django.db import IntegrityError
from django.db.models import QuerySet

from memories.models import Entity, Memory, MemoryEntity
from memories.services.audit import record_each
from memories.services.writing import writing

AT_ONCE: Final = 200


class Merged(NamedTuple):
    """Ties to memories: ``moved`` to the other entity, ``dropped`` where the memory had that one already."""

    moved: int
    dropped: int


def merge_entity(*, entity: Entity, into: Entity, label: str, **detail: str) -> Merged:
    """Give at most AT_ONCE of the memories of *entity* to *into*; repeat while there were that many.

    The row of *entity* stays, for somebody may be writing its name at this moment. Nobody waits: a tie that somebody
    holds is left for another time.
    """
    try:
        with writing():
            ties = list(_free_ties(entity))
            doubled = set(_tied(into, ties))
            moved = [tie for tie in ties if tie.memory_id not in doubled]
            dropped = [tie for tie in ties if tie.memory_id in doubled]
            # Not by new rows: those would have to wait for whoever holds the memory.
            MemoryEntity.objects.filter(pk__in=[tie.pk for tie in moved]).update(entity=into)
            MemoryEntity.objects.filter(pk__in=[tie.pk for tie in dropped]).delete()
            _record(ties, entity, into, label, detail)
    except IntegrityError:
        return Merged(0, 0)  # a writer tied one of these memories to the same entity at this moment
    return Merged(len(moved), len(dropped))


def _free_ties(entity: Entity) -> QuerySet[MemoryEntity]:
    rows = MemoryEntity.objects.filter(entity=entity).order_by("memory_id").select_related("memory")
    return rows.select_for_update(of=("self",), skip_locked=True)[:AT_ONCE]


def _tied(entity: Entity, ties: list[MemoryEntity]) -> QuerySet[MemoryEntity, UUID]:
    memories = [tie.memory_id for tie in ties]
    return MemoryEntity.objects.filter(entity=entity, memory__in=memories).values_list("memory_id", flat=True)


def _record(ties: list[MemoryEntity], entity: Entity, into: Entity, label: str, detail: dict[str, str]) -> None:
    said = detail | {"from": str(entity.pk), "into": str(into.pk)}
    subjects: list[tuple[Memory, dict[str, str]]] = [(tie.memory, said) for tie in ties]
    record_each(actor=None, label=label, action="merge_entities", subjects=subjects)
