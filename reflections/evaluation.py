"""How well a band of similarity tells episodes of one matter from others, and copies from both.

Pure: labelled episodes with vectors in, figures out.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reflections.clustering import Episode, Rule, find_clusters

MINIMA: Final = (0.50, 0.55, 0.60, 0.62, 0.65, 0.68, 0.70, 0.75, 0.78, 0.80, 0.85)
MAXIMA: Final = (0.86, 0.88, 0.90, 0.92, 0.94, 0.95, 0.96, 0.97, 0.98)
EDITED_COPIES: Final = 200


@dataclass(frozen=True, slots=True, eq=False)
class Labelled:
    """An episode that belongs with those that share a *matter* with it, and says the same as its *twins*.

    An empty twin belongs with nothing. Episodes of different *places* are never compared. A *piece* of work is told by
    other labels than matters are: an episode has one of the two.
    """

    id: str
    created_at: datetime
    content: str
    entities: frozenset[str]
    matters: frozenset[str] = frozenset()
    twin: str = ""
    place: str = ""
    piece: str = ""


@dataclass(frozen=True, slots=True)
class Pairs:
    """Cosines of the pairs that share an entity, by what the pair is."""

    related: NDArray[np.float64]
    other: NDArray[np.float64]
    twins: NDArray[np.float64]


@dataclass(slots=True)
class ClusterFigures:
    """``pure`` counts clusters in which at least half of all pairs are related or twins."""

    clusters: int = 0
    members: int = 0
    pure: int = 0
    full: int = 0
    purities: list[float] = field(default_factory=list)

    @property
    def purity(self) -> float:
        return float(np.mean(self.purities)) if self.purities else float("nan")


def places(labelled: Iterable[Labelled]) -> dict[str, list[int]]:
    rows: dict[str, list[int]] = {}
    for row, episode in enumerate(labelled):
        rows.setdefault(episode.place, []).append(row)
    return rows


def compare(labelled: Sequence[Labelled], vectors: NDArray[np.floating]) -> Pairs:
    cosines: dict[str, list[float]] = {"related": [], "other": [], "twins": []}
    for rows in places(labelled).values():
        for one, other, cosine in _sharing(labelled, vectors, rows):
            cosines[_relation(labelled[one], labelled[other])].append(cosine)
    return Pairs(**{name: np.array(values) for name, values in cosines.items()})


def _sharing(
    labelled: Sequence[Labelled], vectors: NDArray[np.floating], rows: Sequence[int]
) -> Iterator[tuple[int, int, float]]:
    near = vectors[rows] @ vectors[rows].T
    for (first, one), (second, other) in combinations(enumerate(rows), 2):
        if labelled[one].entities & labelled[other].entities:
            yield one, other, float(near[first, second])


def _relation(one: Labelled, other: Labelled) -> str:
    if one.twin and one.twin == other.twin:
        return "twins"
    return "related" if one.matters & other.matters else "other"


@dataclass(frozen=True, slots=True)
class Cut:
    """Of the pairs at or above ``minimum``: the share that is related, and the share of related pairs found."""

    minimum: float
    precision: float
    recall: float

    @property
    def f_half(self) -> float:
        """F-measure that weighs precision twice as much as recall: a wrong cluster costs a person's time."""
        if not self.precision + self.recall:
            return 0.0
        return 1.25 * self.precision * self.recall / (0.25 * self.precision + self.recall)


def cut(pairs: Pairs, minimum: float, maximum: float) -> Cut:
    """Within the band only, and without twins: they are told apart by the upper end."""
    right = int(np.count_nonzero((pairs.related >= minimum) & (pairs.related < maximum)))
    wrong = int(np.count_nonzero((pairs.other >= minimum) & (pairs.other < maximum)))
    found = right + wrong
    return Cut(minimum, right / found if found else 0.0, right / len(pairs.related) if len(pairs.related) else 0.0)


def above(cosines: NDArray[np.floating], bound: float) -> float:
    """The share of pairs at or above *bound*; not a number where there are none."""
    return float(np.mean(cosines >= bound)) if len(cosines) else float("nan")


def clusters(labelled: Sequence[Labelled], vectors: NDArray[np.floating], rule: Rule) -> ClusterFigures:
    """What a run with this rule would propose from an empty queue."""
    figures = ClusterFigures()
    for rows in places(labelled).values():
        episodes = [Episode(row, labelled[row].created_at, vectors[row], labelled[row].entities) for row in rows]
        for cluster in find_clusters(episodes, rule):
            _count(figures, [labelled[int(str(member))] for member in cluster.members], rule)
    return figures


def _count(figures: ClusterFigures, members: Sequence[Labelled], rule: Rule) -> None:
    related = [_relation(one, other) != "other" for one, other in combinations(members, 2)]
    purity = sum(related) / len(related)
    figures.clusters += 1
    figures.members += len(members)
    figures.full += len(members) == rule.max_members
    figures.pure += purity >= 0.5
    figures.purities.append(purity)


def edited_copies(labelled: Sequence[Labelled]) -> list[tuple[int, str]]:
    """What an amended and a re-applied message look like: rows spread over all episodes of four lines or more."""
    rows = [row for row, episode in enumerate(labelled) if episode.content.count("\n") >= 3]
    spread = rows[:: max(1, len(rows) // EDITED_COPIES)]
    without_last_line = [(row, labelled[row].content.rsplit("\n", 1)[0]) for row in spread]
    under_another_title = [(row, f"Backport: {labelled[row].content}") for row in spread]
    return without_last_line + under_another_title
