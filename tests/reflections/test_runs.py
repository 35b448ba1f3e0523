import time
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memories.errors import Forbidden, ValidationFailed
from memories.models import Embedding, Memory
from reflections.hygiene import work_on
from reflections.models import Candidate, ReflectionConfig, Run
from reflections.services import cancel, requeue_abandoned, ring_waiting, start_run
from reflections.services.progress import TakenOverError, beat, heard_of
from reflections.services.runs import MOST_ATTEMPTS
from reflections.tasks import reflect, sweep
from tests.factories import make_member, make_scope
from tests.reflections.factories import make_candidate, make_episodes, person
from zeromemory.embedding import get_embedder

pytestmark = pytest.mark.django_db


@pytest.fixture
def rung(monkeypatch):
    """The run ids that the broker was given for the task that does runs."""
    sent = []

    def send(self, name, args, **options):
        assert name == reflect.name
        sent.append(args[0])

    monkeypatch.setattr("celery.app.base.Celery.send_task", send)
    return sent


@pytest.fixture
def run(owner, scope):
    return start_run(actor=person(owner), scopes=[scope], ring=False).run


def restamp():
    """Pinned vectors pass for vectors of the configured embedder."""
    embedder = get_embedder()
    Embedding.objects.update(model=embedder.name, model_version=embedder.version)
    Memory.objects.update(embedded_with=embedder.stamp)


def silent_since(run, **ago):
    Run.objects.filter(pk=run.pk).update(
        state="running", attempts=1, heartbeat_at=timezone.now() - timedelta(**ago), started_at=timezone.now()
    )
    run.refresh_from_db()


