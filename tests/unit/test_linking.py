"""Groups that are near on the whole."""

import numpy as np
import pytest

from reflections.linking import average_linked


def square(count: int, pairs: dict[tuple[int, int], float], otherwise: float) -> np.ndarray:
    values = np.full((count, count), otherwise, dtype=np.float32)
    for (one, other), value in pairs.items():
        values[one, other] = values[other, one] = value
    return values


def everything(count: int) -> np.ndarray:
    return np.ones((count, count), dtype=bool)


def test_what_is_near_is_one_group_and_what_is_far_another() -> None:
    margins = square(4, {(0, 1): 0.3, (2, 3): 0.2}, otherwise=-0.5)
    assert average_linked(margins, everything(4), margins >= 0) == [[0, 1], [2, 3]]


def test_nothing_is_no_group_and_one_is_one() -> None:
    assert average_linked(np.zeros((1, 1), dtype=np.float32), everything(1), everything(1)) == [[0]]


@pytest.mark.parametrize(("outer", "groups"), [(-0.09, [[0, 1, 2]]), (-0.11, [[0, 1], [2]])])
def test_a_third_joins_where_it_is_near_both_on_the_mean(outer: float, groups: list[list[int]]) -> None:
    margins = square(3, {(0, 1): 0.3, (1, 2): 0.1}, otherwise=outer)
    assert average_linked(margins, everything(3), margins >= 0) == groups


def test_pairs_that_do_not_count_are_left_out_of_the_mean() -> None:
    margins = square(3, {(0, 1): 0.3, (1, 2): 0.1}, otherwise=-0.9)
    counted = square(3, {(0, 2): 0}, otherwise=1) > 0
    assert average_linked(margins, counted, margins >= 0) == [[0, 1, 2]]


def test_two_groups_without_a_pair_that_joins_stay_apart_however_near() -> None:
    margins = square(2, {}, otherwise=0.5)
    assert average_linked(margins, everything(2), ~everything(2)) == [[0], [1]]


def test_the_nearest_are_merged_first() -> None:
    margins = square(3, {(0, 1): 0.1, (1, 2): 0.4}, otherwise=-0.3)
    assert average_linked(margins, everything(3), margins >= 0) == [[0], [1, 2]]
