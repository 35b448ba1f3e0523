"""Clusters: episodes that are similar, but no copies of one another, and speak of the same thing.

The less time lies between two episodes, the less alike they need to be: what is written within hours is mostly of one
piece of work, and what comes back after months must be told in nearly the same words. A group must be so on the whole
(average linkage), not through a chain of neighbours.

Pure: vectors in, ids out. The caller passes the episodes of one owner and one scope at a time, and leaves out those
that already belong to a candidate; nothing here could tell.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from reflections.linking import average_linked

type Vectors = NDArray[np.float64]

BLOCK_ROWS: Final = 512  # similarities held at once: this many rows by all episodes, 20 MB for 5,000
# Vectors come from a single-precision column. Rounding moves a cosine by up to about 1e-7, so a pair written at exactly
# .78 may be read back as .77999997. Both ends of the band are shifted by more than that, and by less than could matter.
TOLERANCE: Final = 1e-6
# Two of one instant carry a date without a time of day, or were stored in one batch: how near they are, nobody knows.
HOURS_AT_ONE_INSTANT: Final = 24.0
MOST_LINKED: Final = 1500  # of more episodes joined through one another, groups are looked for among the newest


@dataclass(frozen=True, slots=True, eq=False)
class Episode:
    id: UUID | str | int
    created_at: datetime
    vector: NDArray[np.floating]
    entities: frozenset[int | str]


@dataclass(frozen=True, slots=True)
class Rule:
    """Two episodes join when they share an entity and ``cosine_min`` ≤ cosine < ``cosine_max``.

    Those written within ``work_minutes`` need only ``work_cosine``, and ``work_step`` more for each tenfold time
    between them, until ``cosine_min`` is reached.
    """

    cosine_min: float = 0.78
    cosine_max: float = 0.92
    min_members: int = 3
    max_members: int = 10
    work_minutes: float = 12
    work_cosine: float = 0.24
    work_step: float = 0.30
    share_entity: bool = True


@dataclass(frozen=True, slots=True)
class Cluster:
    """Members oldest first; the mean cosine of all their pairs; the entities that at least two of them carry, the most
    widely carried first."""

    members: tuple[UUID | str | int, ...]
    similarity_mean: float
    shared_entities: tuple[int | str, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """``too_small`` counts groups of two and more that are below ``min_members``."""

    clusters: list[Cluster]
    too_small: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class _Known:
    """Episodes that could join, oldest first: rows of ``vectors``, at so many ``hours`` since the epoch."""

    episodes: Sequence[Episode]
    vectors: Vectors
    hours: NDArray[np.float64]

    @classmethod
    def of(cls, episodes: Sequence[Episode]) -> _Known:
        hours = np.array([episode.created_at.timestamp() / 3600 for episode in episodes])
        return cls(episodes, _unit_vectors(episodes), hours)

    def only(self, rows: NDArray[np.intp]) -> _Known:
        return _Known([self.episodes[row] for row in rows], self.vectors[rows], self.hours[rows])


def find_clusters(episodes: Sequence[Episode], rule: Rule) -> list[Cluster]:
    return look_for_clusters(episodes, rule).clusters


def look_for_clusters(episodes: Sequence[Episode], rule: Rule) -> Found:
    """Groups of at least ``min_members``, each cut to its newest ``max_members``; newest cluster first.

    Two groups are one when the cosine of their pairs is on the mean at least what these pairs need, and a pair joins.
    Copies neither join nor count: that two are the same says nothing of whether others belong to them. The order of
    *episodes* does not matter. Vectors must have one length (ValueError otherwise); a zero vector has cosine 0 with
    everything.
    """
    in_time = sorted(episodes, key=_in_time)
    able = _that_could_join(in_time) if rule.share_entity else in_time
    if len(able) < min(2, rule.min_members):
        return Found([])
    known = _Known.of(able)
    groups = [group for component in _components(known, rule) for group in _groups(known, component, rule)]
    found = [rows[-rule.max_members :] for rows in groups if len(rows) >= rule.min_members]
    found.sort(key=lambda rows: rows[-1], reverse=True)
    clusters = [_cluster([known.episodes[row] for row in rows], known.vectors[rows]) for rows in found]
    return Found(clusters, too_small=sum(1 < len(rows) < rule.min_members for rows in groups))


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


def _groups(known: _Known, component: Sequence[int], rule: Rule) -> list[list[int]]:
    """Rows of each group in a component; every group has pairs that join, so it lies within one."""
    rows = np.array(component[-MOST_LINKED:])
    if len(rows) < min(2, rule.min_members):
        return []
    part = known.only(rows)
    cosines = part.vectors @ part.vectors.T
    margins = cosines - _needed(part, slice(None), slice(None), rule) + TOLERANCE
    unlike = cosines < rule.cosine_max - TOLERANCE
    joins = unlike & (margins >= 0)
    if rule.share_entity:
        joins &= _sharing(part.episodes)
    return [rows[group].tolist() for group in average_linked(margins.astype(np.float32), unlike, joins)]


def _sharing(episodes: Sequence[Episode]) -> NDArray[np.bool_]:
    sharing = np.zeros((len(episodes), len(episodes)), dtype=bool)
    for rows in _carriers(episodes).values():
        sharing[np.ix_(rows, rows)] = True
    return sharing


def _needed(known: _Known, some: slice, others: slice, rule: Rule) -> Vectors:
    """The least cosine of each pair of *some* rows with *others*."""
    apart = np.abs(known.hours[some, None] - known.hours[None, others])
    apart[apart == 0] = HOURS_AT_ONE_INSTANT
    apart *= 60 / rule.work_minutes
    near: Vectors = rule.work_cosine + rule.work_step * np.log10(np.maximum(apart, 1.0))
    return np.minimum(near, rule.cosine_min)


def _components(known: _Known, rule: Rule) -> list[list[int]]:
    """Rows of each connected component, oldest first. A component is labelled by its first row."""
    labels = np.arange(len(known.episodes))
    for row, neighbours in _neighbours(known, rule):
        joined = np.unique(labels[np.append(neighbours, row)])
        if len(joined) > 1:
            labels[np.isin(labels, joined)] = joined[0]
    rows_of = defaultdict(list)
    for row, label in enumerate(labels.tolist()):
        rows_of[label].append(row)
    return list(rows_of.values())


def _neighbours(known: _Known, rule: Rule) -> Iterator[tuple[int, NDArray[np.intp]]]:
    """Each row with the later rows that it joins, one block of similarities at a time."""
    episodes, carriers = known.episodes, _carriers(known.episodes)
    for start in range(0, len(episodes), BLOCK_ROWS):
        some, others = slice(start, start + BLOCK_ROWS), slice(start, None)
        cosines = known.vectors[some] @ known.vectors[others].T
        joins = cosines >= _needed(known, some, others, rule) - TOLERANCE
        joins &= cosines < rule.cosine_max - TOLERANCE
        for offset, joined in enumerate(joins):
            row = start + offset
            sharing = np.full(len(episodes), not rule.share_entity)
            for entity in episodes[row].entities:
                sharing[carriers[entity]] = True
            later = np.flatnonzero(joined[offset + 1 :] & sharing[row + 1 :])
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
