"""Episodes that say the same of differently named things are not fused, and reach the inbox before any draft."""

from datetime import timedelta

import pytest
from django.utils import timezone

from memories.models import Memory
from reflections.models import Candidate, Dispute, Judged, ModelCall, ReflectionConfig
from reflections.services import disputes
from tests.factories import make_memory
from tests.llm.server import prose
from tests.reflections.distilling import distillate, searched
from tests.reflections.factories import make_episodes, pairwise, person

pytestmark = [pytest.mark.django_db, pytest.mark.behaviour("F6")]

ROLES = [
    "The CEO of Northwind signs every contract above ten thousand.",
    "The CTO of Northwind signs every contract above ten thousand.",
    "Contracts of Northwind were reviewed by counsel.",
]
CITIES = [
    "The head office of Northwind is in Lyon.",
    "The head office of Northwind is in Turin.",
    "Visitors were sent to the office of Northwind.",
]


@pytest.fixture(autouse=True)
def _pinned_band(db):
    """These tests are about disagreement, not about the band that ships."""
    ReflectionConfig.objects.update_or_create(id=1, defaults={"cosine_min": 0.78, "cosine_max": 0.92})


def told(scope, texts):
    """Episodes that cluster, a day apart, oldest first."""
    return [
        make_memory(
            text,
            kind="episode",
            scope=scope,
            author=scope.owner,
            vector=vector,
            entities=["Northwind"],
            created_at=timezone.now() - timedelta(days=9 - number),
        )
        for number, (text, vector) in enumerate(zip(texts, pairwise(0.80, len(texts)), strict=True))
    ]


def judged(relation, confidence=0.9):
    return {"relation": relation, "confidence": confidence, "rationale": "The texts say so."}


def settle(owner, resolution="keep_both"):
    dispute = Dispute.objects.get()
    return disputes.resolve(actor=person(owner), dispute=dispute, version=dispute.version, resolution=resolution)


@pytest.mark.parametrize("texts", [ROLES, CITIES], ids=["roles", "cities"])
def test_without_a_model_the_two_wait_for_a_person_and_nothing_is_drafted(scope, texts):
    one, another, _ = told(scope, texts)
    assert searched(scope) == []
    dispute = Dispute.objects.get()
    assert (dispute.type, dispute.status, dispute.confidence) == ("unjudged", "pending", None)
    assert (dispute.subject, dispute.other) == (one, another)
    assert Memory.objects.live().count() == 3


@pytest.mark.parametrize("texts", [ROLES, CITIES], ids=["roles", "cities"])
def test_once_settled_the_draft_holds_both_statements_word_for_word(owner, scope, texts):
    told(scope, texts)
    searched(scope)
    settle(owner)
    (candidate,) = searched(scope)
    assert {texts[0], texts[1]} <= {line["text"] for line in candidate.sentences}


@pytest.mark.parametrize("texts", [ROLES, CITIES], ids=["roles", "cities"])
def test_with_a_model_a_contradiction_reaches_the_inbox_and_no_draft_is_asked_for(scope, model_server, texts):
    told(scope, texts)
    model_server.will_answer(judged("contradiction"))
    assert searched(scope) == []
    dispute = Dispute.objects.get()
    assert (dispute.type, dispute.status, dispute.model) == ("contradiction", "pending", "openai:scripted-model")
    assert [call.job for call in ModelCall.objects.all()] == ["reflection"]  # a step, in whose report its tokens stand


def test_while_it_waits_the_model_is_asked_nothing_more(scope, model_server):
    told(scope, ROLES)
    model_server.will_answer(judged("contradiction"))
    searched(scope)
    assert searched(scope) == []
    assert ModelCall.objects.count() == 1


def test_what_the_model_says_goes_together_is_drafted_and_judged_once(scope, model_server):
    told(scope, ROLES)
    model_server.will_answer(judged("complementary"), distillate())
    (candidate,) = searched(scope)
    assert candidate.state == "pending"
    assert Judged.objects.get().verdict == "complementary"
    assert not Dispute.objects.exists()


def test_an_answer_that_cannot_be_used_leaves_it_to_a_person(scope, model_server):
    told(scope, ROLES)
    model_server.always(prose("I cannot tell."))
    assert searched(scope) == []
    assert Dispute.objects.get().type == "unjudged"


def test_episodes_in_a_contradiction_that_another_scan_found_are_not_distilled(scope):
    first, second, _ = make_episodes(scope)
    disputes.open_pair(one=first, another=second, type="contradiction", scanner="pair scan")
    assert searched(scope) == []
    assert not Candidate.objects.exists()


def test_the_forgotten_side_leaves_the_cluster(owner, scope):
    one, another, _ = told(scope, CITIES)
    told_more = make_memory(
        "The office of Northwind has a garden.",
        kind="episode", scope=scope, author=owner, vector=pairwise(0.80, 4)[3], entities=["Northwind"],
    )  # fmt: skip
    searched(scope)
    dispute = Dispute.objects.get()
    disputes.resolve(
        actor=person(owner), dispute=dispute, version=dispute.version, resolution="forget", winner=another.pk
    )
    (candidate,) = searched(scope)
    assert one not in candidate.episodes.all()
    assert told_more in candidate.episodes.all()


def test_episodes_that_differ_in_numbers_only_are_drafted_as_before(scope):
    make_episodes(scope)
    (candidate,) = searched(scope)
    assert candidate.state == "pending"
    assert not Dispute.objects.exists()
