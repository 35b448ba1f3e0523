"""How sure an author was: kept at every door, shown, filtered by, and counted only where a scope says so."""

import pytest

from memories.access import actor_for_user
from memories.models import AuditEntry, Memory
from memories.recall import recall
from memories.services import edit, remember
from tests.factories import make_memory, make_scope, unit
from tests.memories.pages import Html
from tests.memories.retention.cycling import make_decaying
from tests.memories.searching import find_in, ids

pytestmark = pytest.mark.django_db


@pytest.mark.behaviour("G37")
def test_the_form_keeps_it_and_pages_show_it(client_of, owner, scope):
    mine = client_of(owner)
    sent = {"content": "The harbour light is green.", "kind": "fact", "scope": scope.pk, "confidence": "verified"}
    answer = mine.post("/memories/new/", sent)
    memory = Memory.objects.get()

    assert memory.confidence == "verified"
    assert "Verified" in mine.get(answer["Location"]).content.decode()
    assert "verified" in [badge.text for badge in Html(mine.get("/memories/")).classed("badge")]


def test_a_label_is_changed_in_place_and_on_record(owner, scope):
    memory = make_memory(scope=scope, confidence="unverified")

    edit(actor=actor_for_user(owner), memory=memory, expected_version=1, confidence="verified")

    memory.refresh_from_db()
    assert (memory.confidence, memory.version) == ("verified", 2)
    assert AuditEntry.objects.get().detail["fields"] == ["confidence"]


def test_saying_the_same_again_leaves_the_label_and_says_so(owner, scope):
    actor = actor_for_user(owner)
    remember(actor=actor, scope=scope, content="The light is green.")
    again = remember(actor=actor, scope=scope, content="The light is green.", confidence="Verified")

    assert again.memory.confidence == "inferred"
    assert "Not changed: confidence." in again.notices[0]


# Filter ----------------------------------------------------------------------------------------


@pytest.fixture
def three(scope):
    return {
        label: make_memory(f"The harbour light is {label}.", scope=scope, confidence=label)
        for label in ("unverified", "inferred", "verified")
    }


@pytest.mark.behaviour("G37")
def test_what_is_left_out_takes_no_places_of_the_k(scope):
    for number in range(60):
        make_memory(f"alpha beta {number}", scope=scope, confidence="unverified", vector=unit(1))
    sure = make_memory("alpha", scope=scope, confidence="verified", vector=unit(0.3, 0.9))

    assert ids(find_in(scope, k=1, confidences=("verified",))) == [sure.pk]


def test_an_empty_answer_says_what_the_filter_hides(owner, three):
    actor = actor_for_user(owner)
    Memory.objects.update(confidence="inferred")

    found = recall(actor=actor, query="harbour light", min_confidence="verified")

    assert [one.said() for one in found.without] == ["0 so sure, 3 without"]


# Score -----------------------------------------------------------------------------------------


def _equals(scope):
    """Three that match alike; the least sure is the newest, and so the first of equals."""
    return [
        make_memory(f"alpha beta {number}", scope=scope, vector=unit(1), confidence=label, age_days=3 - number)
        for number, label in enumerate(("verified", "inferred", "unverified"))
    ]


@pytest.mark.behaviour("G37")
def test_without_a_weight_the_label_moves_nothing():
    scope = make_decaying()
    verified, inferred, unverified = _equals(scope)

    results = find_in(scope)

    assert ids(results) == [unverified.pk, inferred.pk, verified.pk]
    assert {result.factors.confidence for result in results} == {1.0}


@pytest.mark.behaviour("G37", "X1")
def test_a_weight_of_a_half_makes_it_one_and_a_half_and_a_half():
    scope = make_decaying(confidence_weight=0.5)
    wanted = {memory.pk: factor for memory, factor in zip(_equals(scope), (1.5, 1.0, 0.5), strict=True)}

    results = find_in(scope)

    assert ids(results) == list(wanted)
    for result in results:
        assert result.factors.confidence == wanted[result.memory.pk]
        assert result.score == pytest.approx(result.factors.product, abs=1e-9)
    assert "verified ×1.50" in results[0].why
    assert "lowered most by being unverified (×0.50)" in results[-1].why


def test_in_a_scope_that_ages_a_policy_of_old_counts_for_nothing():
    scope = make_decaying(confidence_weight=0.5)
    scope.retention = "ageing"
    scope.save()
    _equals(scope)

    assert {result.factors.confidence for result in find_in(scope)} == {1.0}


def test_each_scope_lets_it_count_by_its_own_weight(owner):
    counts, counts_not = make_decaying(owner=owner, confidence_weight=0.5), make_scope(owner)
    for scope in (counts, counts_not):
        make_memory(f"harbour light of {scope.slug}", scope=scope, confidence="verified")

    results = recall(actor=actor_for_user(owner), query="harbour light").results

    assert {result.memory.scope_id: result.factors.confidence for result in results} == {
        counts.pk: 1.5,
        counts_not.pk: 1.0,
    }
