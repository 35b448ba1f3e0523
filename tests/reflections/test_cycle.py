"""Steps of a run: in order, each with its report; resumed, stopped, and failing each for itself."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.db import OperationalError
from django.utils import timezone

from memories.errors import Conflict, Forbidden
from memories.models import AuditEntry
from reflections import hygiene
from reflections.hygiene import STEPS, work_on
from reflections.models import Run
from reflections.services import cancel, requeue_abandoned
from reflections.tasks import sweep
from tests.factories import make_member, make_scope
from tests.reflections.factories import person
from zeromemory.llm import ModelUnavailable

pytestmark = pytest.mark.django_db
NAMES = list(STEPS)


@pytest.fixture
def cycle(owner, scope):
    return lambda **asked: hygiene.start_cycle(actor=person(owner), scopes=[scope], ring=False, **asked).run


@pytest.fixture
def does(monkeypatch):
    """Let a step do something else."""

    def become(name, work):
        monkeypatch.setitem(STEPS, name, replace(STEPS[name], work=work))

    return become


def report(run):
    return {step.name: step.state for step in run.steps.all()}


NEXT = ["stale_sweep", "code_changes", "rule_candidates"]
ALWAYS = ["reinforcement_rollup", "stale_suspects", "entity_merge"]  # none of which knows a model


@pytest.mark.parametrize(
    ("model", "steps"),
    [
        ("", ["pair_scan", *NEXT, "reflection", *ALWAYS, "retention"]),
        ("openai:tiny", [*NEXT, *ALWAYS]),
    ],
)
def test_the_quick_cycle_asks_no_model(cycle, settings, model, steps):
    settings.MODEL = model
    assert [step.name for step in cycle(kind="quick").steps.all()] == steps


def test_steps_are_done_in_order_and_counted(cycle, does):
    done = []
    for name in NAMES:
        does(name, lambda scope, progress, name=name: (done.append(name), progress.count(found=3, done=2, skipped=1)))
    run = cycle()
    work_on(run.pk)
    assert done == NAMES
    assert {(step.found, step.done, step.skipped, step.failed) for step in run.steps.all()} == {(3, 2, 1, 0)}
    assert Run.objects.get().state == "done"


def test_a_step_that_fails_stops_no_other_and_says_why(cycle, does):
    def failing(scope, progress):
        raise Conflict("The table is on fire.")

    does(NAMES[0], failing)
    run = cycle()
    work_on(run.pk)
    assert report(run) == dict.fromkeys(NAMES, "done") | {NAMES[0]: "failed"}
    run.refresh_from_db()
    assert (run.state, run.error) == ("failed", "The table is on fire.")


def test_a_step_that_fails_in_one_scope_is_done_in_the_others(owner, scope, does):
    elsewhere, done = make_scope(owner), []

    def failing(scope_at_hand, progress):
        if scope_at_hand == scope:
            raise Conflict("This one is broken.")
        done.append(scope_at_hand)

    does("stale_sweep", failing)
    started = hygiene.start_cycle(actor=None, scopes=[scope, elsewhere], steps=["stale_sweep"], ring=False)
    work_on(started.run.pk)
    assert done == [elsewhere]
    assert started.run.steps.get().note == "This one is broken."


def test_a_service_that_is_away_is_not_asked_again_for_each_scope(owner, scope, does):
    elsewhere, asked = make_scope(owner), []

    def failing(scope_at_hand, progress):
        asked.append(scope_at_hand)
        raise ModelUnavailable("Nobody answers.")

    does("stale_sweep", failing)
    started = hygiene.start_cycle(actor=None, scopes=[scope, elsewhere], steps=["stale_sweep"], ring=False)
    work_on(started.run.pk)
    assert asked == [scope]
    assert started.run.steps.get().state == "failed"


def test_an_unexpected_error_is_told_without_its_text_and_raised_at_the_end(cycle, does):
    def failing(scope, progress):
        raise KeyError("a secret in a traceback")

    does(NAMES[0], failing)
    run = cycle()
    with pytest.raises(KeyError):
        work_on(run.pk)
    assert report(run)[NAMES[-1]] == "done"
    assert "KeyError" in run.steps.first().note
    assert "secret" not in run.steps.first().note


@pytest.mark.behaviour("F38")
@pytest.mark.parametrize("name", NAMES)
def test_a_run_that_lost_its_worker_at_any_step_goes_on_at_that_step(cycle, does, name):
    done = []
    for each in NAMES:
        does(each, lambda scope, progress, each=each: done.append(each))
    run, place = cycle(), NAMES.index(name)
    run.steps.filter(position__lt=place).update(state="done")
    run.steps.filter(position=place).update(state="running")
    Run.objects.update(state="running", attempts=1, heartbeat_at=timezone.now() - timedelta(minutes=2))
    requeue_abandoned()
    work_on(run.pk)
    assert done == NAMES[place:]
    assert set(report(run).values()) == {"done"}


def test_a_run_is_stopped_at_the_next_beat_and_keeps_what_it_did(owner, cycle, does):
    run = cycle()

    def stopping(scope, progress):
        progress.count(done=1)
        cancel(actor=person(owner), run=run)
        progress.count(done=1)

    does(NAMES[0], stopping)
    work_on(run.pk)
    run.refresh_from_db()
    assert (run.state, bool(run.finished_at)) == ("cancelled", True)
    assert set(report(run).values()) == {"cancelled"}
    assert run.steps.first().done == 2
    assert cycle().pk != run.pk, "the scope is free again"


def test_only_who_may_write_to_all_scopes_stops_a_run(owner, scope, cycle):
    with pytest.raises(Forbidden):
        cancel(actor=person(make_member(scope, "reader")), run=cycle())
    assert Run.objects.get().cancel_asked_at is None


def test_a_run_that_has_ended_cannot_be_stopped(owner, cycle):
    run = cycle()
    work_on(run.pk)
    with pytest.raises(Conflict, match="ended already: done"):
        cancel(actor=person(owner), run=run)


def test_asking_starting_and_ending_are_in_the_audit(cycle):
    run = cycle()
    work_on(run.pk)
    entries = AuditEntry.objects.filter(object_id=str(run.pk)).values_list("action", "actor")
    assert set(entries) == {("start", "owner"), ("finish", "hygiene")}


# The schedule ---------------------------------------------------------------------------------


def test_the_schedule_is_off_unless_somebody_sets_it(scope):
    assert hygiene.start_if_due() == []
    assert not Run.objects.exists()


def test_each_scope_gets_a_run_of_its_own_when_it_is_due(owner, scope, settings):
    settings.HYGIENE_HOURS = 6
    make_scope(owner)
    sweep()
    assert Run.objects.filter(kind="full", requested_by=None, requested_actor="schedule").count() == 2
    assert {run.scopes.count() for run in Run.objects.all()} == {1}
    Run.objects.update(requested_at=timezone.now() - timedelta(hours=5), state="done")
    assert hygiene.start_if_due() == []


def test_a_scope_is_due_again_after_its_hours(scope, settings):
    settings.HYGIENE_HOURS = 6
    (run,) = hygiene.start_if_due()
    work_on(run.pk)
    Run.objects.update(requested_at=timezone.now() - timedelta(hours=6, seconds=1))
    assert len(hygiene.start_if_due()) == 1


def test_a_scope_that_is_being_looked_after_waits_for_the_next_minute(scope, settings, cycle):
    settings.HYGIENE_HOURS = 6
    cycle(steps=["stale_sweep"])
    assert hygiene.start_if_due() == []


def test_a_run_that_lost_the_database_is_not_failed_but_goes_on_later(cycle, does):
    away = [True]

    def failing(scope, progress):
        if away:
            raise OperationalError("the server closed the connection")

    does("stale_sweep", failing)
    run = cycle(steps=["stale_sweep"])
    work_on(run.pk)
    assert (Run.objects.get().state, run.steps.get().state) == ("running", "running")
    away.clear()
    Run.objects.update(heartbeat_at=timezone.now() - timedelta(minutes=1))
    requeue_abandoned()
    work_on(run.pk)
    assert (Run.objects.get().state, run.steps.get().state) == ("done", "done")
    assert "Its first worker was lost" in run.steps.get().note
