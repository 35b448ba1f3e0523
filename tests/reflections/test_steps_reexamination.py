from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memories.access import actor_for_user
from memories.models import AuditEntry, Surfacing
from memories.services import accesses
from memories.services.accesses import Answered, Given, note_recall
from reflections import hygiene
from reflections.models import Dispute, Examined, HygieneConfig, Judged
from reflections.services import disputes
from tests.factories import make_scope
from tests.llm.server import prose, status
from tests.reflections.factories import person
from tests.reflections.stepping import fresh, near, run_step

pytestmark = pytest.mark.django_db


def given(memory, times=10, days_ago=0):
    """Agents were given it so often on that day."""
    Surfacing.objects.create(memory=memory, day=timezone.now().date() - timedelta(days=days_ago), count=times)


def verdict(relation="contradiction", confidence=0.9):
    return {"relation": relation, "confidence": confidence, "rationale": "Two days are named."}


def examine(*scopes):
    return run_step("reexamination", *scopes)


@pytest.fixture
def pair(scope):
    """Two of long ago that the pair scan does not look at any more; the first is recalled often."""
    monday = near(scope, "The export runs on Monday.", age_days=200)
    friday = near(scope, "The export runs on Friday.", 0.9, age_days=300)
    given(monday)
    return monday, friday


@pytest.fixture
def crowd(scope):
    """One that is recalled often, with three neighbours."""
    subject = near(scope, "The export runs on Monday.")
    given(subject)
    for number, cosine in enumerate((0.95, 0.9, 0.85)):
        near(scope, f"Export {number} runs at night.", cosine, axis=number + 1)
    return subject


# Counting ------------------------------------------------------------------------------------


def test_recalls_are_counted_by_day(scope):
    memory, other = near(scope, "Recalled."), near(scope, "Not recalled.")
    for _ in range(2):
        recalled = Answered([Given(memory.pk, 0.0, False)])
        note_recall(actor=actor_for_user(scope.owner), query="Recalled", k=1, answered=recalled)
    assert list(Surfacing.objects.values_list("memory", "day", "count")) == [(memory.pk, timezone.now().date(), 2)]
    assert fresh(memory).access_count == 2
    assert fresh(other).access_count == 0


def test_old_counts_are_removed_with_and_without_a_model(scope):
    memory = near(scope, "Recalled.")
    for days in (399, 400, 401, 500):
        given(memory, days_ago=days)
    examine(scope)
    ages = sorted((timezone.now().date() - day).days for day in Surfacing.objects.values_list("day", flat=True))
    assert ages == [399, 400]


def test_old_counts_are_removed_a_batch_at_a_time_and_those_of_other_scopes_stay(owner, scope, monkeypatch):
    monkeypatch.setattr(accesses, "SURFACINGS_A_BATCH", 2)
    memory, elsewhere = near(scope, "Recalled."), near(make_scope(owner, slug="work"), "Recalled elsewhere.")
    for days in range(401, 406):
        given(memory, days_ago=days)
    given(elsewhere, days_ago=500)
    given(memory, days_ago=3)
    with CaptureQueriesContext(connection) as captured:
        assert accesses.forget_old_surfacings(scope) == 5
    deletes = [query["sql"] for query in captured if query["sql"].startswith("DELETE")]
    assert len(deletes) == 3
    assert set(Surfacing.objects.values_list("memory", flat=True)) == {memory.pk, elsewhere.pk}
    assert Surfacing.objects.count() == 2


# Examining -----------------------------------------------------------------------------------


@pytest.mark.behaviour("Z52")
def test_what_is_recalled_often_is_compared_with_its_nearest_of_any_age(scope, pair, model_server):
    model_server.will_answer(verdict())
    step = examine(scope)
    dispute = Dispute.objects.get()
    assert (step.state, step.found, step.done) == ("done", 1, 1)
    assert {dispute.subject, dispute.other} == set(pair)
    assert (dispute.type, dispute.scanner, dispute.model) == (
        "contradiction",
        "re-examination",
        "openai:scripted-model",
    )
    assert AuditEntry.objects.get(action="open_dispute").detail["scanner"] == "re-examination"


@pytest.mark.parametrize(
    "counts", [{0: 9}, {90: 10}, {0: 5, 91: 50}], ids=["too seldom", "too long ago", "too seldom of late"]
)
def test_what_is_recalled_seldom_is_no_subject(scope, model_server, counts):
    memory = near(scope, "The export runs on Monday.")
    near(scope, "The export runs on Friday.", 0.9)
    for days_ago, times in counts.items():
        given(memory, times, days_ago)
    assert examine(scope).found == 0
    assert not Examined.objects.exists()


