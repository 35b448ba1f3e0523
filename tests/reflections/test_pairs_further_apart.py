"""Pairs below the cosine from which all are compared: a judge is asked about some, and nobody else hears of them."""

import pytest

from memories.entities import EntitySpec, attach
from memories.models import Entity, MemoryEntity
from reflections.comparable import widely_named
from reflections.models import Dispute, HygieneConfig, Judged, Watermark
from reflections.steps import pairs
from reflections.worth_asking import WIDELY
from tests.factories import make_memory, make_scope
from tests.llm.server import answer, prose
from tests.reflections.stepping import fresh, near, run_step

pytestmark = pytest.mark.django_db

FURTHER = 0.74
ONE_SHAPE = ("Session data is stored in Redis.", "Session data is stored in PostgreSQL.")
OF_A_NAME = ("Sessions outlive a restart.", "All keys are volatile.")


def contradiction():
    return answer({"relation": "contradiction", "confidence": 0.9, "rationale": "As it was told to say."})


def two(scope, texts, *names, cosine=FURTHER, **given):
    """Two memories at this cosine, about what *names* says."""
    found = near(scope, texts[0], age_days=1, **given), near(scope, texts[1], cosine, **given)
    for memory in found:
        attach(memory, [EntitySpec(name) for name in names])
    return found


def tied(scope, name, number):
    """So many more memories of the scope that have the entity."""
    entity, _ = Entity.objects.get_or_create(scope=scope, name=name, canonical=name.casefold())
    more = [make_memory(f"note {at}", scope=scope) for at in range(number)]
    MemoryEntity.objects.bulk_create([MemoryEntity(memory=memory, entity=entity) for memory in more])


@pytest.mark.parametrize(
    ("texts", "names"), [(ONE_SHAPE, ()), (OF_A_NAME, ("Redis",))], ids=["of one shape", "about one thing"]
)
def test_a_judge_is_asked_about_one_shape_and_about_one_thing(scope, model_server, texts, names):
    model_server.always(contradiction())
    found = two(scope, texts, *names)
    run_step("pair_scan", scope)
    dispute = Dispute.objects.get()
    assert (dispute.type, dispute.status, dispute.proposed_winner) == ("contradiction", "pending", None)
    assert {dispute.subject, dispute.other} == set(found)


def test_nothing_is_asked_about_two_that_share_neither(scope, model_server):
    two(scope, OF_A_NAME)
    assert (run_step("pair_scan", scope).found, model_server.requests) == (0, [])


def test_nothing_is_asked_below_the_lower_bound_which_is_configuration(scope, model_server):
    model_server.always(contradiction())
    two(scope, ONE_SHAPE, cosine=0.69)
    assert run_step("pair_scan", scope).found == 0
    HygieneConfig.objects.update_or_create(id=1, defaults={"pair_cosine_alike": 0.65})
    Watermark.objects.all().delete()
    assert run_step("pair_scan", scope).found == 1


def test_without_a_model_nobody_hears_of_them(scope):
    found = two(scope, ONE_SHAPE)
    assert pairs.survey(scope) == "would compare 0 pairs of memories that lie near each other"
    assert run_step("pair_scan", scope).found == 0
    assert not Dispute.objects.exists()
    assert [fresh(memory).state for memory in found] == ["live", "live"]


def test_a_dry_run_counts_what_a_judge_would_be_asked_about(scope, model_server):
    two(scope, ONE_SHAPE)
    assert pairs.survey(scope) == "would compare 1 pair of memories that lie near each other"
    assert model_server.requests == []


def test_an_answer_that_cannot_be_used_leaves_nothing_to_a_person_and_is_not_asked_for_again(scope, model_server):
    model_server.always(prose("I would say they differ."))
    two(scope, ONE_SHAPE)
    step = run_step("pair_scan", scope)
    asked = len(model_server.requests)
    assert (step.state, step.found, step.skipped, step.failed) == ("done", 1, 1, 1)
    assert (Dispute.objects.count(), Judged.objects.get().verdict) == (0, "rejected")
    Watermark.objects.all().delete()
    assert run_step("pair_scan", scope).found == 0
    assert len(model_server.requests) == asked


def test_a_session_does_not_correct_itself_there_whatever_the_configuration(scope, model_server):
    HygieneConfig.objects.update_or_create(id=1, defaults={"same_session_cosine": 0.70})
    found = two(scope, ("The export runs on Monday.", "The export runs on Friday."), session="s1")
    assert run_step("pair_scan", scope).skipped == 1
    assert [fresh(memory).state for memory in found] == ["live", "live"]


# Names that say little ----------------------------------------------------------------------


def test_an_entity_of_more_than_a_hundred_memories_is_no_reason_to_ask(scope, model_server):
    two(scope, OF_A_NAME, "Redis")
    tied(scope, "Redis", WIDELY - 1)
    assert run_step("pair_scan", scope).found == 0
    assert model_server.requests == []


def test_names_are_counted_in_ties_and_in_texts_of_live_memories_of_the_scope(owner, scope):
    names = {"redis", "retry_limit", "north quay"}
    tied(scope, "Redis", WIDELY + 1)
    for at in range(WIDELY):
        make_memory(f"Note {at}: retry_limit is read.", scope=scope)
    for at in range(WIDELY + 1):
        make_memory(f"Note {at}: the North Quay is wet.", scope=make_scope(owner) if at == 0 else scope)
    assert widely_named(scope, names) == {"redis"}
    make_memory("retry_limit is read again.", scope=scope)
    make_memory("The quay in the north, north quay.", scope=scope)
    assert widely_named(scope, names) == names
    assert widely_named(scope, set()) == set()
    assert widely_named(make_scope(owner), names) == set()
