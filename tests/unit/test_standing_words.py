"""What the page of a memory says about its standing."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from memories.ranking import REINFORCEMENT_DEFAULTS
from memories.reinforcement import Outcome, Signal, outcomes
from memories.standing_words import outcome_words, sums, verdict_words, what_would_change

NOW = datetime(2026, 12, 28, 12, tzinfo=UTC)


def signal(source="direct", *, days=1.0, session="", **said) -> Signal:
    return Signal(at=NOW - timedelta(days=days), source=source, session=session, **(said or {"useful": True}))


def test_without_signals_it_says_what_one_report_would_do():
    assert what_would_change([], now=NOW) == [
        "One more useful session would raise it to ×1.10.",
        "One session that it misled would lower it to ×0.83.",
    ]


def test_it_says_which_signal_leaves_next_and_when_and_what_is_left():
    told = [signal(days=78, session="s-4"), *(signal(days=n) for n in range(1, 5))]
    assert what_would_change(told, now=NOW) == [
        "One more useful session would raise it to ×1.29.",
        "One session that it misled would lower it to ×1.10.",
        "In 12 days, on 9 January 2027, the report of session s-4 leaves the window; "
        "if nothing else is said, it then stands at ×1.24.",
    ]


def test_what_counts_no_more_leaves_nothing():
    old, taken_back = signal(days=91), signal("challenge", misled=True)
    withdrawn = signal("withdrawn", useful=False)
    assert len(what_would_change([old, taken_back, withdrawn], now=NOW)) == 2


@pytest.mark.parametrize(
    ("days", "words"),
    [
        (89.9, "Today the challenge"),
        (89, "In 1 day, on 29 December, the challenge"),
        (80, "In 10 days, on 7 January 2027,"),
    ],
)
def test_days_are_counted_by_the_calendar(days, words):
    assert what_would_change([signal("challenge", days=days, misled=True)], now=NOW)[-1].startswith(words)


def test_days_are_those_of_the_reader():
    late = NOW.replace(hour=23).astimezone(ZoneInfo("Asia/Tokyo"))
    said = what_would_change([Signal(late - timedelta(days=80), "direct", useful=True)], now=late)[-1]
    assert said.startswith("In 10 days, on 8 January 2027,")


def test_at_the_top_and_at_the_bottom_it_says_that_more_changes_nothing():
    assert what_would_change([signal() for _ in range(20)], now=NOW)[0] == (
        "Another useful session would change nothing: it stands at ×1.40."
    )
    assert what_would_change([signal("challenge", days=n, misled=True) for n in range(1, 9)], now=NOW)[1] == (
        "Another session that it misled would change nothing: ×0.50 is the lowest there is."
    )


def test_of_a_rule_it_says_that_reports_change_nothing():
    assert what_would_change([signal()], now=NOW, promoted=True) == [
        "It is a standing rule, so it stands at ×0.60 whatever is said of it.",
        "If the rule was revoked, it would stand at ×1.10.",
    ]


def test_each_signal_says_whether_it_counts_and_why_not():
    told = [
        signal(session="s1"),
        signal("judge", session="s1", confidence=0.9, useful=True),
        signal("judge", session="s2", confidence=0.7, misled=True),
        signal("judge", session="s3", confidence=0.5, useful=True),
        signal("challenge", days=2, misled=True),
        signal("withdrawn", days=2, useful=False),
        signal(days=91),
        signal(session="s5", useful=False),
    ]
    found = zip(told, outcomes(told, now=NOW), strict=True)
    assert [(verdict_words(one), outcome_words(one, outcome, REINFORCEMENT_DEFAULTS)) for one, outcome in found] == [
        ("useful", "counts 1"),
        ("useful", "does not count, its session is heard by another signal"),
        ("misled", "counts 0.70"),
        ("useful", "does not count, less sure than 0.60"),
        ("misled", "does not count, it was withdrawn"),
        ("", "speaks of the report of that moment"),
        ("useful", "no longer counts, older than 90 days"),
        ("neither", "does not count, it says neither"),
    ]


def test_every_outcome_has_words():
    assert all(outcome_words(signal(), outcome, REINFORCEMENT_DEFAULTS) for outcome in Outcome)


def test_sums_show_places_only_where_there_are_some():
    assert sums(5, 0.7) == "5 useful and 0.70 misled"
