"""The clock of a decaying scope."""

import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.retention import (
    RetentionRule,
    confidence_factor,
    hours_kept,
    in_hours,
    known_confidence,
    lower_of,
    runs,
    summarises,
    weight,
)

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
DAY = 24.0


@pytest.mark.behaviour("G2")
@pytest.mark.parametrize(("days", "left"), [(0, 1.0), (7, 0.8507), (30, 0.5), (60, 0.25), (90, 0.125)])
def test_a_weight_halves_every_thirty_days(days: float, left: float) -> None:
    assert weight(1.0, days * DAY, 720) == pytest.approx(left, rel=1e-4)


@pytest.mark.behaviour("G6")
def test_at_199_days_it_is_above_the_floor_and_at_200_below() -> None:
    rule = RetentionRule()

    assert weight(1.0, 199 * DAY, rule.half_life_hours) == pytest.approx(0.01007, abs=5e-6)
    assert weight(1.0, 200 * DAY, rule.half_life_hours) == pytest.approx(0.00984, abs=5e-6)
    assert weight(1.0, 200 * DAY, rule.half_life_hours) < rule.floor


@pytest.mark.behaviour("G6")
def test_with_twice_the_half_life_it_is_kept_twice_as_long() -> None:
    assert hours_kept(1.0, RetentionRule(half_life_hours=1440)) / DAY == pytest.approx(398.6, abs=0.05)
    assert hours_kept(1.0, RetentionRule()) / DAY == pytest.approx(199.3, abs=0.05)


def test_what_lies_below_the_floor_is_kept_no_longer() -> None:
    assert hours_kept(0.009, RetentionRule()) == 0


@pytest.mark.parametrize("half_life", [0, -1, math.inf, math.nan])
def test_a_half_life_that_is_none_is_refused(half_life: float) -> None:
    with pytest.raises(ValueError, match="half-life"):
        weight(1.0, 1, half_life)


def test_a_thousand_half_lives_and_more_do_not_underflow() -> None:
    assert weight(1.0, 1e300, 1) > 0


@given(st.floats(0, 1), st.floats(0, 1e7), st.floats(0, 1e7), st.floats(1, 876_000))
def test_a_weight_never_rises_and_a_second_look_in_the_same_instant_changes_nothing(
    stored: float, hours: float, more: float, half_life: float
) -> None:
    once = weight(stored, hours, half_life)

    assert once <= stored
    assert weight(once, hours, half_life) == once
    assert weight(once, hours + more, half_life) <= once
    assert weight(once, 0, half_life) == once, "an access does not raise it"


def test_hours_since_an_access_in_the_future_are_none() -> None:
    assert in_hours(NOON + timedelta(hours=1), NOON) == 0
    assert in_hours(NOON - timedelta(days=1), NOON) == 24


@pytest.mark.behaviour("G8")
@pytest.mark.parametrize(("count", "works", "sums_up"), [(19, False, False), (20, True, False), (21, True, True)])
def test_a_cycle_runs_from_the_threshold_on_and_summarises_above_it(count: int, works: bool, sums_up: bool) -> None:
    assert runs(count, RetentionRule()) is works
    assert summarises(count, RetentionRule()) is sums_up


@pytest.mark.behaviour("G37")
@pytest.mark.parametrize(
    ("said", "counts_as"),
    [
        ("", "inferred"),
        ("verified", "verified"),
        (" Verified ", "verified"),
        ("inferred", "inferred"),
        ("sure", "unverified"),
    ],
)
def test_no_confidence_is_inferred_and_an_unknown_word_unverified(said: str, counts_as: str) -> None:
    assert known_confidence(said) == counts_as


@pytest.mark.behaviour("G37")
def test_confidence_moves_a_score_by_no_more_than_its_weight() -> None:
    assert [confidence_factor(label, 0.5) for label in ("verified", "inferred", "unverified")] == [1.5, 1.0, 0.5]
    assert {confidence_factor(label, 0) for label in ("verified", "inferred", "unverified")} == {1.0}


def test_of_several_labels_the_least_sure_counts() -> None:
    assert lower_of("verified", "inferred") == "inferred"
    assert lower_of("verified", "unverified", "inferred") == "unverified"
