"""From signals to a standing: what counts, how often, and for how long."""

from datetime import UTC, datetime, timedelta

import pytest

from memories.ranking import reinforcement_multiplier
from memories.reinforcement import Signal, standing

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def signal(source="direct", *, days=1, session="", **said) -> Signal:
    return Signal(at=NOW - timedelta(days=days), source=source, session=session, **(said or {"useful": True}))


def test_without_signals_a_memory_stands_at_neutral():
    found = standing([], now=NOW)
    assert found.is_neutral
    assert found.multiplier == 1.0


@pytest.mark.parametrize(
    ("useful", "misled", "multiplier"),
    [
        (1, 0, 1.10397), (5, 0, 1.26876), (13, 0, 1.39586), (14, 0, 1.4), (40, 0, 1.4),
        (0, 1, 0.82671), (0, 3, 0.65343), (0, 7, 0.5), (5, 1, 1.09548), (3, 3, 0.86137),
    ],
)  # fmt: skip
def test_reports_and_challenges_count_one_each(useful, misled, multiplier):
    signals = [signal() for _ in range(useful)] + [signal("challenge", misled=True) for _ in range(misled)]
    found = standing(signals, now=NOW)
    assert (found.useful, found.misled) == (useful, misled)
    assert found.multiplier == pytest.approx(multiplier, abs=5e-6)
    assert found.multiplier == reinforcement_multiplier(useful, misled)


@pytest.mark.behaviour("Z22", "Z23")
@pytest.mark.parametrize(("said", "multiplier"), [({"useful": True}, 1.07959), ({"misled": True}, 0.86734)])
def test_a_judge_counts_its_confidence_and_below_six_tenths_nothing(said, multiplier):
    assert standing([signal("judge", confidence=0.7, **said)], now=NOW).multiplier == pytest.approx(
        multiplier, abs=5e-6
    )
    assert standing([signal("judge", confidence=0.59, **said)], now=NOW).is_neutral


@pytest.mark.behaviour("Z28")
def test_one_session_counts_once_and_the_direct_report_wins():
    judged = signal("judge", session="s1", confidence=0.7, useful=True)
    assert standing([signal(session="s1"), judged], now=NOW).useful == 1
    assert standing([judged, judged], now=NOW).useful == 0.7
    assert standing([signal(session="s1"), signal(session="s1")], now=NOW).useful == 1
    assert standing([signal(session="s1"), signal(session="s2"), judged], now=NOW).useful == 2


def test_without_a_session_every_signal_stands_alone():
    assert standing([signal(), signal()], now=NOW).useful == 2


@pytest.mark.behaviour("Z26")
def test_what_is_older_than_the_window_drops_out():
    assert standing([signal(days=90)], now=NOW).useful == 1
    assert standing([signal(days=90.001)], now=NOW).is_neutral


@pytest.mark.behaviour("Z25")
def test_a_rule_stands_at_six_tenths_whatever_was_said():
    found = standing([signal() for _ in range(9)], now=NOW, promoted=True)
    assert found.multiplier == 0.6
    assert not standing([], now=NOW, promoted=True).is_neutral


def test_shown_and_not_used_says_nothing():
    assert standing([signal(useful=False) for _ in range(50)], now=NOW).is_neutral


@pytest.mark.parametrize(
    ("since", "misled"),
    [(["withdrawn"], 0), (["withdrawn", "reinstated"], 1), (["withdrawn", "reinstated", "withdrawn"], 0)],
)
def test_a_withdrawn_challenge_counts_no_more_until_it_is_reinstated(since, misled):
    signals = [signal("challenge", misled=True), *(signal(source, useful=False) for source in since)]
    assert standing(signals, now=NOW).misled == misled


def test_withdrawing_a_challenge_leaves_every_other_signal():
    signals = [signal("challenge", days=days, misled=True) for days in (1, 2)]
    signals += [signal("withdrawn", days=2, misled=False), signal("direct", days=2)]
    found = standing(signals, now=NOW)
    assert (found.useful, found.misled) == (1, 1)
