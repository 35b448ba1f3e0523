from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from memories.models import AuditEntry, Embedding, Memory
from reflections import hygiene
from reflections.models import Dispute, HygieneConfig, Judged, ModelCall, Watermark
from reflections.steps import pairs
from tests.factories import at_cosine, make_memory, make_scope
from tests.llm.server import prose, status
from zeromemory.embedding import get_embedder

pytestmark = pytest.mark.django_db
STEP = ["pair_scan"]


def near(scope, content, cosine=1.0, *, axis=1, **given):
    """A memory at this similarity to every other one with a cosine of 1."""
    return make_memory(content, scope=scope, vector=at_cosine(cosine, axis=axis), **given)


def scan(*scopes):
    """One run of the step; what it reports."""
    embedder = get_embedder()
    Embedding.objects.update(model=embedder.name, model_version=embedder.version)
    Memory.objects.filter(embeddings__isnull=False).update(embedded_with=embedder.stamp)
    run = hygiene.start_cycle(actor=None, scopes=scopes, steps=STEP, ring=False).run
    hygiene.work_on(run.pk)
    return run.steps.get()


def verdict(relation, confidence=0.97, rationale="The texts say so."):
    return {"relation": relation, "confidence": confidence, "rationale": rationale}


@pytest.fixture
def two(scope):
    return near(scope, "The export runs on Monday.", age_days=3), near(scope, "The export runs on Friday.", 0.9)


def states(*memories):
    return [Memory.objects.get(pk=memory.pk).state for memory in memories]


# Without a model -----------------------------------------------------------------------------


@pytest.mark.behaviour("F5")
def test_nothing_is_decided_by_similarity_alone(scope, two):
    step = scan(scope)
    dispute = Dispute.objects.get()
    assert (dispute.type, dispute.status, dispute.confidence, dispute.proposed_winner) == (
        "unjudged",
        "pending",
        None,
        None,
    )
    assert states(*two) == ["live", "live"]
    assert (step.state, step.found, step.done) == ("done", 1, 1)


def test_the_same_text_in_other_letters_is_forgotten_and_can_be_restored(scope):
    older, newer = near(scope, "The export runs on Monday.", age_days=2), near(scope, "the export runs on monday", 0.99)
    scan(scope)
    assert states(older, newer) == ["invalidated", "live"]
    assert Dispute.objects.get().resolution == "forgot"
    entry = AuditEntry.objects.get(action="settle_dispute")
    assert (entry.actor, entry.detail["scanner"]) == ("pair scan", "pair scan")


def test_what_is_pinned_or_of_a_protected_kind_waits_for_a_person(scope):
    near(scope, "Deploy on Monday.", kind="decision", age_days=2)
    near(scope, "deploy on monday", 0.99, kind="decision")
    scan(scope)
    assert (Dispute.objects.get().status, Memory.objects.live().count()) == ("pending", 2)


def test_a_text_without_an_end_is_not_forgotten_for_one_that_ends_soon(scope):
    lasting = near(scope, "The export runs on Monday.", age_days=2)
    passing = near(scope, "the export runs on monday", 0.99, valid_until=timezone.now() + timedelta(days=7))
    scan(scope)
    dispute = Dispute.objects.get()
    assert (dispute.type, dispute.status, dispute.proposed_winner) == ("duplicate", "pending", passing)
    assert states(lasting, passing) == ["live", "live"]


def test_episodes_other_scopes_and_what_is_less_alike_are_no_pairs(owner, scope):
    near(scope, "The export failed.", kind="episode")
    near(scope, "The export failed again.", 0.95, kind="episode")
    near(scope, "The export is dull.", 0.77, axis=2)
    near(make_scope(owner), "The export failed elsewhere.")
    near(scope, "The export failed for good.")
    assert scan(scope).found == 0
    assert not Dispute.objects.exists()


def test_a_memory_is_compared_with_its_nearest_only(scope):
    HygieneConfig.objects.update_or_create(id=1, defaults={"pair_candidates": 2})
    for number, cosine in enumerate([0.80, 0.85, 0.90, 0.95]):
        near(scope, f"note {number}", cosine, axis=2 + number, age_days=30)
    Memory.objects.update(recorded_at=timezone.now() - timedelta(days=30))
    near(scope, "the new one")
    assert scan(scope).found == 2


