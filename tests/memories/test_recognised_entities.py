"""Known entities that a text speaks of are tied to it where its writer named none."""

from __future__ import annotations

import pytest

from memories.access import actor_for_user
from memories.entities import EntitySpec
from memories.models import Entity, MemoryEntity
from memories.services import edit, remember
from tests.factories import add_entity, make_memory, make_scope, make_token
from tests.memories.carrying import erase_everything, exported, load_bytes

pytestmark = pytest.mark.django_db


@pytest.fixture
def known(scope):
    """Ties the names to some memory, so that the scope knows them."""
    memory = make_memory("Of everything.", scope=scope)

    def knows(*names, type="thing"):
        return [add_entity(memory, name, type) for name in names]

    return knows


@pytest.fixture
def write(owner, scope):
    def written(content, **given):
        return remember(**{"actor": actor_for_user(owner), "scope": scope, "content": content} | given)

    return written


def names_of(memory):
    return sorted(memory.entities.values_list("name", flat=True))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("tide cache", "Flush the Tide  cache after a deploy."),
        ("harbour/cache.py", "See harbour/cache.py, the second function."),
        ("parse_rows", "It calls parse_rows() twice."),
        ("Redis", "We run Redis on its own machine."),
        ("tide cache", "The tide cache's size is 3 MB."),
        ("Königsberg", "Ships to Königsberg leave at noon."),
    ],
)
def test_a_name_that_can_be_nothing_else_is_recognised(known, write, name, content):
    known(name)
    done = write(content)
    assert done.recognised == (name,)
    tie = MemoryEntity.objects.get(memory=done.memory)
    assert (tie.entity.name, tie.recognised) == (name, True)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("release", "The release is cut on Monday."),
        ("Mark", "Mark the berth as closed."),
        ("Mark", "Done. Mark the berth as closed."),
        ("Go", "We write Go for the gate."),
        ("C", "We write C for the gate."),
        ("429", "The answer is 429 then."),
        ("Redis", "We run redis on its own machine."),
        ("Redis", "We run Redis-like stores."),
        ("cache.py", "See harbour/cache.py for that."),
        ("tide cache", "The tide caches are full."),
        ("unheard of", "Nothing of the kind."),
    ],
)
def test_what_may_be_something_else_is_not(known, write, name, content):
    known(name)
    assert write(content).recognised == ()


def test_who_names_something_has_said_what_it_is_about(known, write):
    known("tide cache")
    done = write("Flush the tide cache of Grey Point.", entities=[EntitySpec("Grey Point")])
    assert (done.recognised, names_of(done.memory)) == ((), ["Grey Point"])
    assert not MemoryEntity.objects.filter(recognised=True).exists()


def test_nothing_is_made_and_nothing_crosses_a_wall(known, write, owner):
    known("tide cache")
    before = Entity.objects.count()
    assert write("Flush the tide cache.", scope=make_scope(owner)).recognised == ()
    assert write("Flush the rain cache.").recognised == ()
    assert Entity.objects.count() == before


@pytest.mark.behaviour("Z71")
def test_the_typed_one_of_two_is_meant_and_of_two_types_neither(known, write):
    known("tide cache")
    known("tide cache", type="component")
    assert write("Flush the tide cache.").memory.entities.get().type == "component"
    known("tide cache", type="place")
    assert write("Flush the tide cache again.").recognised == ()


def test_an_edit_takes_back_what_was_recognised(known, write, owner):
    known("tide cache")
    memory = write("Flush the tide cache.").memory
    edit(actor=actor_for_user(owner), memory=memory, expected_version=1, entities=[])
    assert not memory.entities.exists()


def test_no_more_than_ten_are_recognised_in_one_query(known, write, django_assert_max_num_queries):
    names = [f"tide cache {letter}x" for letter in "abcdefghijkl"]
    known(*names)
    with django_assert_max_num_queries(20):
        done = write("Among " + ", ".join(names) + ".")
    assert len(done.recognised) == 10


def test_the_answers_and_the_page_tell_what_was_recognised(known, client, client_of, owner, scope):
    known("tide cache")
    bearer = {"Authorization": f"Bearer {make_token(owner, [scope])[1]}"}
    sent = {"content": "Flush the tide cache."}
    told = client.post("/api/v1/memories", sent, content_type="application/json", headers=bearer).json()
    assert told["entities_recognised"] == ["tide cache"]
    whole = client.get(f"/api/v1/memories/{told['id']}", headers=bearer).json()
    assert (whole["entities_recognised"], whole["entities"][0]["name"]) == (["tide cache"], "tide cache")
    assert "<i>recognised</i>" in client_of(owner).get(f"/memories/{told['id']}/").content.decode()


@pytest.mark.behaviour("Z87")
def test_what_was_recognised_stays_so_when_it_is_carried_elsewhere(known, write, owner, scope):
    known("tide cache")
    write("Flush the tide cache.")
    raw = exported(scope)
    erase_everything()
    load_bytes(raw, actor=actor_for_user(owner))
    ties = MemoryEntity.objects.order_by("memory__content").values_list("memory__content", "recognised")
    assert list(ties) == [("Flush the tide cache.", True), ("Of everything.", False)]
