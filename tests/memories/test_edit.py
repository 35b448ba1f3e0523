from datetime import timedelta

import pytest
from django.utils import timezone

from memories.access import actor_for_token, actor_for_user
from memories.errors import Conflict, Forbidden, NotFound, PayloadTooLarge, ValidationFailed
from memories.models import AuditEntry, Link, Memory, Reinforcement
from memories.recall import recall
from memories.services import EntitySpec, LinkSpec, edit, forget, remember
from tests.factories import add_entity, make_member, make_memory, make_token, make_user

pytestmark = pytest.mark.django_db

KEPT = [
    "kind", "scope_id", "created_at", "valid_from", "valid_until", "newest_source_at", "pinned", "source", "verbatim",
    "session", "accessed_at", "access_count", "weight",
]  # fmt: skip


@pytest.fixture
def actor(owner, scope):
    return actor_for_user(owner)


@pytest.fixture
def rich(scope):
    """A memory that has something in every field an edit must keep."""
    now = timezone.now()
    return make_memory(
        "the old wording", scope=scope, age_days=200, kind="gotcha", entities=["cache", "deploy"], pinned=True,
        source="a chat", verbatim="said so", session="s-1", valid_from=now - timedelta(days=300),
        valid_until=now + timedelta(days=300), newest_source_at=now - timedelta(days=201), access_count=7, weight=0.4,
        external_id="row-1", provenance=1,
    )  # fmt: skip


@pytest.mark.behaviour("F9")
def test_a_new_text_is_a_new_row_and_everything_else_stays(actor, rich):
    Reinforcement.objects.create(memory=rich, multiplier=1.3, useful=4)
    new = edit(actor=actor, memory=rich, expected_version=1, content="the new wording")
    new.refresh_from_db()
    assert new.pk != rich.pk
    assert (new.content, new.version) == ("the new wording", 2)
    assert [getattr(new, field) for field in KEPT] == [getattr(rich, field) for field in KEPT]
    assert {entity.name for entity in new.entities.all()} == {"cache", "deploy"}
    assert (new.reinforcement.multiplier, new.reinforcement.useful) == (1.3, 4)


def test_the_old_text_stays_as_attributed_history(actor, rich):
    new = edit(actor=actor, memory=rich, expected_version=1, content="the new wording")
    old = Memory.objects.get(pk=rich.pk)
    assert old.content == "the old wording"
    assert (old.state, old.superseded_by, old.invalidated_by) == ("superseded", new, actor.user)
    assert Link.objects.get(type="supersedes").source == new
    assert old.external_id == "row-1"
    assert AuditEntry.objects.get(action="edit").detail == {"fields": ["content"], "old": str(old.pk)}


def test_only_the_new_text_is_found_and_it_waits_for_its_vectors(actor, rich):
    new = edit(actor=actor, memory=rich, expected_version=1, content="the new wording")
    assert [result.memory.pk for result in recall(actor=actor, query="wording").results] == [new.pk]
    assert new.embedded_at is None


def test_links_follow_the_statement_but_what_was_distilled_keeps_its_source(actor, scope, rich):
    source, neighbour, distillate = (make_memory(scope=scope) for _ in range(3))
    for ends, type in (
        ((rich, source), "derived_from"),
        ((neighbour, rich), "relates_to"),
        ((distillate, rich), "derived_from"),
    ):
        Link.objects.create(source=ends[0], target=ends[1], type=type)
    new = edit(actor=actor, memory=rich, expected_version=1, content="the new wording")
    assert {(link.target, link.type) for link in new.links_out.all()} == {
        (source, "derived_from"),
        (rich, "supersedes"),
    }
    assert [(link.source, link.type) for link in new.links_in.all()] == [(neighbour, "relates_to")]
    assert rich.links_in.filter(source=distillate).exists()


def test_what_a_person_types_becomes_a_persons(actor, rich, owner):
    new = edit(actor=actor, memory=rich, expected_version=1, content="typed")
    assert (new.provenance, new.author_kind, new.author, new.agent) == (2, "human", owner, "")


@pytest.mark.parametrize(("before", "after"), [(2, 1), (1, 1), (0, 0)])
def test_an_agents_wording_never_passes_for_a_persons(owner, scope, before, after):
    memory = make_memory(scope=scope, provenance=before, author_kind="human")
    token, _ = make_token(owner, [scope])
    new = edit(actor=actor_for_token(token, agent="bot"), memory=memory, expected_version=1, content="reworded")
    assert (new.provenance, new.author_kind, new.agent) == (after, "agent", "bot")


@pytest.mark.behaviour("F9")
@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "convention"},
        {"source": "another"},
        {"valid_until": None},
        {"pinned": False},
        {"verbatim": ""},
        {"kind": "fact", "source": "two at once"},
    ],
)
def test_what_is_not_the_text_changes_in_place(actor, rich, changes):
    before = Memory.objects.values().get(pk=rich.pk)
    edited = edit(actor=actor, memory=rich, expected_version=1, **changes)
    after = Memory.objects.values().get(pk=rich.pk)
    assert edited.pk == rich.pk
    assert {field for field in after if after[field] != before[field]} == {*changes, "version", "updated_at"}
    assert after["version"] == 2
    assert AuditEntry.objects.get().detail == {"fields": sorted(changes)}