@pytest.mark.behaviour("X7")
def test_a_second_scan_finds_nothing_to_do(scope, two):
    scan(scope)
    before = list(Dispute.objects.values()), list(Memory.objects.order_by("pk").values())
    assert scan(scope).found == 0
    assert (list(Dispute.objects.values()), list(Memory.objects.order_by("pk").values())) == before


def test_what_was_written_before_the_days_of_the_scan_is_no_subject(scope, two):
    Memory.objects.update(recorded_at=timezone.now() - timedelta(days=8))
    assert scan(scope).found == 0


def test_what_had_no_vector_yet_is_a_subject_of_the_next_scan(scope, two):
    late = make_memory("The export runs on Sunday.", scope=scope)
    Memory.objects.filter(pk=late.pk).update(recorded_at=timezone.now() - timedelta(hours=1))
    scan(scope)
    assert late.pk in pairs.subjects_of(scope, HygieneConfig())


def test_more_than_a_person_can_look_at_is_left_for_the_next_run(scope):
    HygieneConfig.objects.update_or_create(id=1, defaults={"pair_most": 3})
    for number in range(6):
        near(scope, f"note number {number}", 0.99, axis=2 + number)
    step = scan(scope)
    assert "3 pairs of home were left for a person" in step.note
    assert Dispute.objects.count() == 3
    assert not Watermark.objects.exists()
    scan(scope)
    assert Dispute.objects.count() == 6


def test_a_judge_that_understands_nothing_is_asked_a_few_times_and_no_more(scope, model_server):
    for number in range(12):
        near(scope, f"note number {number}", 0.99, axis=2 + number)
    model_server.always(prose("I would say they differ."))
    step = scan(scope)
    assert (step.state, ModelCall.objects.count()) == ("failed", 5)
    assert "no usable answer 5 times one after another" in step.note


# With a model --------------------------------------------------------------------------------


def test_a_correction_the_judge_is_sure_of_supersedes_and_names_the_model(scope, two, model_server):
    model_server.answers(lambda request: verdict("b_supersedes_a" if a_is(request, "Monday") else "a_supersedes_b"))
    scan(scope)
    assert states(*two) == ["superseded", "live"]
    dispute = Dispute.objects.get()
    assert (dispute.status, dispute.confidence, dispute.rationale) == ("resolved", 0.97, "The texts say so.")
    assert dispute.model
    assert dispute.model in AuditEntry.objects.get(action="settle_dispute").actor


def a_is(request, word):
    """Whether the memory that the judge is shown first holds *word*."""
    texts = sorted((request.prompt.index(day), day) for day in ("Monday", "Friday"))
    return texts[0][1] == word


def test_a_contradiction_waits_for_a_person_with_what_the_judge_said(scope, two, model_server):
    model_server.will_answer(verdict("contradiction", 0.99, "Monday and Friday cannot both be."))
    scan(scope)
    dispute = Dispute.objects.get()
    assert (dispute.type, dispute.status, dispute.proposed_winner) == ("contradiction", "pending", None)
    assert dispute.rationale == "Monday and Friday cannot both be."
    assert states(*two) == ["live", "live"]


@pytest.mark.behaviour("F40")
@pytest.mark.parametrize("relation", ["complementary", "unrelated", "contradiction"])
def test_no_judge_is_asked_about_a_pair_again(scope, two, model_server, relation):
    model_server.will_answer(verdict(relation))
    scan(scope)
    Watermark.objects.all().delete()
    scan(scope)
    assert (len(model_server.requests), Judged.objects.get().verdict) == (1, relation)


@pytest.mark.behaviour("Z46")
def test_a_pair_that_was_queued_whatever_became_of_it_is_never_judged(scope, two, model_server):
    Dispute.objects.create(
        scope=scope,
        type="duplicate",
        subject=two[0],
        other=two[1],
        status="dismissed",
        resolution="swept",
        opened_actor="x",
        decided_actor="x",
        decided_at=timezone.now(),
    )
    assert scan(scope).found == 0
    assert model_server.requests == []


@pytest.mark.behaviour("Z47")
def test_a_pair_of_two_projects_costs_no_question(scope, model_server):
    near(scope, "Bump the version.", source="git:alpha@0123456789abcdef")
    near(scope, "Bump the version again.", 0.95, source="git:beta@0123456789abcdef")
    assert scan(scope).skipped == 1
    assert (model_server.requests, Dispute.objects.count()) == ([], 0)


