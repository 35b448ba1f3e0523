"""How reports of use move a memory, and how far they can."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.ranking import ReinforcementRule, evidence, reinforcement_multiplier

sums = st.floats(min_value=0, allow_nan=False)


def test_no_evidence_is_exactly_one() -> None:
    assert reinforcement_multiplier(0, 0) == 1.0


@pytest.mark.behaviour("Z21")
@pytest.mark.parametrize(
    ("useful", "multiplier"), [(0.7, 1.07959), (1, 1.10397), (5, 1.26876), (13, 1.39586), (14, 1.4), (1000, 1.4)]
)
def test_useful_reports_raise_ever_more_slowly_up_to_a_limit(useful: float, multiplier: float) -> None:
    assert reinforcement_multiplier(useful, 0) == pytest.approx(multiplier, abs=5e-6)


@pytest.mark.behaviour("Z21")
def test_no_amount_of_praise_passes_the_limit() -> None:
    useful = evidence(10_000, [1.0] * 500)
    assert useful == 10_500
    assert reinforcement_multiplier(useful, 0) == 1.4


@pytest.mark.behaviour("Z22")
def test_a_judge_alone_raises_less_than_one_direct_report() -> None:
    judged = reinforcement_multiplier(evidence(0, [0.7]), 0)
    assert judged == pytest.approx(1.07959, abs=5e-6)
    assert 1 < judged < reinforcement_multiplier(evidence(1, []), 0)


@pytest.mark.behaviour("Z22")
def test_a_judge_counts_from_six_tenths() -> None:
    assert evidence(0, [0.59]) == 0
    assert evidence(0, [0.60]) == 0.60
    assert evidence(2, [0.59, 0.6, 0.9]) == pytest.approx(3.5)


@pytest.mark.behaviour("Z23")
@pytest.mark.parametrize(
    ("misled", "multiplier"), [(0.7, 0.86734), (1, 0.82671), (3, 0.65343), (7, 0.5), (1e6, 0.5), (math.inf, 0.5)]
)
def test_misled_reports_lower_down_to_a_floor(misled: float, multiplier: float) -> None:
    assert reinforcement_multiplier(0, misled) == pytest.approx(multiplier, abs=5e-6)


@pytest.mark.behaviour("Z24")
@pytest.mark.parametrize(("useful", "misled", "multiplier"), [(5, 1, 1.09548), (3, 3, 0.86137)])
def test_praise_and_doubt_meet_in_between(useful: float, misled: float, multiplier: float) -> None:
    mixed = reinforcement_multiplier(useful, misled)
    assert mixed == pytest.approx(multiplier, abs=5e-6)
    assert 0.5 < mixed < reinforcement_multiplier(useful, 0)


@pytest.mark.behaviour("Z25")
@given(useful=sums, misled=sums)
def test_a_memory_promoted_to_a_rule_has_six_tenths_whatever_its_signals(useful: float, misled: float) -> None:
    assert reinforcement_multiplier(useful, misled, promoted=True) == 0.6


@pytest.mark.behaviour("Z29")
@given(useful=sums, misled=sums, promoted=st.booleans())
def test_every_multiplier_is_above_zero_and_at_most_two(useful: float, misled: float, promoted: bool) -> None:
    assert 0 < reinforcement_multiplier(useful, misled, promoted=promoted) <= 2


@given(useful=sums, misled=sums, more=sums)
def test_more_praise_never_lowers_and_more_doubt_never_raises(useful: float, misled: float, more: float) -> None:
    here = reinforcement_multiplier(useful, misled)
    assert reinforcement_multiplier(useful + more, misled) >= here
    assert reinforcement_multiplier(useful, misled + more) <= here


@pytest.mark.parametrize(("useful", "misled"), [(-1, 0), (0, -0.1), (math.nan, 0), (0, math.nan)])
def test_senseless_evidence_is_refused(useful: float, misled: float) -> None:
    with pytest.raises(ValueError, match="negative"):
        reinforcement_multiplier(useful, misled)


def test_the_constants_can_be_configured() -> None:
    strict = ReinforcementRule(judge_minimum=0.8, boost=0.1, penalty=0.5, promoted=0.4)
    assert evidence(0, [0.7, 0.9], constants=strict) == 0.9
    assert reinforcement_multiplier(1, 0, constants=strict) == pytest.approx(1 + 0.1 * math.log(2))
    assert reinforcement_multiplier(0, 1, constants=strict) == pytest.approx(1 - 0.5 * math.log(2))
    assert reinforcement_multiplier(0, 0, promoted=True, constants=strict) == 0.4
