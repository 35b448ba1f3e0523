import pytest
from django.db import connection
from django.utils import timezone

from memories import services
from memories.models import AuditEntry
from reflections import hygiene
from reflections.models import Dispute, HygieneConfig, Judged
from reflections.services import disputes
from reflections.services.asking import BudgetSpent
from reflections.services.loops import settle
from tests.factories import make_memory, make_scope
from tests.llm.server import prose, status
from tests.reflections.factories import person
from tests.reflections.stepping import fresh, near, run_step
from zeromemory.llm import LoopVerdict

pytestmark = pytest.mark.django_db

TASK = "Rotate the keys of the staging cluster."
DONE = "The keys of the staging cluster were rotated."


@pytest.fixture
def task(scope):
    return near(scope, TASK, kind="task", age_days=5)


@pytest.fixture
def outcome(scope, task):
    return near(scope, DONE, 0.8, kind="episode", age_days=1)


def verdict(evidence, confidence=0.9, closes=True):
    named = str(evidence.pk) if evidence else None
    return {"closes": closes, "evidence": named, "confidence": confidence, "rationale": "It says they were rotated."}


def close_loops(*scopes):
    return run_step("loop_closure", *scopes)


@pytest.mark.behaviour("Z72")
@pytest.mark.behaviour("Z52")
def test_a_loop_that_a_newer_memory_settles_is_closed_and_everybody_can_see_by_what(scope, task, outcome, model_server):
    model_server.will_answer(verdict(outcome, 0.85))
    step = close_loops(scope)
    assert (step.state, step.found, step.done) == ("done", 1, 1)
    closed = fresh(task)
    assert (closed.state, closed.invalidated_actor) == ("invalidated", "loop closure (openai:scripted-model)")
    assert str(outcome.pk) in closed.invalidation_reason
    entry = AuditEntry.objects.get(action="close")
    assert entry.detail == {
        "scanner": "loop closure",
        "model": "openai:scripted-model",
        "evidence": str(outcome.pk),
        "confidence": "0.85",
    }
    assert fresh(outcome).state == "live"


@pytest.mark.behaviour("Z72")
def test_a_closed_loop_is_restored_and_the_same_evidence_does_not_close_it_again(
    owner, scope, task, outcome, model_server
):
    model_server.always(verdict(outcome))
    close_loops(scope)
    services.restore(actor=person(owner), memory=fresh(task))
    step = close_loops(scope)
    assert (step.found, step.done, fresh(task).state) == (0, 0, "live")
    assert len(model_server.requests) == 1


@pytest.mark.behaviour("Z72")
def test_below_the_confidence_a_person_is_asked_and_may_close_it(owner, scope, task, outcome, model_server):
    model_server.will_answer(verdict(outcome, 0.84))
    close_loops(scope)
    dispute = Dispute.objects.get()
    assert (dispute.type, dispute.status, dispute.subject) == ("loop_done", "pending", task)
    assert (dispute.confidence, dispute.scanner, dispute.model) == (0.84, "loop closure", "openai:scripted-model")
    assert DONE in dispute.evidence
    assert str(outcome.pk) in dispute.evidence
    assert fresh(task).state == "live"
    disputes.resolve(actor=person(owner), dispute=dispute, version=1, resolution="retire")
    assert fresh(task).state == "invalidated"
    assert AuditEntry.objects.filter(action="close", user=owner, object_id=str(task.pk)).exists()


def test_a_person_who_keeps_it_open_is_not_asked_again_for_the_same_evidence(owner, scope, task, outcome, model_server):
    model_server.always(verdict(outcome, 0.6))
    close_loops(scope)
    disputes.resolve(actor=person(owner), dispute=Dispute.objects.get(), version=1, resolution="uphold")
    close_loops(scope)
    assert (Dispute.objects.count(), len(model_server.requests), fresh(task).state) == (1, 1, "live")


