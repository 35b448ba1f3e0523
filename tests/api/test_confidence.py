"""How sure an author was, over REST and on the pages."""

import pytest

from memories.access import actor_for_user
from memories.models import Memory, RecallActivity
from memories.services import edit
from tests.factories import make_memory

pytestmark = pytest.mark.django_db

LABELS = [("", "inferred"), ("verified", "verified"), (" Verified ", "verified"), ("a hunch", "unverified")]


@pytest.fixture
def three(scope):
    return {
        label: make_memory(f"The harbour light is {label}.", scope=scope, confidence=label)
        for label in ("unverified", "inferred", "verified")
    }


@pytest.mark.behaviour("G37")
@pytest.mark.parametrize(("said", "kept"), LABELS)
def test_what_is_said_over_rest_is_kept_and_given_back(api, said, kept):
    made = api.post("/memories", {"content": "The harbour light is green.", "confidence": said}).json()

    (result,) = api.post("/recall", {"query": "harbour light"}).json()["results"]
    assert result["confidence"] == api.get(f"/memories/{made['id']}").json()["confidence"] == kept
    assert Memory.objects.get().confidence == kept
    assert [row["confidence"] for row in api.get("/memories").json()["memories"]] == [kept]


def test_an_agent_that_rewords_what_was_verified_has_not_verified_its_words(api, owner, scope):
    memory = make_memory("The light is green.", scope=scope, confidence="verified")
    api.patch(f"/memories/{memory.pk}", {"content": "The light is red."}, version=1)
    reworded = Memory.objects.live().get()
    assert reworded.confidence == "inferred"

    edit(actor=actor_for_user(owner), memory=reworded, expected_version=2, content="It is red.", confidence="verified")
    by_person = Memory.objects.live().get()
    edit(actor=actor_for_user(owner), memory=by_person, expected_version=3, content="It is red at night.")
    assert Memory.objects.live().get().confidence == "verified"


@pytest.mark.behaviour("G37")
@pytest.mark.parametrize(
    ("least", "found"),
    [
        ("verified", {"verified"}),
        ("inferred", {"verified", "inferred"}),
        (None, {"verified", "inferred", "unverified"}),
    ],
)
def test_what_is_less_sure_is_left_out_at_every_door(api, client_of, owner, three, least, found):
    given = api.post("/recall", {"query": "harbour light", "min_confidence": least}).json()["results"]
    assert {result["confidence"] for result in given} == found

    page = client_of(owner).get("/memories/", {"q": "harbour light", "confidence": least or ""}).content.decode()
    assert {label for label, memory in three.items() if f"/memories/{memory.pk}/" in page} == found
    feed = client_of(owner).get("/memories/", {"confidence": least or ""}).content.decode()
    assert {label for label, memory in three.items() if f"/memories/{memory.pk}/" in feed} == found


def test_a_word_that_is_no_confidence_is_refused_as_a_filter(api, client_of, owner):
    assert api.post("/recall", {"query": "light", "min_confidence": "a hunch"}).status_code == 400
    assert client_of(owner).get("/memories/", {"confidence": "a hunch"}).status_code == 400


def test_the_log_has_the_number_that_counted(api, scope):
    scope.retention = "decaying"
    scope.save()
    for number in range(12):
        make_memory(f"The harbour light {number}.", scope=scope)

    assert len(api.post("/recall", {"query": "harbour light"}).json()["results"]) == 8
    assert RecallActivity.objects.get().k == 8
