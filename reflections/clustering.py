"""Clusters: episodes that are similar, but no copies of one another, and speak of the same thing.

Pure: vectors in, ids out. The caller passes the episodes of one owner and one scope at a time, and leaves out those
that already belong to a candidate; nothing here could tell.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

type Vectors = NDArray[np.float64]

BLOCK_ROWS: Final = 512  # similarities held at once: this many rows by all episodes, 20 MB for 5,000
# Vectors come from a single-precision column. Rounding moves a cosine by up to about 1e-7, so a pair written at exactly
# .78 may be read back as .77999997. Both ends of the band are shifted by more than that, and by less than could matter.
TOLERANCE: Final = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Episode:
    id: UUID | str | int
    created_at: datetime
    vector: NDArray[np.floating]
    entities: frozenset[int | str]


@dataclass(frozen=True, slots=True)
class Rule:
    """Two episodes join when ``cosine_min`` ≤ cosine < ``cosine_max`` and they share an entity."""

    cosine_min: float = 0.78
    cosine_max: float = 0.92
    min_members: int = 3
    max_members: int = 10


@dataclass(frozen=True, slots=True)
class Cluster:
    """Members oldest first; the mean cosine of all their pairs; the entities that at least two of them carry, the most
    widely carried first."""

    members: tuple[UUID | str | int, ...]
    similarity_mean: float
    shared_entities: tuple[int | str, ...]


def find_clusters(episodes: Sequence[Episode], rule: Rule) -> list[Cluster]:
    """Connected components of at least ``min_members``, each cut to its newest ``max_members``; newest cluster first.

    Members of a component are joined through one another: not every pair need lie in the band. The order of *episodes*
    does not matter. Vectors must have one length (ValueError otherwise); a zero vector has cosine 0 with everything.
    """
    known = _that_could_join(sorted(episodes, key=_in_time))
    if len(known) < rule.min_members:
        return []
    vectors = _unit_vectors(known)
    components = _components(known, vectors, rule)
    found = [rows[-rule.max_members :] for rows in components if len(rows) >= rule.min_members]
    found.sort(key=lambda rows: rows[-1], reverse=True)
    return [_cluster([known[row] for row in rows], vectors[rows]) for rows in found]


def _in_time(episode: Episode) -> tuple[datetime, str]:
    return episode.created_at, str(episode.id)


def _that_could_join(episodes: Sequence[Episode]) -> list[Episode]:
    carriers = Counter(entity for episode in episodes for entity in episode.entities)
    return [episode for episode in episodes if any(carriers[entity] > 1 for entity in episode.entities)]


def _unit_vectors(episodes: Sequence[Episode]) -> Vectors:
    vectors = np.stack([np.asarray(episode.vector, dtype=np.float64) for episode in episodes])
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    lengths[lengths == 0] = 1.0
    return np.asarray(vectors / lengths)


def _components(episodes: Sequence[Episode], vectors: Vectors, rule: Rule) -> list[list[int]]:
    """Rows of each connected component, oldest first. A component is labelled by its first row."""
    labels = np.arange(len(episodes))
    for row, neighbours in _neighbours(episodes, vectors, rule):
        joined = np.unique(labels[np.append(neighbours, row)])
        if len(joined) > 1:
            labels[np.isin(labels, joined)] = joined[0]
    rows_of = defaultdict(list)
    for row, label in enumerate(labels.tolist()):
        rows_of[label].append(row)
    return list(rows_of.values())


def _neighbours(episodes: Sequence[Episode], vectors: Vectors, rule: Rule) -> Iterator[tuple[int, NDArray[np.intp]]]:
    """Each row with the later rows that it joins, one block of similarities at a time."""
    carriers = _carriers(episodes)
    for start in range(0, len(episodes), BLOCK_ROWS):
        cosines = vectors[start : start + BLOCK_ROWS] @ vectors[start:].T
        band = (cosines >= rule.cosine_min - TOLERANCE) & (cosines < rule.cosine_max - TOLERANCE)
        for offset, in_band in enumerate(band):
            row = start + offset
            sharing = np.zeros(len(episodes), dtype=bool)
            for entity in episodes[row].entities:
                sharing[carriers[entity]] = True
            later = np.flatnonzero(in_band[offset + 1 :] & sharing[row + 1 :])
            if later.size:
                yield row, later + row + 1


def _carriers(episodes: Sequence[Episode]) -> dict[Hashable, NDArray[np.intp]]:
    rows_of: defaultdict[Hashable, list[int]] = defaultdict(list)
    for row, episode in enumerate(episodes):
        for entity in episode.entities:
            rows_of[entity].append(row)
    return {entity: np.array(rows) for entity, rows in rows_of.items()}


def _cluster(members: Sequence[Episode], vectors: Vectors) -> Cluster:
    pairs = (vectors @ vectors.T)[np.triu_indices(len(members), k=1)]
    return Cluster(tuple(member.id for member in members), float(pairs.mean()), _shared_entities(members))


def _shared_entities(members: Sequence[Episode]) -> tuple[int | str, ...]:
    carriers = Counter(entity for member in members for entity in member.entities)
    shared = [entity for entity, count in carriers.items() if count > 1]
    return tuple(sorted(shared, key=lambda entity: (-carriers[entity], repr(entity))))
