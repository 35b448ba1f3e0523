"""The one age function and the table of kinds."""

import math
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.ranking import (
    CURVES,
    KIND_DEFAULTS,
    KINDS,
    SMALLEST_FACTOR,
    UNKNOWN_RULE,
    age_factor,
    age_in_days,
    is_faded,
)

NOW = datetime(2030, 5, 17, 12, 30, tzinfo=UTC)
HALF_LIVES = {
    "decision": 3650,
    "convention": 3650,
    "preference": 1825,
    "reference": 1825,
    "gotcha": 1095,
    "fact": 365,
    "episode": 30,
    "task": 14,
    "open-question": 14,
}

ages = st.floats(allow_nan=False, allow_infinity=False)
half_lives = st.floats(min_value=0, exclude_min=True, allow_nan=False, allow_infinity=False)
curves = st.sampled_from(CURVES)


@pytest.mark.behaviour("Z1")
@pytest.mark.parametrize(("kind", "half_life"), HALF_LIVES.items())
@pytest.mark.parametrize("age", [0, 0.25, 1, 12, 30, 180, 365, 3650])
def test_each_kind_ages_by_two_to_the_minus_age_over_its_half_life(kind: str, half_life: float, age: float) -> None:
    assert KIND_DEFAULTS[kind].half_life_days == half_life
    assert age_factor(age, KIND_DEFAULTS[kind].half_life_days) == pytest.approx(2 ** (-age / half_life), abs=1e-9)


@pytest.mark.behaviour("Z1")
def test_an_unknown_kind_ages_over_a_year() -> None:
    assert UNKNOWN_RULE.half_life_days == 365
    assert age_factor(365, UNKNOWN_RULE.half_life_days) == pytest.approx(0.5, abs=1e-9)


def test_there_are_nine_kinds_in_their_documented_order() -> None:
    assert tuple(HALF_LIVES) == KINDS


def test_every_kind_starts_on_the_exponential_curve() -> None:
    assert {rule.curve for rule in KIND_DEFAULTS.values()} == {"exponential"}


@pytest.mark.behaviour("F15")
@given(age=ages, half_life=half_lives, curve=curves)
def test_the_factor_is_finite_and_between_zero_and_one(age: float, half_life: float, curve: str) -> None:
    factor = age_factor(age, half_life, curve)
    assert math.isfinite(factor)
    assert 0 <= factor <= 1


@pytest.mark.behaviour("F15")
@given(one=ages, other=ages, half_life=half_lives, curve=curves)
def test_an_older_memory_never_weighs_more(one: float, other: float, half_life: float, curve: str) -> None:
    younger, older = sorted((one, other))
    assert age_factor(older, half_life, curve) <= age_factor(younger, half_life, curve)


@pytest.mark.behaviour("F15")
@pytest.mark.parametrize("half_life", [5e-324, 1e-9, 1, 365, 1e9, 1.7e308])
@pytest.mark.parametrize("curve", CURVES)
def test_the_factor_falls_from_one_through_a_half_over_the_listed_ages(half_life: float, curve: str) -> None:
    listed = [-3650, -1 / 86400, 0, half_life, 36500 + half_life]
    factors = [age_factor(age, half_life, curve) for age in listed]
    assert factors[:4] == [1, 1, 1, 0.5]
    assert 0 <= factors[4] <= 0.5


@pytest.mark.behaviour("F15")
@pytest.mark.parametrize("half_life", [0, -0.0, -1, math.nan, math.inf, -math.inf])
def test_a_senseless_half_life_is_refused_with_a_sentence(half_life: float) -> None:
    with pytest.raises(ValueError, match="half-life must be a positive number of days"):
        age_factor(1, half_life)


@pytest.mark.behaviour("F15")
def test_a_missing_half_life_is_never_read_as_a_number() -> None:
    with pytest.raises(TypeError):
        age_factor(1, None)  # type: ignore[arg-type]  # a null from outside the type checker's sight


def test_an_age_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="age must be a number"):
        age_factor(math.nan, 30)


def test_an_unknown_curve_is_refused() -> None:
    with pytest.raises(ValueError, match="one of exponential, linear"):
        age_factor(1, 30, "quadratic")


@pytest.mark.parametrize(("age", "exponential", "linear"), [(0, 1, 1), (45, 0.5, 0.5), (90, 0.25, 0), (180, 0.0625, 0)])
def test_the_linear_curve_meets_the_exponential_at_one_half_life(age: float, exponential: float, linear: float) -> None:
    assert age_factor(age, 45) == pytest.approx(exponential, abs=1e-9)
    assert age_factor(age, 45, "linear") == pytest.approx(linear, abs=1e-9)


def test_an_exponential_factor_never_reaches_zero() -> None:
    assert age_factor(1e300, 1e-300) == SMALLEST_FACTOR > 0


@pytest.mark.parametrize("curve", CURVES)
def test_a_memory_has_faded_once_it_is_older_than_its_half_life(curve: str) -> None:
    assert not is_faded(30, 30)
    assert age_factor(30, 30, curve) == 0.5
    assert is_faded(30.001, 30)
    assert age_factor(30.001, 30, curve) < 0.5


def test_age_counts_days_and_their_parts() -> None:
    assert age_in_days(NOW - timedelta(days=12, hours=6), NOW) == 12.25


def test_a_date_in_the_future_is_age_zero() -> None:
    assert age_in_days(NOW + timedelta(days=400), NOW) == 0


def test_age_is_the_same_in_every_time_zone() -> None:
    created = (NOW - timedelta(days=3)).astimezone(timezone(timedelta(hours=13)))
    assert age_in_days(created, NOW) == 3