@pytest.mark.parametrize(
    "given", [{"confidence": 0.49}, {"confidence": 0.99, "closes": False}], ids=["hardly sure", "not closed by it"]
)
def test_a_loop_that_is_not_settled_stays_open_and_nobody_is_asked(scope, task, outcome, model_server, given):
    model_server.will_answer(verdict(outcome, **given))
    step = close_loops(scope)
    assert (step.found, step.done, step.skipped) == (1, 0, 1)
    assert (fresh(task).state, Dispute.objects.count()) == ("live", 0)


@pytest.mark.behaviour("Z72")
def test_evidence_that_was_not_shown_closes_nothing(scope, task, outcome, model_server):
    elsewhere = make_memory("The keys of production were rotated.", scope=scope)
    model_server.will_answer(verdict(elsewhere, 0.99))
    close_loops(scope)
    assert (fresh(task).state, Dispute.objects.count()) == ("live", 0)


def test_a_pinned_loop_is_a_persons_to_close(owner, scope, task, outcome, model_server):
    services.pin(actor=person(owner), memory=task)
    model_server.will_answer(verdict(outcome, 0.99))
    close_loops(scope)
    assert (fresh(task).state, Dispute.objects.get().type) == ("live", "loop_done")


def test_only_newer_memories_of_the_scope_that_are_near_and_no_loops_are_evidence(owner, scope, task, model_server):
    near(scope, "The keys were rotated long ago.", 0.8, age_days=9)
    near(scope, "Rotate the keys of production too.", 0.8, kind="task")
    near(scope, "Who holds the keys of staging?", 0.8, kind="open-question")
    near(scope, "The lights of staging are green.", 0.59, age_days=1)
    near(make_scope(owner, slug="work"), DONE, 0.8)
    gone = near(scope, "The keys of staging were rotated, said a rumour.", 0.8, age_days=1)
    services.forget(actor=person(owner), memory=gone)
    assert close_loops(scope).found == 0
    assert model_server.requests == []


def test_the_judge_is_shown_the_three_nearest(scope, task, model_server):
    texts = {cosine: near(scope, f"Note {cosine} about the keys.", cosine).content for cosine in (0.7, 0.9, 0.8, 0.65)}
    model_server.will_answer(verdict(None, closes=False))
    close_loops(scope)
    shown = [cosine for cosine, text in texts.items() if text in model_server.last.prompt]
    assert sorted(shown) == [0.7, 0.8, 0.9]


@pytest.mark.behaviour("F40")
@pytest.mark.behaviour("Z72")
def test_nobody_is_asked_when_nothing_is_new_and_of_the_new_only_what_is_new_is_shown(
    scope, task, outcome, model_server
):
    for cosine in (0.7, 0.72, 0.74):
        near(scope, f"Note {cosine} about the keys.", cosine)
    model_server.always(verdict(None, closes=False))
    close_loops(scope)
    close_loops(scope)
    assert len(model_server.requests) == 1
    near(scope, "The cluster of staging has new keys.", 0.61)
    close_loops(scope)
    assert len(model_server.requests) == 2
    assert "has new keys" in model_server.last.prompt
    assert DONE not in model_server.last.prompt
    assert "Note 0.7" not in model_server.last.prompt


def test_each_loop_has_its_own_last_look(scope, task, model_server):
    model_server.always(verdict(None, closes=False))
    near(scope, DONE, 0.9, age_days=4)
    assert close_loops(scope).found == 1
    near(scope, "Who rotates the keys of staging?", kind="open-question", age_days=9)
    for cosine in (0.7, 0.72, 0.74, 0.76):
        near(scope, f"Note {cosine} about the keys.", cosine, age_days=7)
    assert close_loops(scope).found == 1
    assert close_loops(scope).found == 0


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("reply", [None, prose("I would say it is done.")], ids=["an answer", "no usable answer"])
def test_what_is_embedded_while_the_judge_thinks_is_evidence_of_the_next_run(scope, task, model_server, reply):
    other = near(scope, "Renew the lease of the office.", kind="task", age_days=4)
    near(scope, "The keys hang in the hall.", 0.7, age_days=1)

    def answer(request):
        if len(model_server.requests) == 1:
            near(scope, DONE, 0.8)
            connection.close()
        return reply or verdict(None, closes=False)

    model_server.answers(answer)
    assert close_loops(scope).found == 2
    asked = len(model_server.requests)
    assert close_loops(scope).found == 2
    later = [request.prompt for request in model_server.requests[asked:]]
    for loop in (task, other):
        assert any(loop.content in prompt and DONE in prompt for prompt in later)


