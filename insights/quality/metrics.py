"""How well a ranking serves its question, and how sure we are of it. PURE.

Evidence either counts or does not, so every gain is 0 or 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

RESAMPLES: Final = 1000
CONFIDENCE: Final = 0.95
SEED: Final = 20_250_101
_RESAMPLES_A_BLOCK: Final = 100  # bounds the memory of a set of many questions


def recall_at(k: int, ranked: Sequence[str], gold: Collection[str]) -> float:
    """|gold ∩ first k| / |gold|."""
    return len(set(gold).intersection(ranked[:k])) / len(gold)


def ndcg_at(k: int, ranked: Sequence[str], gold: Collection[str]) -> float:
    """Σ over found evidence of 1 / log2(1 + place), over the same sum for a perfect ranking (Järvelin, Kekäläinen)."""
    found = math.fsum(_discount(place) for place, id in enumerate(ranked[:k], 1) if id in gold)
    return found / math.fsum(_discount(place) for place in range(1, min(k, len(gold)) + 1))


def reciprocal_rank(ranked: Sequence[str], gold: Collection[str]) -> float:
    """1 / place of the first evidence; 0 where none was found."""
    return next((1 / place for place, id in enumerate(ranked, 1) if id in gold), 0.0)


def _discount(place: int) -> float:
    return 1 / math.log2(1 + place)


type Metric = Callable[[Sequence[str], Collection[str]], float]

DEEPEST: Final = 10  # no metric looks further down
METRICS: Final[Mapping[str, Metric]] = MappingProxyType(
    {
        "R@5": partial(recall_at, 5),
        "R@8": partial(recall_at, 8),
        "R@10": partial(recall_at, 10),
        "nDCG@10": partial(ndcg_at, 10),
        "MRR": reciprocal_rank,
    }
)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over questions with the bounds of its 95 % bootstrap interval."""

    mean: float
    low: float
    high: float


type Values = NDArray[np.float64]


def values_of(ranked: Sequence[Sequence[str]], gold: Sequence[Collection[str]]) -> Values:
    """A row a question, a column a metric in the order of METRICS. A ranking names no document twice."""
    return np.array(
        [
            [metric(found[:DEEPEST], wanted) for metric in METRICS.values()]
            for found, wanted in zip(ranked, gold, strict=True)
        ],
        dtype=np.float64,
    ).reshape(len(ranked), len(METRICS))


def estimates(values: Values, *, resamples: int = RESAMPLES, seed: int = SEED) -> list[Estimate]:
    """One for each column of *values* (questions × columns). Raises ValueError where there is no question."""
    if not len(values):
        raise ValueError("There is nothing to estimate: no question was asked.")
    means = _resampled(values, resamples, seed)
    tail = 100 * (1 - CONFIDENCE) / 2
    low, high = np.percentile(means, [tail, 100 - tail], axis=0)
    return [
        Estimate(float(mean), float(below), float(above))
        for mean, below, above in zip(values.mean(axis=0), low, high, strict=True)
    ]


def difference(ours: Values, theirs: Values, *, resamples: int = RESAMPLES, seed: int = SEED) -> list[Estimate]:
    """Ours minus theirs, column by column. Paired: both rows of a question are drawn together."""
    if ours.shape != theirs.shape:
        raise ValueError("Two systems can be compared only over the same questions.")
    return estimates(ours - theirs, resamples=resamples, seed=seed)


def _resampled(values: Values, resamples: int, seed: int) -> Values:
    """Means of *resamples* draws of as many questions as there are, with replacement."""
    chance = np.random.default_rng(seed)
    sizes = (min(_RESAMPLES_A_BLOCK, resamples - done) for done in range(0, resamples, _RESAMPLES_A_BLOCK))
    return np.concatenate([_times_drawn(chance, size, len(values)) @ values / len(values) for size in sizes])


def _times_drawn(chance: np.random.Generator, resamples: int, questions: int) -> NDArray[np.intp]:
    """How often each question was drawn (resamples × questions)."""
    drawn = chance.integers(questions, size=(resamples, questions))
    apart = drawn + questions * np.arange(resamples)[:, np.newaxis]
    return np.bincount(apart.ravel(), minlength=resamples * questions).reshape(resamples, questions)