def test_the_judge_reads_kinds_dates_and_who_stands_behind_a_text(scope, two, model_server):
    model_server.will_answer(verdict("unrelated"))
    scan(scope)
    prompt = model_server.last.prompt
    assert f"{two[0].created_at:%Y-%m-%d}" in prompt
    assert "The export runs on Monday." in prompt
    assert "agent" in prompt


def test_a_judge_that_makes_no_sense_leaves_the_pair_to_a_person(scope, two, model_server):
    model_server.always(prose("I would say they differ."))
    step = scan(scope)
    dispute = Dispute.objects.get()
    assert (dispute.type, dispute.confidence) == ("unjudged", None)
    assert "no usable answer" in dispute.rationale
    assert (step.state, step.failed) == ("done", 1)
    assert ModelCall.objects.get().raw


def test_a_judge_that_is_away_stops_the_step_and_the_pair_stays_free(scope, two, model_server):
    model_server.always(status(500))
    step = scan(scope)
    assert (step.state, step.found) == ("failed", 0)
    assert step.note
    assert (Dispute.objects.count(), Watermark.objects.count()) == (0, 0)
    model_server.always(verdict("complementary"))
    assert scan(scope).state == "done"
    assert Judged.objects.count() == 1


@pytest.mark.behaviour("F40")
def test_a_spent_budget_stops_the_step_and_says_so(scope, two, model_server, settings):
    settings.MODEL_DAILY_TOKENS = 10
    ModelCall.objects.create(
        job="pair_scan", model="m", input_tokens=9, output_tokens=2, requests=1, seconds=1, outcome="answered"
    )
    step = scan(scope)
    assert (step.state, model_server.requests) == ("failed", [])
    assert "11 of the 10 tokens" in step.note


def test_thresholds_of_the_configuration_count_from_the_next_scan_on(scope, two, model_server):
    HygieneConfig.objects.update_or_create(id=1, defaults={"supersedes_confidence": 0.99})
    model_server.will_answer(verdict("b_supersedes_a", 0.97))
    scan(scope)
    assert Dispute.objects.get().status == "pending"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("written", ["meanwhile", "before"])
def test_what_is_written_or_embedded_while_the_judge_thinks_is_a_subject_of_the_next_scan(
    scope, two, model_server, monkeypatch, written
):
    monkeypatch.setattr(pairs, "OVERLAP", timedelta(0))
    waiting = make_memory("The export runs on Sunday.", scope=scope, age_days=1)
    late = []

    def answer(request):
        late.append(waiting if written == "before" else near(scope, "The export runs on Tuesday.", 0.95))
        embed(waiting, *late)
        connection.close()
        return verdict("complementary")

    model_server.answers(answer)
    scan(scope)
    assert late[0].pk in pairs.subjects_of(scope, HygieneConfig())


def embed(*memories):
    rows = Memory.objects.filter(pk__in=[memory.pk for memory in memories])
    rows.update(embedded_at=timezone.now(), embedded_with=get_embedder().stamp)


def test_how_alike_two_of_a_session_must_be_is_configuration(scope):
    HygieneConfig.objects.update_or_create(id=1, defaults={"same_session_cosine": 0.85})
    older = near(scope, "The export runs on Monday.", age_days=1, session="s1")
    newer = near(scope, "The export runs on Friday.", 0.9, session="s1")
    scan(scope)
    assert states(older, newer) == ["superseded", "live"]


@pytest.mark.parametrize(
    ("threshold", "newer"), [("authority_confidence", 1), ("provisional_confidence", 0)], ids=["authority", "newer"]
)
def test_what_a_provisional_note_gives_way_to_is_configuration(scope, model_server, threshold, newer):
    HygieneConfig.objects.update_or_create(id=1, defaults={threshold: 0.7})
    near(scope, "The export runs on Monday.", age_days=1, provenance=0)
    near(scope, "The export runs on Friday.", 0.9, provenance=newer)
    model_server.always(verdict("contradiction", 0.69))
    scan(scope)
    assert Dispute.objects.get().status == "pending"


def test_a_dry_run_counts_the_pairs_and_asks_nobody(scope, two, model_server):
    embedder = get_embedder()
    Embedding.objects.update(model=embedder.name, model_version=embedder.version)
    assert pairs.survey(scope) == "would compare 1 pair of memories that lie near each other"
    assert (model_server.requests, Dispute.objects.count(), Watermark.objects.count()) == ([], 0, 0)
