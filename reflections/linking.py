"""Average linkage: groups that are near on the whole, and not merely at one pair."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

type Numbers = NDArray[np.float32]
type Flags = NDArray[np.bool_]

_NEVER: Final = np.float32(-np.inf)


def average_linked(margins: Numbers, counted: Flags, joins: Flags) -> list[list[int]]:
    """Rows by group. The nearest two groups merge while the mean of *margins* over their *counted* pairs is at least 0
    and one of their pairs *joins*.

    All three are square and symmetric; what they say of a row and itself does not matter.
    """
    totals, counts, may = np.where(counted, margins, np.float32(0)), counted.astype(np.float32), joins.copy()
    np.fill_diagonal(may, False)
    near = _means(totals, counts, may)
    groups = [[row] for row in range(len(near))]
    nearest = near.argmax(axis=1)
    while True:
        one = int(near[np.arange(len(near)), nearest].argmax())
        other = int(nearest[one])
        if near[one, other] < 0:
            return [sorted(group) for group in groups if group]
        groups[one] += groups[other]
        groups[other] = []
        for sums in (totals, counts):
            sums[one] += sums[other]
            sums[:, one] = sums[one]
        may[one] |= may[other]
        may[:, one] = may[one]
        may[other] = may[:, other] = may[one, one] = False
        near[other] = near[:, other] = _NEVER
        near[one] = near[:, one] = _means(totals[one], counts[one], may[one])
        _look_again(near, nearest, one, other)


def _means(totals: Numbers, counts: Numbers, may: Flags) -> Numbers:
    means = np.full_like(totals, _NEVER)
    np.divide(totals, counts, out=means, where=may & (counts > 0))
    return means


def _look_again(near: Numbers, nearest: NDArray[np.intp], one: int, other: int) -> None:
    """What is nearest to each row, after *other* went into *one*."""
    rows = np.arange(len(near))
    gained = near[:, one] > near[rows, nearest]
    nearest[gained] = one
    stale = np.isin(nearest, (one, other)) & ~gained
    stale[one] = True
    nearest[stale] = near[stale].argmax(axis=1)
