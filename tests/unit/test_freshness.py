"""Days since a world fact was looked at, against its budget."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.freshness import Budgets, asked_of, look_of

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
WITHIN = Budgets()


def looked(kind="fact", age_days=0.0, *, checked_days=None, is_core=True, budgets=WITHIN):
    return look_of(
        kind,
        is_core=is_core,
        created_at=NOW - timedelta(days=age_days),
        checked_at=None if checked_days is None else NOW - timedelta(days=checked_days),
        now=NOW,
        budgets=budgets,
    )


@pytest.mark.behaviour("Z73")
@pytest.mark.parametrize(
    ("kind", "age_days", "stale_days"),
    [
        ("fact", 181, 181),
        ("fact", 180.99, None),
        ("fact", 180, None),
        ("fact", 0, None),
        ("reference", 91, 91),
        ("reference", 90, None),
        ("reference", 400.7, 400),
    ],
)
def test_a_core_fact_is_past_its_budget_after_whole_days_and_not_on_the_last_of_them(kind, age_days, stale_days):
    assert looked(kind, age_days).stale_days == stale_days


@pytest.mark.behaviour("Z73")
@pytest.mark.parametrize("kind", ["decision", "convention", "preference", "gotcha", "episode", "task", "open-question"])
def test_what_the_world_does_not_change_is_never_asked_about(kind):
    assert looked(kind, 5000) is None


def test_outside_the_core_nothing_is_asked_about():
    assert looked("fact", 5000, is_core=False) is None


@pytest.mark.behaviour("Z74")
@pytest.mark.parametrize("age_days", [181, 1000, 20_000])
def test_a_check_of_yesterday_clears_the_marker_whatever_the_age(age_days):
    found = looked("fact", age_days, checked_days=1)
    assert (found.stale_days, found.days, found.left) == (None, 1, 180)


def test_a_check_grows_old_like_a_creation():
    assert looked("fact", 1000, checked_days=180).stale_days is None
    assert looked("fact", 1000, checked_days=181).stale_days == 181


def test_a_check_before_the_creation_that_an_import_kept_counts_no_more_than_the_creation():
    assert looked("fact", 10, checked_days=300).days == 10


def test_a_date_that_lies_ahead_counts_as_today():
    assert looked("fact", -5).days == 0
    assert looked("fact", 400, checked_days=-5).days == 0


def test_budgets_are_configuration():
    short = Budgets(fact=7, reference=3)
    assert looked("fact", 8, budgets=short).stale_days == 8
    assert looked("reference", 3, budgets=short).stale_days is None


def test_the_days_left_run_out_on_the_day_it_is_asked_about():
    assert [looked("fact", days).left for days in (0, 180, 181, 190)] == [181, 1, 0, -9]


def test_an_agent_is_told_what_to_do():
    assert asked_of(181) == "not checked for 181 days: verify it, supersede it or challenge it"


@given(
    age=st.floats(0, 10_000),
    checked=st.none() | st.floats(0, 10_000),
    budget=st.integers(1, 3650),
)
def test_it_is_asked_about_exactly_when_no_days_are_left(age, checked, budget):
    found = looked("fact", age, checked_days=checked, budgets=Budgets(fact=budget))
    assert (found.stale_days is not None) == (found.left <= 0) == (found.days > budget)


@given(st.floats(0, 10_000), st.floats(0, 10_000))
def test_a_check_never_makes_it_older(age, checked):
    assert looked("fact", age, checked_days=checked).days <= looked("fact", age).days
