"""One session, one voice: who speaks for it, and what holds whatever was said."""

import random
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.ranking import ReinforcementRule
from memories.reinforcement import Outcome, Signal, outcomes, standing

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def signal(source="direct", *, hours=1, session="s1", **said) -> Signal:
    return Signal(at=NOW - timedelta(hours=hours), source=source, session=session, **(said or {"useful": True}))


def sums(*signals) -> tuple[float, float]:
    found = standing(signals, now=NOW)
    return found.useful, found.misled


def test_a_link_counts_like_a_report():
    assert sums(signal("link")) == (1, 0)
    assert sums(signal("link"), signal("link", hours=2)) == (1, 0)


@pytest.mark.behaviour("Z28")
def test_a_link_and_a_report_of_one_session_count_once_and_beat_the_judge():
    assert sums(signal("link"), signal()) == (1, 0)
    assert sums(signal("link"), signal("judge", misled=True, confidence=0.9)) == (1, 0)


def test_the_later_report_of_a_session_is_its_word():
    assert sums(signal(hours=2), signal(hours=1, misled=True)) == (0, 1)
    assert sums(signal(hours=1), signal(hours=2, misled=True)) == (1, 0)
    assert sums(signal(hours=2), signal(hours=1, useful=False)) == (0, 0)


def test_a_report_that_it_was_of_no_use_silences_link_and_judge():
    judged = signal("judge", useful=True, confidence=0.9)
    assert sums(signal(useful=False), signal("link"), judged) == (0, 0)


def test_a_challenge_is_taken_back_by_nothing_but_its_withdrawal():
    challenge = signal("challenge", hours=3, misled=True)
    assert sums(challenge, signal(hours=1), signal("link", hours=1)) == (0, 1)
    withdrawn = signal("withdrawn", hours=3, session="", useful=False)
    assert sums(challenge, withdrawn, signal(hours=1)) == (1, 0)


def test_a_judge_that_saw_it_mislead_does_not_praise_it_for_the_same_session():
    useful, misled = (signal("judge", confidence=c, **{name: True}) for c, name in ((0.95, "useful"), (0.7, "misled")))
    assert sums(useful, misled) == (0, 0.7)
    assert sums(useful, signal("judge", confidence=0.5, misled=True)) == (0.95, 0)


def test_every_signal_is_told_what_became_of_it():
    told = [
        signal(hours=24 * 91),
        signal("challenge", hours=5, session="s2", misled=True),
        signal("withdrawn", hours=5, session="", useful=False),
        signal("judge", session="s3", useful=True, confidence=0.5),
        signal(hours=3),
        signal("judge", useful=True, confidence=0.9),
    ]
    assert outcomes(told, now=NOW) == [
        Outcome.LEFT_WINDOW,
        Outcome.WITHDRAWN,
        Outcome.SAYS_NOTHING,
        Outcome.UNSURE,
        Outcome.COUNTS,
        Outcome.OUTSPOKEN,
    ]


signals = st.lists(
    st.builds(
        lambda hours, session, told: signal(hours=hours, session=session, **told),
        st.sampled_from([1, 2, 3, 24 * 30, 24 * 90, 24 * 91]),
        st.sampled_from(["", "s1", "s2", "s3"]),
        st.sampled_from(
            [
                {"source": "direct", "useful": True},
                {"source": "direct", "misled": True},
                {"source": "direct", "useful": False},
                {"source": "link", "useful": True},
                {"source": "challenge", "misled": True},
                {"source": "withdrawn", "useful": False},
                {"source": "reinstated", "useful": False},
                {"source": "judge", "useful": True, "confidence": 0.59},
                {"source": "judge", "useful": True, "confidence": 0.6},
                {"source": "judge", "useful": True, "confidence": 0.9},
                {"source": "judge", "misled": True, "confidence": 0.8},
            ]
        ),
    ),
    max_size=25,
)
rules = st.builds(
    ReinforcementRule,
    window_days=st.integers(1, 200),
    judge_minimum=st.floats(0, 1),
    boost=st.floats(0, 2),
    boost_limit=st.floats(1, 2),
    penalty=st.floats(0, 2),
    floor=st.floats(0.001, 1),
    promoted=st.floats(0.001, 2),
)


@pytest.mark.behaviour("Z29")
@given(signals, rules, st.booleans())
def test_whatever_is_said_the_multiplier_stays_within_its_bounds(told, constants, promoted):
    assert 0 < standing(told, now=NOW, constants=constants, promoted=promoted).multiplier <= 2


@given(signals, st.randoms(use_true_random=False))
def test_the_order_in_which_signals_are_read_says_nothing(told, chance: random.Random):
    mixed = chance.sample(told, len(told))
    assert standing(mixed, now=NOW) == standing(told, now=NOW)


@given(signals, rules)
def test_one_more_session_that_it_helped_never_lowers_and_one_that_it_misled_never_raises(told, constants):
    before = standing(told, now=NOW, constants=constants).multiplier
    helped = standing([*told, signal(session="new")], now=NOW, constants=constants).multiplier
    misled = standing([*told, signal(session="new", misled=True)], now=NOW, constants=constants).multiplier
    assert misled <= before <= helped


@given(signals)
def test_no_session_counts_for_more_than_one(told):
    found = standing(told, now=NOW)
    sessions = {one.session for one in told if one.session}
    assert found.useful + found.misled <= len(sessions) + sum(not one.session for one in told)


@given(signals)
def test_exactly_what_counts_is_what_it_stands_for(told):
    counted = [one for one, outcome in zip(told, outcomes(told, now=NOW), strict=True) if outcome == Outcome.COUNTS]
    assert standing(counted, now=NOW) == standing(told, now=NOW)