def test_from_which_confidence_a_person_is_asked_is_configuration(scope, task, outcome, model_server):
    HygieneConfig.objects.update_or_create(id=1, defaults={"loop_ask_confidence": 0.7})
    model_server.will_answer(verdict(outcome, 0.69))
    close_loops(scope)
    assert not Dispute.objects.exists()


def test_one_run_closes_no_more_than_so_many_oldest_first(scope, model_server):
    HygieneConfig.objects.update_or_create(id=1, defaults={"loop_most": 2})
    loops = [near(scope, f"Rotate key {n}.", kind="task", axis=n + 1, age_days=9 - n) for n in range(3)]
    evidence = near(scope, DONE, 0.9)
    model_server.always(verdict(evidence))
    step = close_loops(scope)
    assert [fresh(loop).state for loop in loops] == ["invalidated", "invalidated", "live"]
    assert "2 loops were closed" in step.note
    assert close_loops(scope).done == 1
    assert fresh(loops[2]).state == "invalidated"


def test_what_changed_while_the_model_thought_counts(owner, scope, task, outcome):
    found = LoopVerdict(**verdict(outcome))
    services.forget(actor=person(owner), memory=outcome)
    assert settled(task, outcome, found) == "left"
    services.restore(actor=person(owner), memory=outcome)
    services.pin(actor=person(owner), memory=task)
    assert settled(task, outcome, found) == "queued"
    services.forget(actor=person(owner), memory=task, reason="not needed")
    assert settled(task, outcome, found) == "left"
    assert fresh(task).invalidation_reason == "not needed"


def settled(loop, evidence, found):
    return settle(
        loop=loop,
        evidence=[evidence],
        looked_at=timezone.now(),
        verdict=found,
        model="some:model",
        closes_from=0.85,
        asks_from=0.5,
    )


def test_an_answer_that_cannot_be_used_changes_nothing_and_is_not_asked_for_again(scope, task, outcome, model_server):
    model_server.always(prose("I would say it is done."))
    step = close_loops(scope)
    asked = len(model_server.requests)
    assert (step.state, step.failed, fresh(task).state) == ("done", 1, "live")
    assert Judged.objects.get().verdict == "rejected"
    assert close_loops(scope).found == 0
    assert len(model_server.requests) == asked


def test_a_model_that_does_not_answer_fails_the_step_and_the_next_run_asks_again(scope, task, outcome, model_server):
    model_server.always(status(401))
    assert close_loops(scope).state == "failed"
    assert not Judged.objects.exists()
    model_server.always(verdict(outcome))
    assert close_loops(scope).done == 1


@pytest.mark.behaviour("F40")
def test_a_spent_budget_stops_the_step_and_says_so(scope, task, outcome, model_server, settings, monkeypatch):
    settings.MODEL_DAILY_TOKENS = 1
    model_server.always(verdict(outcome, closes=False))
    near(scope, "Rotate the keys of the lab.", kind="task", axis=4, age_days=4)
    step = close_loops(scope)
    assert step.state == "failed"
    assert "tokens it may use in a day" in step.note
    assert len(model_server.requests) == 1
    assert issubclass(BudgetSpent, hygiene.KNOWN)


def test_without_a_model_it_does_nothing_and_says_so(scope, task, outcome):
    step = close_loops(scope)
    assert (step.state, step.found) == ("done", 0)
    assert "ZEROMEMORY_MODEL" in step.note
    assert "no model" in hygiene.STEPS["loop_closure"].survey(scope)


def test_a_survey_counts_and_asks_nobody(scope, task, outcome, model_server):
    assert hygiene.STEPS["loop_closure"].survey(scope) == "would ask about 1 open loop"
    assert model_server.requests == []
