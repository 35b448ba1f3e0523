"""Which episodes may cluster, and the vectors they are compared by."""

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

import numpy as np
from django.db import connection
from numpy.typing import NDArray

from memories.embedder_in_use import query_embedder
from memories.embedding_queue import embedded_by
from memories.embedding_queue import stamp_of as queue_stamp
from memories.models import Embedding, Memory, MemoryEntity, Scope
from memories.querysets import MemoryQuerySet
from memories.services.recognition import repeats_what_was_given
from reflections.clustering import Episode
from reflections.sql import load
from zeromemory.embedding import Embedder, EmbedderError

NO_EMBEDDER = "Memories are compared by meaning, and no embedder is configured. Set ZEROMEMORY_EMBEDDER to have one."


@dataclass(frozen=True, slots=True)
class Stamp:
    """Vectors of different stamps cannot be compared."""

    model: str
    version: str
    dimensions: int


def stamp_of(embedder: Embedder) -> Stamp:
    """Raises EmbedderError where the embedder has to be asked and does not answer."""
    return Stamp(embedder.name, embedder.version, embedder.dimensions)


def current_stamp() -> Stamp:
    """That of the embedder which answers queries. Raises EmbedderError where there is none."""
    embedder = query_embedder()
    if embedder is None:
        raise EmbedderError(NO_EMBEDDER)
    return stamp_of(embedder)


def eligible(scope: Scope) -> MemoryQuerySet:
    """Live episodes of *scope* that have never been in any candidacy, whatever became of it, in no earlier wording,
    and that tell more than what their writer was given."""
    free = Memory.objects.live().filter(scope=scope, kind="episode", candidacy__isnull=True)
    return free.exclude(pk__in=_successors_of_members(scope)).exclude(repeats_what_was_given())


def _successors_of_members(scope: Scope) -> list[UUID]:
    with connection.cursor() as cursor:
        cursor.execute(load("successors_of_members"), {"scope": scope.pk})
        return [row[0] for row in cursor.fetchall()]


def episodes_by_owner(scope: Scope, stamp: Stamp) -> list[list[Episode]]:
    """The eligible episodes that have vectors of *stamp*, apart by owner.

    An episode belongs to its author; without one, to the scope's owner.
    """
    free = eligible(scope)
    rows = free.filter(embedded_by(queue_stamp(stamp.model, stamp.version))).values_list(
        "pk", "author_id", "created_at"
    )
    known = {pk: (author or scope.owner_id, created_at) for pk, author, created_at in rows}
    vectors = _vectors(free, stamp)
    entities = _entities(free)
    groups: dict[int, list[Episode]] = {}
    for pk, (owner, created_at) in known.items():
        if pk in vectors:
            groups.setdefault(owner, []).append(Episode(pk, created_at, vectors[pk], entities.get(pk, frozenset())))
    return [groups[owner] for owner in sorted(groups)]


def _vectors(free: MemoryQuerySet, stamp: Stamp) -> dict[UUID, NDArray[np.float32]]:
    """A vector for each eligible memory: that of its window, or of a long text the mean over its windows."""
    rows = (
        Embedding.objects.filter(
            live=True,
            memory__in=free,
            model=stamp.model,
            model_version=stamp.version,
            dimensions=stamp.dimensions,
        )
        .order_by("memory_id", "window_id")
        .values_list("memory_id", "vector")
    )
    windows: dict[UUID, list[NDArray[np.float32]]] = {}
    for memory_id, vector in rows.iterator(chunk_size=2000):
        windows.setdefault(memory_id, []).append(np.asarray(vector, dtype=np.float32))
    return {memory_id: mean_direction(found) for memory_id, found in windows.items()}


def mean_direction(vectors: Iterable[NDArray[np.float32]]) -> NDArray[np.float32]:
    """The unit vector along the mean of unit vectors; one vector alone is returned as it is."""
    found = list(vectors)
    if len(found) == 1:
        return found[0]
    mean = np.mean(found, axis=0)
    length = float(np.linalg.norm(mean))
    return mean / length if length else mean


def _entities(free: MemoryQuerySet) -> dict[UUID, frozenset[int | str]]:
    rows = MemoryEntity.objects.filter(memory__in=free).values_list("memory_id", "entity_id")
    found: dict[UUID, set[int | str]] = {}
    for memory_id, entity_id in rows.iterator(chunk_size=2000):
        found.setdefault(memory_id, set()).add(entity_id)
    return {memory_id: frozenset(ids) for memory_id, ids in found.items()}
