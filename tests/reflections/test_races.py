"""Two at the same moment, with real transactions: exactly one wins, and the other is told."""

import time

import pytest
from django.utils import timezone

from memories.errors import Conflict
from memories.models import Memory
from reflections.hygiene import work_on
from reflections.models import Candidate, CandidateMember, Run
from reflections.services import approve, dismiss, find_candidates, start_run, undo
from reflections.services.progress import heard_of
from tests.factories import make_member
from tests.reflections.factories import STAMP, make_candidate, make_episodes, person
from tests.reflections.together import at_once

pytestmark = pytest.mark.django_db(transaction=True)


def distillates() -> int:
    return Memory.objects.exclude(kind="episode").count()


@pytest.fixture
def two(owner, scope):
    return person(owner), person(make_member(scope, "writer"))


@pytest.mark.behaviour("Z59")
def test_two_approvals_at_once_write_one_memory(scope, two):
    candidate = make_candidate(scope)
    results = at_once(*(lambda who=who: approve(actor=who, candidate=candidate, version=1) for who in two))
    assert sorted(type(result).__name__ for result in results) == ["Conflict", "Memory"]
    assert distillates() == 1


def test_of_an_approval_and_a_dismissal_at_once_one_wins_and_the_other_is_told(scope, two):
    first, second = two
    candidate = make_candidate(scope)
    results = at_once(
        lambda: approve(actor=first, candidate=candidate, version=1),
        lambda: dismiss(actor=second, candidate=candidate, version=1),
    )
    (told,) = [result for result in results if isinstance(result, Exception)]
    candidate.refresh_from_db()
    assert isinstance(told, Conflict)
    assert candidate.decided_by.username in told.message
    assert distillates() == (1 if candidate.state == "approved" else 0)


def test_two_undos_at_once_undo_once(scope, two):
    candidate = make_candidate(scope)
    approve(actor=two[0], candidate=candidate, version=1)
    results = at_once(*(lambda who=who: undo(actor=who, candidate=candidate, version=2) for who in two))
    assert sorted(type(result).__name__ for result in results) == ["Candidate", "Conflict"]
    candidate.refresh_from_db()
    assert candidate.version == 3


@pytest.mark.behaviour("F37")
def test_two_searches_of_one_scope_at_once_propose_each_cluster_once(scope):
    for topic in range(4):
        make_episodes(scope, 4, entities=[f"topic {topic}"])
    made = at_once(*[lambda: find_candidates(scope=scope, stamp=STAMP)] * 3)
    assert sum(made) == Candidate.objects.count() == 4
    assert CandidateMember.objects.count() == 16


@pytest.mark.behaviour("F37")
def test_a_run_asked_for_three_times_at_once_is_one_run(owner, scope):
    started = at_once(*[lambda: start_run(actor=person(owner), scopes=[scope], ring=False)] * 3)
    assert Run.objects.count() == 1
    assert sorted(result.is_new for result in started) == [False, False, True]
    assert {result.run.pk for result in started} == {Run.objects.get().pk}


@pytest.mark.behaviour("F37")
def test_a_run_rung_on_three_workers_is_done_by_one(owner, scope):
    run, _ = start_run(actor=person(owner), scopes=[scope], ring=False)
    assert at_once(*[lambda: work_on(run.pk)] * 3) == [None] * 3
    run.refresh_from_db()
    assert (run.state, run.attempts, run.scopes_done) == ("done", 1, 1)


@pytest.mark.behaviour("F38")
def test_a_worker_that_compares_for_minutes_is_heard_of_meanwhile(scope):
    began = timezone.now()
    run = Run.objects.create(state="running", attempts=1, started_at=began, heartbeat_at=began)
    with heard_of(run, every=0.05):
        wait_until(lambda: Run.objects.get().heartbeat_at > began)
    assert Run.objects.get().state == "running"


def test_a_worker_that_lost_its_run_stops_being_heard_of(scope):
    began = timezone.now()
    run = Run.objects.create(state="running", attempts=1, started_at=began, heartbeat_at=began)
    Run.objects.update(attempts=2)
    with heard_of(run, every=0.05):
        time.sleep(0.3)
    assert Run.objects.get().heartbeat_at == began


def wait_until(true, seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)
