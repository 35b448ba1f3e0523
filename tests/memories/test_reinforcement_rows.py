"""The row that recall reads, computed from the events."""

from datetime import timedelta

import pytest
from django.utils import timezone

from memories import services
from memories.access import actor_for_user
from memories.models import Reinforcement, UsageEvent
from memories.services.reinforcement import record_challenge, reinstate_reports, roll_up, withdraw_reports
from tests.factories import make_memory

pytestmark = pytest.mark.django_db


def report(memory, *, days=1, **said):
    at = timezone.now() - timedelta(days=days)
    UsageEvent.objects.create(memory=memory, at=at, source="direct", **(said or {"useful": True}))


def test_a_challenge_lowers_at_once(owner, scope):
    memory = make_memory(scope=scope)
    record_challenge(memory=memory, user=owner)
    row = Reinforcement.objects.get(memory=memory)
    assert (row.useful, row.misled) == (0, 1)
    assert row.multiplier == pytest.approx(0.82671, abs=5e-6)


@pytest.mark.behaviour("Z26")
def test_a_memory_back_at_neutral_loses_its_row(scope):
    memory = make_memory(scope=scope)
    report(memory, days=10)
    assert roll_up(memory=memory, now=timezone.now()).useful == 1
    assert roll_up(memory=memory, now=timezone.now() + timedelta(days=81)) is None
    assert not Reinforcement.objects.exists()


@pytest.mark.behaviour("Z25")
def test_a_rule_stays_one_whatever_is_said_of_it(scope):
    memory = make_memory(scope=scope)
    Reinforcement.objects.create(memory=memory, multiplier=0.6, promoted=True)
    report(memory)
    assert roll_up(memory=memory, now=timezone.now()).multiplier == 0.6


def test_what_was_said_of_an_earlier_wording_still_counts(owner, scope):
    memory = make_memory("The crane lifts forty tons.", scope=scope)
    for _ in range(5):
        report(memory)
    edited = services.edit(
        actor=actor_for_user(owner), memory=memory, expected_version=1, content="The crane lifts forty tonnes."
    )
    row = record_challenge(memory=edited, user=owner)
    assert (row.useful, row.misled) == (5, 1)
    assert row.multiplier == pytest.approx(1.09548, abs=5e-6)


def test_what_another_memory_replaced_says_nothing_of_its_successor(owner, scope):
    old, new = make_memory(scope=scope), make_memory(scope=scope)
    report(old)
    services.supersede(actor=actor_for_user(owner), memory=old, replacement=new)
    assert roll_up(memory=new, now=timezone.now()) is None


def test_withdrawing_a_challenge_raises_the_memory_and_what_it_was_edited_into(owner, scope):
    memory = make_memory("The crane lifts forty tons.", scope=scope)
    record_challenge(memory=memory, user=owner, at=(at := timezone.now()))
    services.edit(actor=actor_for_user(owner), memory=memory, expected_version=1, content="It lifts forty tonnes.")
    memory.refresh_from_db()
    withdraw_reports(memory=memory, only_of=at, user=owner)
    assert not Reinforcement.objects.exists()
    reinstate_reports(memory=memory, moments=[at], user=owner)
    assert {row.misled for row in Reinforcement.objects.filter(memory__in=[memory, memory.superseded_by])} == {1}
