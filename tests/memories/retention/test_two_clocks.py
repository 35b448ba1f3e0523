"""A scope goes by one clock, and every answer says by which."""

import pytest
from django.test import Client
from django.urls import reverse

from memories.access import actor_for_user
from memories.models import Memory, Scope
from memories.recall import recall
from tests.api.conftest import Api
from tests.factories import make_memory, make_scope, make_token, make_user
from tests.memories.retention.cycling import cycle, make_decaying

pytestmark = pytest.mark.django_db


def both_clocks() -> tuple[Scope, Scope]:
    """A scope that ages and one that decays, of one person, each with a memory of 60 days."""
    owner = make_user()
    ageing, decaying = make_scope(owner, slug="ages"), make_scope(owner, slug="decays", retention="decaying")
    for scope in (ageing, decaying):
        make_memory(f"The harbour light of {scope.slug} is green.", scope=scope, kind="episode", age_days=60)
    return ageing, decaying


@pytest.mark.behaviour("X5")
def test_where_use_counts_age_does_not_and_the_other_way_round() -> None:
    ageing, decaying = both_clocks()
    Memory.objects.update(weight=0.25)

    found = {
        result.memory.scope_id: result
        for result in recall(actor=actor_for_user(ageing.owner), query="harbour light").results
    }

    aged, decayed = found[ageing.pk], found[decaying.pk]
    assert aged.factors.age == pytest.approx(0.25, rel=1e-4)
    assert decayed.factors.age == 1.0
    assert aged.policy == "ageing"
    assert decayed.policy == "decaying"
    for result in found.values():
        assert result.factors.product == pytest.approx(result.score, abs=1e-9)


@pytest.mark.behaviour("X5")
def test_no_weight_and_no_cycle_moves_a_score() -> None:
    scope = make_decaying(fill=20)
    light = make_memory("The harbour light is green.", scope=scope, age_days=150)
    actor = actor_for_user(scope.owner)
    before = [(result.memory.pk, result.score) for result in recall(actor=actor, query="harbour light").results]

    cycle(scope)

    assert Memory.objects.get(pk=light.pk).weight < 0.05
    assert [(result.memory.pk, result.score) for result in recall(actor=actor, query="harbour light").results] == before


@pytest.mark.behaviour("X5")
def test_every_door_names_the_clock_in_force() -> None:
    ageing, decaying = both_clocks()
    _, secret = make_token(ageing.owner, [ageing, decaying])
    person = Client()
    person.force_login(ageing.owner)

    told = Api(secret).post("/recall", {"query": "harbour light"}).json()
    policies = {result["scope"]: (result["factors"]["age"], result["why"]) for result in told["results"]}
    assert told["policy"] == "mixed"
    assert policies["decays"][0] == 1.0
    assert "because its scope keeps weight by last access" in policies["decays"][1]
    assert policies["ages"][0] < 1.0
    alone = Api(secret).post("/recall", {"query": "harbour light", "scopes": ["decays"]}).json()
    assert alone["policy"] == "decaying"

    page = person.get(reverse("memory_list"), {"q": "harbour light", "scope": "decays"}).content.decode()
    assert "its scope keeps by last access, so age does not count" in page