def test_entities_are_replaced_as_a_set(actor, rich):
    edit(actor=actor, memory=rich, expected_version=1, entities=[EntitySpec("Deploy"), EntitySpec("disk", "part")])
    assert {(entity.canonical, entity.type) for entity in rich.entities.all()} == {
        ("deploy", "thing"),
        ("disk", "part"),
    }


def test_text_and_entities_change_together(actor, rich):
    new = edit(actor=actor, memory=rich, expected_version=1, content="new", entities=[], kind="fact")
    assert (new.entities.count(), new.kind) == (0, "fact")
    assert rich.entities.count() == 2


def test_saving_what_is_there_already_changes_nothing(actor, rich):
    same = edit(
        actor=actor, memory=rich, expected_version=1, content=rich.content, kind=rich.kind, pinned=True,
        entities=[EntitySpec("DEPLOY"), EntitySpec("cache")],
    )  # fmt: skip
    assert (same.pk, same.version, same.updated_at) == (rich.pk, 1, rich.updated_at)
    assert not AuditEntry.objects.exists()


@pytest.mark.behaviour("G43")
def test_a_stale_edit_is_a_conflict_that_names_the_version(actor, rich):
    edit(actor=actor, memory=rich, expected_version=1, source="first")
    with pytest.raises(Conflict) as refused:
        edit(actor=actor, memory=rich, expected_version=1, source="second")
    assert "version 2" in refused.value.message
    rich.refresh_from_db()
    assert rich.source == "first"


def test_an_edit_must_say_which_version_it_saw(actor, rich):
    with pytest.raises(ValidationFailed) as refused:
        edit(actor=actor, memory=rich, expected_version=None, content="x")
    assert refused.value.field == "version"


def test_a_retired_memory_cannot_be_edited(actor, rich):
    forget(actor=actor, memory=rich)
    with pytest.raises(Conflict):
        edit(actor=actor, memory=rich, expected_version=1, content="x")


@pytest.mark.parametrize("changes", [{"content": "the other"}, {"kind": "gotcha"}])
def test_an_edit_cannot_make_two_live_memories_alike(actor, scope, changes):
    make_memory("the other", scope=scope, kind="fact")
    make_memory("mine", scope=scope, kind="gotcha")
    mine = make_memory("mine", scope=scope, kind="fact")
    with pytest.raises(Conflict):
        edit(actor=actor, memory=mine, expected_version=1, **changes)
    mine.refresh_from_db()
    assert (mine.content, mine.kind, mine.version, mine.state) == ("mine", "fact", 1, "live")


@pytest.mark.parametrize(
    ("changes", "field", "error"),
    [
        ({"content": "  "}, "content", ValidationFailed),
        ({"content": "\x00\x1b"}, "content", ValidationFailed),
        ({"content": "a" * (4 * 1024 * 1024 + 1)}, "content", PayloadTooLarge),
        ({"kind": "rumour"}, "kind", ValidationFailed),
        ({"source": "s" * 2001}, "source", ValidationFailed),
        ({"entities": [EntitySpec("")]}, "entities", ValidationFailed),
        ({"valid_until": timezone.now() - timedelta(days=3650)}, "valid_until", ValidationFailed),
        ({"created_at": timezone.now()}, "created_at", ValidationFailed),
        ({"scope": 1}, "scope", ValidationFailed),
        ({"pinned": "yes"}, "pinned", ValidationFailed),
    ],
)
def test_nonsense_is_refused_by_name_and_changes_nothing(actor, rich, changes, field, error):
    with pytest.raises(error) as refused:
        edit(actor=actor, memory=rich, expected_version=1, **changes)
    assert refused.value.field == field
    assert Memory.objects.get().version == 1


def test_a_reader_may_not_edit_and_a_stranger_finds_nothing(scope, rich):
    with pytest.raises(Forbidden):
        edit(actor=actor_for_user(make_member(scope)), memory=rich, expected_version=1, content="x")
    with pytest.raises(NotFound):
        edit(actor=actor_for_user(make_user()), memory=rich, expected_version=1, content="x")


def test_versions_of_versions_keep_the_date_of_the_first(actor, rich):
    current = rich
    for version in range(1, 5):
        current = edit(actor=actor, memory=current, expected_version=version, content=f"wording {version}")
    assert (current.version, current.created_at) == (5, rich.created_at)
    assert Memory.objects.live().get() == current


def test_an_edited_text_can_still_be_linked_to(actor, scope, rich):
    new = edit(actor=actor, memory=rich, expected_version=1, content="new")
    add_entity(new, "later")
    assert remember(actor=actor, scope=scope, content="x", links=[LinkSpec("relates_to", new.pk)])