def test_a_run_is_rung_after_its_commit(owner, scope, rung, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        run, is_new = start_run(actor=person(owner), scopes=[scope])
        assert rung == []
    assert is_new
    assert rung == [str(run.pk)]


def test_a_second_request_finds_the_unfinished_run_and_rings_nothing(
    owner, scope, run, rung, django_capture_on_commit_callbacks
):
    with django_capture_on_commit_callbacks(execute=True):
        assert start_run(actor=person(owner), scopes=[scope]) == (run, False)
    assert rung == []


def test_a_finished_run_makes_room_for_the_next(owner, scope, run):
    work_on(run.pk)
    assert start_run(actor=person(owner), scopes=[scope], ring=False).is_new


@pytest.mark.behaviour("F37")
def test_whoever_asks_no_two_runs_look_after_one_scope(owner, scope, run):
    other = make_member(scope, "writer")
    assert start_run(actor=person(other), scopes=[scope], ring=False) == (run, False)
    assert start_run(actor=None, scopes=[scope, make_scope(owner)], ring=False) == (run, False)


def test_runs_over_different_scopes_go_on_beside_each_other(owner, run):
    elsewhere = make_scope(owner)
    assert start_run(actor=person(owner), scopes=[elsewhere], ring=False).is_new
    assert Run.objects.unfinished().count() == 2


def test_a_reader_cannot_have_clusters_searched(scope):
    with pytest.raises(Forbidden):
        start_run(actor=person(make_member(scope, "reader")), scopes=[scope])
    assert not Run.objects.exists()


def test_a_run_over_no_scope_is_refused(owner):
    with pytest.raises(ValidationFailed):
        start_run(actor=person(owner), scopes=[])


def test_a_run_counts_what_it_saw_and_made(owner, scope):
    ReflectionConfig.objects.update_or_create(id=1, defaults={"cosine_min": 0.78, "cosine_max": 0.92})
    make_episodes(scope, 4, entities=["a"])
    make_episodes(other := make_scope(owner), 3, entities=["b"])
    make_episodes(other, 2, entities=["c"])
    restamp()
    run = start_run(actor=person(owner), scopes=[scope, other], ring=False).run
    reflect(str(run.pk))
    run.refresh_from_db()
    assert (run.state, run.scopes_done, run.episodes_seen, run.candidates_made) == ("done", 2, 9, 2)
    assert run.finished_at >= run.started_at
    assert Candidate.objects.filter(run=run).count() == 2


def test_a_run_without_an_embedder_fails_with_the_reason(run, settings):
    settings.EMBEDDER = "none"
    reflect(str(run.pk))
    run.refresh_from_db()
    assert (run.state, run.candidates_made) == ("failed", 0)
    assert "ZEROMEMORY_EMBEDDER" in run.error
    assert run.finished_at
    assert [(step.state, step.note) for step in run.steps.all()] == [("failed", run.error)]


def test_a_task_for_a_run_that_is_gone_or_done_returns_quietly(run):
    work_on(run.pk)
    finished = Run.objects.values().get()
    reflect(str(run.pk))
    assert Run.objects.values().get() == finished
    run.delete()
    reflect(str(finished["id"]))


@pytest.mark.behaviour("F38")
def test_a_run_whose_worker_fell_silent_is_done_by_another(run, rung):
    silent_since(run, seconds=31)
    assert requeue_abandoned() == 1
    Run.objects.update(requested_at=timezone.now() - timedelta(minutes=5))
    assert ring_waiting() == 1
    assert rung == [str(run.pk)]
    work_on(run.pk)
    run.refresh_from_db()
    assert (run.state, run.attempts, run.scopes_done) == ("done", 2, 1)


@pytest.mark.behaviour("F38")
def test_a_run_that_was_heard_of_lately_is_left_alone(run):
    silent_since(run, seconds=25)
    assert requeue_abandoned() == 0


@pytest.mark.behaviour("F38")
def test_a_worker_that_was_taken_for_lost_cannot_go_on_writing(run):
    silent_since(run, minutes=3)
    requeue_abandoned()
    with pytest.raises(TakenOverError):
        beat(run, scopes_done=1)
    Run.objects.update(state="running", attempts=2)
    with pytest.raises(TakenOverError):
        beat(run, scopes_done=1)


def test_a_run_that_keeps_losing_its_worker_is_given_up(run):
    silent_since(run, minutes=3)
    Run.objects.update(attempts=MOST_ATTEMPTS)
    requeue_abandoned()
    run.refresh_from_db()
    assert run.state == "failed"
    assert "3 times" in run.error


def test_a_run_is_rung_again_only_when_it_has_waited_a_while(run, rung):
    ring_waiting()
    assert rung == []
    Run.objects.update(requested_at=timezone.now() - timedelta(seconds=31))
    ring_waiting()
    assert rung == [str(run.pk)]


def test_the_sweep_wakes_snoozed_drafts_and_frees_abandoned_runs(scope, run, rung):
    candidate = make_candidate(scope, state="snoozed", snoozed_until=timezone.now() - timedelta(seconds=1))
    silent_since(run, minutes=3)
    Run.objects.update(requested_at=timezone.now() - timedelta(minutes=3))
    sweep()
    candidate.refresh_from_db()
    assert candidate.state == "pending"
    assert rung == [str(run.pk)]


def test_the_sweep_run_twice_changes_nothing_the_second_time(scope, rung):
    make_candidate(scope, state="snoozed", snoozed_until=timezone.now() - timedelta(seconds=1))
    sweep()
    before = list(Candidate.objects.values())
    sweep()
    assert list(Candidate.objects.values()) == before


def test_a_run_that_was_to_stop_and_lost_its_worker_is_not_begun_again(owner, run, rung):
    silent_since(run, minutes=3)
    cancel(actor=person(owner), run=run)
    assert requeue_abandoned() == 1
    run.refresh_from_db()
    assert (run.state, {step.state for step in run.steps.all()}) == ("cancelled", {"cancelled"})
    assert start_run(actor=person(owner), scopes=list(run.scopes.all()), ring=False).is_new


@pytest.mark.django_db(transaction=True)
def test_a_worker_that_waits_for_a_model_is_heard_of_after_somebody_stopped_its_run(owner, run):
    silent_since(run, seconds=1)
    cancel(actor=person(owner), run=run)
    before = Run.objects.get().heartbeat_at
    with heard_of(run, every=0.05):
        time.sleep(0.4)
    assert Run.objects.get().heartbeat_at > before


def test_a_second_request_is_passed_over_and_no_error_of_the_database(owner, scope):
    start_run(actor=person(owner), scopes=[scope], ring=False)
    with CaptureQueriesContext(connection) as asked:
        assert not start_run(actor=person(owner), scopes=[scope], ring=False).is_new
    (inserted,) = [query["sql"] for query in asked if 'INTO "reflection_run_scope"' in query["sql"]]
    assert "ON CONFLICT DO NOTHING" in inserted
    assert Run.objects.count() == 1
