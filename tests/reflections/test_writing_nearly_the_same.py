"""What becomes of texts that say nearly the same, from the write to the next pair scan, with the packaged embedder."""

import pytest

from memories.embedding_queue import embed_waiting
from memories.models import Embedding, Memory
from memories.services import remember
from reflections.models import Dispute
from tests.reflections.factories import person
from tests.reflections.stepping import fresh, run_step

pytestmark = pytest.mark.django_db

ALLOWED = "The nightly export may be stopped by hand."
FORBIDDEN = "The nightly export may not be stopped by hand."
IN_OTHER_LETTERS = "the nightly export may be stopped by hand"


def written(owner, scope, text, **given):
    return remember(actor=person(owner), scope=scope, content=text, **given)


def scan(scope):
    embed_waiting()
    return run_step("pair_scan", scope)


def cosine():
    one, another = Embedding.objects.values_list("vector", flat=True)
    return float(sum(a * b for a, b in zip(one, another, strict=True)))


@pytest.mark.behaviour("Z49")
def test_only_the_exact_text_is_swallowed_when_it_is_written(owner, scope):
    first = written(owner, scope, ALLOWED)
    again = written(owner, scope, ALLOWED)
    assert (again.memory, again.deduplicated) == (first.memory, True)
    assert not written(owner, scope, IN_OTHER_LETTERS).deduplicated
    assert not written(owner, scope, FORBIDDEN).deduplicated
    assert Memory.objects.live().count() == 3


@pytest.mark.behaviour("Z49")
def test_the_opposite_in_nearly_the_same_words_is_stored_and_queued(owner, scope):
    for text in (ALLOWED, FORBIDDEN):
        written(owner, scope, text)
    scan(scope)
    assert cosine() >= 0.92
    assert Memory.objects.live().count() == 2
    dispute = Dispute.objects.get()
    assert (dispute.type, dispute.status) == ("unjudged", "pending")
    assert {side.content for side in dispute.sides} == {ALLOWED, FORBIDDEN}


@pytest.mark.behaviour("Z49")
def test_with_a_judge_the_opposite_is_queued_as_a_contradiction(owner, scope, model_server):
    for text in (ALLOWED, FORBIDDEN):
        written(owner, scope, text)
    model_server.will_answer({"relation": "contradiction", "confidence": 1, "rationale": "One says may not."})
    scan(scope)
    dispute = Dispute.objects.get()
    assert (dispute.type, dispute.status, Memory.objects.live().count()) == ("contradiction", "pending", 2)


@pytest.mark.behaviour("Z49")
@pytest.mark.parametrize("weaker_first", [True, False], ids=["weaker first", "weaker last"])
def test_a_weaker_provisional_note_of_the_same_words_is_swallowed_by_the_next_scan(owner, scope, weaker_first):
    texts = [(IN_OTHER_LETTERS, {"provenance": 0}), (ALLOWED, {})]
    rows = {text: written(owner, scope, text, **given).memory for text, given in texts[:: 1 if weaker_first else -1]}
    scan(scope)
    assert cosine() >= 0.92
    assert (fresh(rows[IN_OTHER_LETTERS]).superseded_by, fresh(rows[ALLOWED]).state) == (rows[ALLOWED], "live")
    assert Dispute.objects.get().resolution == "superseded"


@pytest.mark.behaviour("Z49")
def test_a_weaker_provisional_note_that_says_the_opposite_is_not_swallowed(owner, scope):
    rows = [written(owner, scope, ALLOWED).memory, written(owner, scope, FORBIDDEN, provenance=0).memory]
    scan(scope)
    assert [fresh(row).state for row in rows] == ["live", "live"]
    assert Dispute.objects.get().type == "unjudged"
