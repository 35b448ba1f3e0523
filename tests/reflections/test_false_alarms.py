"""What the pair scan does with pairs that only look like contradictions, and with those that are; with real vectors.

How well a model tells the two apart is no matter of these tests: their judge says what it is told.
"""

import pytest

from memories.embedding_queue import embed_waiting
from memories.models import Memory
from reflections.models import Dispute, HygieneConfig, ModelCall
from tests.factories import make_memory, make_scope
from tests.llm.server import answer
from tests.memories.pages import Html
from tests.reflections.doubtful_pairs import CONTRADICTING, DENSE, UNRELATED
from tests.reflections.stepping import run_step

pytestmark = pytest.mark.django_db
WIDER = 0.70  # below the cosine that ships: see docs/explanation/hygiene.md


def scanned(owner, pairs):
    """Each pair in a scope of its own, embedded by the embedder that ships, and looked through once."""
    scopes = [make_scope(owner) for _ in pairs]
    for scope, pair in zip(scopes, pairs, strict=True):
        for text in pair:
            make_memory(text, scope=scope)
    embed_waiting(seconds=300, most=1000)
    assert not Memory.objects.filter(embedded_at=None).exists()
    return run_step("pair_scan", *scopes)


def judged(relation):
    return answer({"relation": relation, "confidence": 0.9, "rationale": "As it was told to say."})


@pytest.mark.behaviour("F22")
@pytest.mark.parametrize("cosine", [0.78, WIDER])
def test_without_a_model_jargon_and_negations_disturb_nobody(owner, cosine):
    HygieneConfig.objects.update_or_create(id=1, defaults={"pair_cosine": cosine})
    scanned(owner, UNRELATED + DENSE)
    assert Dispute.objects.count() <= 0.02 * len(UNRELATED + DENSE)
    assert not Dispute.objects.filter(type="contradiction").exists()
    assert Memory.objects.live().count() == 160


def test_without_a_model_nothing_is_called_a_contradiction(owner):
    scanned(owner, CONTRADICTING)
    assert set(Dispute.objects.values_list("type", "confidence")) == {("unjudged", None)}
    assert Memory.objects.live().count() == 40


@pytest.mark.behaviour("F22")
def test_with_a_model_that_contradicts_everything_jargon_and_negations_still_disturb_nobody(owner, model_server):
    model_server.always(judged("contradiction"))
    scanned(owner, UNRELATED + DENSE)
    assert Dispute.objects.count() == ModelCall.objects.count() <= 0.02 * len(UNRELATED + DENSE)


@pytest.mark.behaviour("F22")
@pytest.mark.parametrize(("cosine", "least"), [(0.78, 17), (WIDER, 18)])
def test_so_many_true_contradictions_are_shown_to_a_judge_and_queued_as_it_says(owner, model_server, cosine, least):
    HygieneConfig.objects.update_or_create(id=1, defaults={"pair_cosine": cosine})
    model_server.always(judged("contradiction"))
    scanned(owner, CONTRADICTING)
    queued = Dispute.objects.filter(type="contradiction", status="pending", proposed_winner=None)
    assert queued.count() == ModelCall.objects.count() >= least
    assert Memory.objects.live().count() == 40


def test_what_the_judge_calls_compatible_disturbs_nobody(owner, model_server):
    HygieneConfig.objects.update_or_create(id=1, defaults={"pair_cosine": 0.0})  # so that it is asked at all
    model_server.always(judged("complementary"))
    scanned(owner, DENSE)
    assert ModelCall.objects.count() == len(DENSE)
    assert not Dispute.objects.exists()


@pytest.mark.behaviour("F22")
def test_both_sentences_stand_side_by_side_in_the_inbox(owner, model_server, client_of):
    pair = CONTRADICTING[1]
    model_server.always(judged("contradiction"))
    scanned(owner, [pair])
    sides = Html(client_of(owner).get("/inbox/")).classed("side")
    texts = ["".join(side.text.split()) for side in sides]  # marks of differences stand between the words
    assert ["".join(sentence.split()) in text for sentence, text in zip(pair, texts, strict=True)] == [True, True]
