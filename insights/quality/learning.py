"""Weights of the log-linear fusion, learned from questions whose answers are known.

A conditional logit model: the chance that candidate i of a question is what was looked for is exp(w·xᵢ) / Σⱼ exp(w·xⱼ).
Where several are right, each is wanted equally. Fitted by Newton's method on the mean log-likelihood with a ridge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from typing import Final

import numpy as np
from numpy.typing import NDArray

from insights.quality.datasets import Query
from insights.quality.harness import Asked, Bench
from memories.fusion import FEATURES, Weights, feature_rows

RIDGE: Final = 1e-3
MOST_STEPS: Final = 50
CLOSE_ENOUGH: Final = 1e-6
# No set of questions asks for these often enough to learn them from; they keep the weight they have.
FIXED: Final = frozenset({"identifier"})

type Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Sample:
    """One question: ``features``, a row a candidate and a column a name of FEATURES; ``wanted`` adds up to 1."""

    features: Numbers
    wanted: Numbers


def samples(bench: Bench, chosen: Callable[[Query], bool] = lambda _: True) -> list[Sample]:
    """A sample of each question of which the search found a right answer at all."""
    every = (_sample(bench, asked) for asked in bench.asked if chosen(asked.query))
    return [sample for sample in every if sample is not None]


def _sample(bench: Bench, asked: Asked) -> Sample | None:
    found = bench.searched(asked)
    right = np.array([bench.corpus.documents[hit.id] in asked.query.gold for hit in found.candidates], dtype=np.float64)  # type: ignore[index]  # ids of stored memories are UUIDs
    if not right.any():
        return None
    rows = feature_rows(found.candidates, bench.fusion, found.background)
    return Sample(np.array([[row[name] for name in FEATURES] for row in rows]), right / right.sum())


def first_half(query: Query, corpora: int) -> bool:
    """Whether a question belongs to the half that is learned from: by corpus where there are several, so that no
    question of a conversation is learned from when another of it is measured."""
    return sha256((query.corpus if corpora > 1 else query.id).encode()).digest()[-1] % 2 == 0


def learned(sets: Sequence[Sequence[Sample]], start: Weights) -> Weights:
    """The weights that make the right answers of all *sets* likeliest, every set counting alike.

    Raises ValueError where there is nothing to learn from.
    """
    several = [samples for samples in sets if samples]
    if not several:
        raise ValueError("There is no question with an answer that the search found.")
    weighed = [(sample, 1 / (len(several) * len(samples))) for samples in several for sample in samples]
    values = np.array(list(asdict(start).values()), dtype=np.float64)
    free = np.array([name not in FIXED for name in FEATURES])
    free &= np.array([any(np.ptp(sample.features[:, at]) > 0 for sample, _ in weighed) for at in range(len(FEATURES))])
    for _ in range(MOST_STEPS):
        step = _newton_step(weighed, values, free)
        values[free] -= step
        if np.abs(step).max() < CLOSE_ENOUGH:
            break
    return replace(start, **dict(zip(FEATURES, values.tolist(), strict=True)))


def _newton_step(weighed: Iterable[tuple[Sample, float]], values: Numbers, free: NDArray[np.bool_]) -> Numbers:
    """Hessian⁻¹ · gradient of the negative log-likelihood over the weights that are free."""
    gradient = 2 * RIDGE * values[free]
    hessian = 2 * RIDGE * np.eye(int(free.sum()))
    for sample, weight in weighed:
        rows = sample.features[:, free]
        chance = _softmax(sample.features @ values)
        expected = chance @ rows
        gradient += weight * (expected - sample.wanted @ rows)
        hessian += weight * ((rows * chance[:, None]).T @ rows - np.outer(expected, expected))
    return np.linalg.solve(hessian, gradient)


def _softmax(scores: Numbers) -> Numbers:
    raised = np.exp(scores - scores.max())
    total: Numbers = raised / raised.sum()
    return total
