"""How well a rule tells pairs of one piece of work from other pairs of one owner's episodes.

Pure: labelled episodes with vectors in, figures out.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from math import comb, isnan
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reflections.clustering import Episode, Rule, find_clusters
from reflections.evaluation import Labelled, places

DRAWS: Final = 1000
SEED: Final = 1


@dataclass(frozen=True, slots=True)
class Joined:
    """Of one owner: pairs in one cluster that are of one piece, pairs that are not, and all pairs that are of one."""

    right: int
    wrong: int
    wanted: int
    clusters: int = 0
    episodes: int = 0


@dataclass(frozen=True, slots=True)
class Share:
    """With the bounds of its 95 % bootstrap interval over owners; not a number where there is nothing to divide by."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        if isnan(self.value):
            return "none"
        return f"{self.value:.3f} ({self.low:.2f} to {self.high:.2f})"


def whole(rule: Rule, episodes: int) -> Rule:
    """The same rule where pairs count as clusters and none is cut: what the rule says of every pair."""
    return replace(rule, min_members=2, max_members=max(2, episodes))


def joined(labelled: Sequence[Labelled], vectors: NDArray[np.floating], rule: Rule) -> list[Joined]:
    """One for each owner of two episodes or more."""
    return [_of_owner(labelled, vectors, rows, rule) for rows in places(labelled).values() if len(rows) > 1]


def _of_owner(labelled: Sequence[Labelled], vectors: NDArray[np.floating], rows: Sequence[int], rule: Rule) -> Joined:
    episodes = [Episode(row, labelled[row].created_at, vectors[row], labelled[row].entities) for row in rows]
    found = [[int(str(member)) for member in cluster.members] for cluster in find_clusters(episodes, rule)]
    right = sum(_of_one_piece(labelled, members) for members in found)
    pairs = sum(comb(len(members), 2) for members in found)
    return Joined(right, pairs - right, _of_one_piece(labelled, rows), len(found), sum(map(len, found)))


def _of_one_piece(labelled: Sequence[Labelled], rows: Iterable[int]) -> int:
    return sum(comb(count, 2) for count in Counter(labelled[row].piece for row in rows).values())


def precision(found: Sequence[Joined]) -> Share:
    return _share([one.right for one in found], [one.right + one.wrong for one in found])


def recall(found: Sequence[Joined]) -> Share:
    return _share([one.right for one in found], [one.wanted for one in found])


def _share(parts: Sequence[int], wholes: Sequence[int]) -> Share:
    values = np.array([parts, wholes], dtype=np.float64)
    drawn = np.random.default_rng(SEED).integers(len(parts), size=(DRAWS, len(parts)))
    sums = values[:, drawn].sum(axis=2)
    drawn_shares = sums[0][sums[1] > 0] / sums[1][sums[1] > 0]
    if not drawn_shares.size or not values[1].sum():
        return Share(float("nan"), float("nan"), float("nan"))
    low, high = np.percentile(drawn_shares, [2.5, 97.5])
    return Share(float(values[0].sum() / values[1].sum()), float(low), float(high))


def halves(labelled: Sequence[Labelled]) -> tuple[list[int], list[int]]:
    """Rows of the owners that thresholds may be chosen on, and of those they are measured on. Who talk to one another,
    as ``talk/owner`` says, are in one half."""
    first = {place: sha256(place.split("/")[0].encode()).digest()[-1] % 2 == 0 for place in places(labelled)}
    rows = range(len(labelled))
    return [row for row in rows if first[labelled[row].place]], [row for row in rows if not first[labelled[row].place]]