def test_the_days_add_up(scope, model_server):
    memory = near(scope, "The export runs on Monday.")
    near(scope, "The export runs on Friday.", 0.9)
    given(memory, 5, days_ago=89)
    given(memory, 5)
    model_server.always(verdict("unrelated"))
    assert examine(scope).found == 1


@pytest.mark.behaviour("Z50")
def test_it_stops_after_two_new_disputes_and_the_next_run_goes_on_with_the_rest(scope, crowd, model_server):
    model_server.always(verdict())
    step = examine(scope)
    assert (step.done, len(model_server.requests)) == (2, 2)
    assert "2 new disputes" in step.note
    assert not Examined.objects.exists()
    again = examine(scope)
    assert (again.done, len(model_server.requests), Dispute.objects.count()) == (1, 3, 3)
    assert Examined.objects.get().memory == crowd


@pytest.mark.behaviour("Z50")
def test_no_memory_is_examined_twice_with_the_same_model(scope, crowd, model_server, settings):
    model_server.always(verdict("complementary"))
    assert examine(scope).found == 3
    near(scope, "Export 9 runs at noon.", 0.97, axis=9)
    assert examine(scope).found == 0
    settings.MODEL = "openai:another-model"
    assert examine(scope).found == 3
    assert sorted(Examined.objects.values_list("matter", flat=True)) == [
        "openai:another-model",
        "openai:scripted-model",
    ]


@pytest.mark.behaviour("Z46")
def test_a_pair_that_was_in_dispute_is_not_judged_again_whatever_became_of_it(owner, scope, pair, model_server):
    dispute = disputes.open_pair(one=pair[0], another=pair[1], type="unjudged", scanner="pair scan")
    disputes.resolve(actor=person(owner), dispute=dispute, version=1, resolution="keep_both")
    assert examine(scope).found == 0
    assert model_server.requests == []


def test_a_pair_that_this_model_has_judged_in_the_pair_scan_is_not_judged_again(scope, pair, model_server, settings):
    low, high = sorted(memory.pk for memory in pair)
    Judged.objects.create(
        scanner="pair_scan",
        low_id=low,
        high_id=high,
        verdict="unrelated",
        confidence=0.9,
        model="openai:scripted-model",
    )
    assert examine(scope).found == 0
    settings.MODEL = "openai:another-model"
    model_server.will_answer(verdict())
    assert examine(scope).done == 1


def test_one_run_examines_no_more_than_so_many_most_recalled_first(scope, model_server):
    HygieneConfig.objects.update_or_create(id=1, defaults={"reexamine_subjects": 2})
    rows = [near(scope, f"Note {number}.", axis=number + 1, cosine=0.1) for number in range(3)]
    for memory, times in zip(rows, (20, 30, 40), strict=True):
        given(memory, times)
    examine(scope)
    assert set(Examined.objects.values_list("memory", flat=True)) == {rows[1].pk, rows[2].pk}
    examine(scope)
    assert Examined.objects.count() == 3


def test_what_the_ladder_settles_is_settled_and_can_be_undone(owner, scope, pair, model_server):
    model_server.will_answer(verdict("duplicate", 0.95))
    examine(scope)
    dispute = Dispute.objects.get()
    assert (dispute.status, dispute.resolution) == ("resolved", "forgot")
    assert [fresh(memory).state for memory in pair] == ["live", "invalidated"]
    disputes.undo(actor=person(owner), dispute=dispute, version=dispute.version)
    assert [fresh(memory).state for memory in pair] == ["live", "live"]


def test_an_answer_that_cannot_be_used_is_no_dispute_and_not_asked_for_again(scope, pair, model_server):
    model_server.always(prose("They differ."))
    step = examine(scope)
    assert (step.state, step.failed, Dispute.objects.count()) == ("done", 1, 0)
    assert examine(scope).found == 0


def test_a_model_that_does_not_answer_fails_the_step_and_the_next_run_goes_on(scope, pair, model_server):
    model_server.always(status(401))
    assert examine(scope).state == "failed"
    assert not Examined.objects.exists()
    model_server.always(verdict())
    assert examine(scope).done == 1


def test_without_a_model_it_compares_nothing_and_says_so(scope, pair):
    step = examine(scope)
    assert (step.state, step.found, Examined.objects.count()) == ("done", 0, 0)
    assert "ZEROMEMORY_MODEL" in step.note
    assert "no model" in hygiene.STEPS["reexamination"].survey(scope)


def test_a_survey_counts_and_asks_nobody(scope, pair, model_server):
    assert "would look again at 1 text" in hygiene.STEPS["reexamination"].survey(scope)
    assert model_server.requests == []
