import pytest
from django.db import transaction

from memories import services
from memories.models import AuditEntry, Entity, Memory, MemoryEntity
from memories.services import EntitySpec
from memories.services import entities as entity_services
from reflections import hygiene
from tests.factories import add_entity, make_memory, make_scope
from tests.reflections.factories import person
from tests.reflections.stepping import fresh, run_step
from tests.reflections.together import at_once

pytestmark = pytest.mark.django_db


def merge(*scopes):
    return run_step("entity_merge", *scopes)


def named(memory):
    return sorted((entity.canonical, entity.type) for entity in memory.entities.all())


def test_memories_of_an_untyped_name_get_the_entity_of_a_type(scope):
    typed, untyped, both = (make_memory(scope=scope) for _ in range(3))
    add_entity(typed, "Redis", "tool")
    add_entity(untyped, "redis")
    for kind in ("tool", "thing"):
        add_entity(both, "Redis", kind)
    step = merge(scope)
    assert (step.state, step.found, step.done) == ("done", 1, 1)
    assert [named(memory) for memory in (typed, untyped, both)] == [[("redis", "tool")]] * 3
    assert step.note == ""


@pytest.mark.behaviour("Z52")
def test_the_trail_of_each_memory_names_both_entities_and_the_scanner(scope):
    typed, untyped = make_memory(scope=scope), make_memory(scope=scope)
    into, entity = add_entity(typed, "Redis", "tool"), add_entity(untyped, "Redis")
    merge(scope)
    entry = AuditEntry.objects.get(action="merge_entities")
    assert (entry.actor, entry.object_id, entry.scope) == ("entity merge", str(untyped.pk), scope)
    assert entry.detail == {"scanner": "entity merge", "from": str(entity.pk), "into": str(into.pk)}


def test_a_merge_is_no_change_of_the_memory(scope):
    typed, untyped = make_memory(scope=scope), make_memory(scope=scope)
    add_entity(typed, "Redis", "tool")
    add_entity(untyped, "Redis")
    before = Memory.objects.filter(pk=untyped.pk).values().get()
    merge(scope)
    assert Memory.objects.filter(pk=untyped.pk).values().get() == before


@pytest.mark.behaviour("X7")
def test_a_second_run_finds_nothing_until_somebody_writes_the_name_without_a_type_again(owner, scope):
    typed, untyped = make_memory(scope=scope), make_memory(scope=scope)
    add_entity(typed, "Redis", "tool")
    add_entity(untyped, "Redis")
    merge(scope)
    assert merge(scope).found == 0
    later = services.remember(
        actor=person(owner), scope=scope, content="Redis was restarted.", entities=[EntitySpec("REDIS")]
    ).memory
    assert merge(scope).done == 1
    assert named(fresh(later)) == [("redis", "tool")]


def test_what_is_not_beyond_doubt_stays(owner, scope):
    work = make_scope(owner, slug="work")
    add_entity(make_memory(scope=work), "Redis", "tool")
    rows = [make_memory(scope=scope) for _ in range(4)]
    add_entity(rows[0], "Redis")  # of a type in another scope only
    add_entity(rows[1], "Go", "game")
    add_entity(rows[2], "Go", "language")
    add_entity(rows[3], "Go")  # of two types
    before = set(MemoryEntity.objects.values_list("memory", "entity"))
    assert merge(scope, work).found == 0
    assert set(MemoryEntity.objects.values_list("memory", "entity")) == before


def test_many_ties_move_in_batches(scope, monkeypatch):
    monkeypatch.setattr(entity_services, "AT_ONCE", 2)
    add_entity(make_memory(scope=scope), "Redis", "tool")
    for _ in range(5):
        add_entity(make_memory(scope=scope), "Redis")
    assert merge(scope).done == 1
    assert not MemoryEntity.objects.filter(entity__type="thing").exists()
    assert AuditEntry.objects.filter(action="merge_entities").count() == 5


def test_a_survey_counts_and_moves_nothing(scope):
    add_entity(make_memory(scope=scope), "Redis", "tool")
    add_entity(make_memory(scope=scope), "Redis")
    assert "would merge 1 untyped name" in hygiene.STEPS["entity_merge"].survey(scope)
    assert MemoryEntity.objects.filter(entity__type="thing").exists()


@pytest.mark.django_db(transaction=True)
def test_a_merge_waits_for_nobody_and_nobody_for_it(owner, scope):
    """Somebody edits the entities of one memory while the merge goes on; the other memories are merged."""
    add_entity(make_memory(scope=scope), "Redis", "tool")
    held, free = make_memory(scope=scope), make_memory(scope=scope)
    entity = add_entity(held, "Redis")
    add_entity(free, "Redis")
    into = Entity.objects.get(type="tool")
    with transaction.atomic():
        list(MemoryEntity.objects.filter(memory=held).select_for_update())
        list(Memory.objects.filter(pk__in=[held.pk, free.pk]).select_for_update())
        (merged,) = at_once(lambda: entity_services.merge_entity(entity=entity, into=into, label="test"))
    assert merged == (1, 0)
    assert (named(held), named(free)) == ([("redis", "thing")], [("redis", "tool")])
