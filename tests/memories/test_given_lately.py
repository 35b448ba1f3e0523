"""The line of a memory's page that says how often agents were given it, and what they reported."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from memories import services
from memories.access import actor_for_user
from memories.ranking import REINFORCEMENT_DEFAULTS
from memories.services.reinforcement import record_challenge, reinstate_reports, withdraw_reports
from memories.usage import GivenLately, given_lately, said_of
from tests.factories import make_memory
from tests.insights.asking import make_event, make_surfaced
from tests.memories.pages import text_of

pytestmark = pytest.mark.django_db


def lately(memory):
    now = timezone.now()
    return given_lately(memory, said_of(memory, now=now, constants=REINFORCEMENT_DEFAULTS), now)


def test_the_page_says_how_often_it_was_given_and_what_was_reported(client_of, owner, scope):
    memory = make_memory(scope=scope)
    make_surfaced(memory, times=9)
    make_surfaced(memory, days_ago=29, times=5)
    for session in ("a", "a", "b", "c"):
        make_event(memory, useful=True, session=session)
    shown = text_of(client_of(owner).get(reverse("memory_detail", args=[memory.pk])))
    assert "Given to agents 14 times in 30 days, reported useful in 3 sessions, misled in 0." in shown


def test_the_page_of_what_nobody_was_given_says_so(client_of, owner, scope):
    memory = make_memory(scope=scope)
    make_surfaced(make_memory(scope=scope), times=3)
    assert "Not given to agents in 30 days." in text_of(
        client_of(owner).get(reverse("memory_detail", args=[memory.pk]))
    )


def test_what_is_thirty_days_past_counts_no_more(scope):
    memory = make_memory(scope=scope)
    make_surfaced(memory, days_ago=30, times=5)
    make_event(memory, days_ago=31, useful=True, session="old")
    assert lately(memory) == GivenLately(0, 0, 0)


def test_reports_without_a_session_stand_alone(scope):
    memory = make_memory(scope=scope)
    for session in ("", "", "a"):
        make_event(memory, misled=True, session=session)
    assert lately(memory) == GivenLately(0, 0, 3)


def test_a_withdrawn_challenge_is_no_report_until_it_is_reinstated(owner, scope):
    memory, at = make_memory(scope=scope), timezone.now() - timedelta(days=1)
    record_challenge(memory=memory, user=owner, at=at)
    record_challenge(memory=make_memory(scope=scope), user=owner, at=at)
    assert lately(memory).misled == 1
    withdraw_reports(memory=memory, only_of=at, user=owner)
    assert lately(memory).misled == 0
    reinstate_reports(memory=memory, moments=[at], user=owner)
    assert lately(memory).misled == 1


def test_a_judge_that_is_not_sure_and_a_report_that_was_taken_back_are_no_reports(scope):
    memory = make_memory(scope=scope)
    make_event(memory, source="judge", useful=True, confidence=0.59, session="monday")
    make_event(memory, days_ago=2, useful=True, session="tuesday")
    make_event(memory, days_ago=1, session="tuesday")
    assert lately(memory) == GivenLately(0, 0, 0)


def test_a_session_that_challenged_an_earlier_wording_does_not_praise_the_later_one(owner, scope):
    memory = make_memory(scope=scope)
    record_challenge(memory=memory, user=owner, session="monday")
    later = services.edit(actor=actor_for_user(owner), memory=memory, expected_version=1, content="Other words.")
    make_event(later, useful=True, session="monday")
    make_event(later, useful=True, session="tuesday")
    assert lately(later) == GivenLately(0, 1, 0)
