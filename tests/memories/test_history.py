"""The versions of a memory, what is tied to it, and what was done lately."""

from datetime import timedelta

import pytest
import time_machine
from django.utils import timezone

from memories.access import actor_for_user
from memories.headlines import headline
from memories.history import changes_since, contents, memories_of, ties, trail, versions
from memories.models import AuditEntry, Memory
from memories.services import edit, forget, link, pin, remember, restore, supersede
from tests.factories import make_member, make_memory, make_scope, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def actor(owner, scope):
    return actor_for_user(owner)


def renew(actor, memory, content):
    return edit(actor=actor, memory=memory, expected_version=memory.version, content=content)


def test_every_version_knows_the_whole_chain_newest_first(actor, scope):
    first = make_memory("One.", scope=scope)
    second = renew(actor, first, "Two.")
    third = renew(actor, second, "Three.")
    for memory in (first, second, third):
        assert versions(memory, actor) == [third, second, first]


def test_a_memory_alone_is_its_only_version(actor, scope):
    memory = make_memory(scope=scope)
    make_memory(scope=scope)
    assert versions(memory, actor) == [memory]


def test_two_memories_merged_into_one_are_both_its_past(actor, scope):
    one, two, kept = (make_memory(scope=scope) for _ in range(3))
    supersede(actor=actor, memory=one, replacement=kept)
    supersede(actor=actor, memory=two, replacement=kept)
    assert versions(one, actor)[0] == kept
    assert set(versions(kept, actor)) == {one, two, kept}


def test_a_version_brought_back_stands_beside_the_others(actor, scope):
    first = make_memory("One.", scope=scope)
    second = renew(actor, first, "Two.")
    restore(actor=actor, memory=first)
    assert versions(second, actor) == [second]
    first.refresh_from_db()
    assert versions(first, actor) == [first]


def test_versions_in_foreign_scopes_are_left_out(actor, owner, scope):
    elsewhere = make_scope(owner)
    old, new = make_memory(scope=elsewhere), make_memory(scope=scope)
    supersede(actor=actor_for_user(owner), memory=old, replacement=new)
    assert versions(new, actor_for_user(make_member(scope))) == [new]


def test_versions_and_ties_carry_no_long_text(actor, scope):
    memory = make_memory("long words " * 9000, scope=scope)
    newer = renew(actor, memory, "short")
    link(actor=actor, source=newer, target=make_memory("other words " * 9000, scope=scope), type="relates_to")
    loaded = [*versions(newer, actor), *(tie.memory for tie in ties(newer, actor))]
    assert all("content" in row.get_deferred_fields() for row in loaded)
    assert contents([memory]) == {memory.pk: memory.content}


def test_ties_are_seen_from_both_ends_in_the_order_they_were_made(actor, scope):
    middle, one, two = (make_memory(scope=scope) for _ in range(3))
    link(actor=actor, source=middle, target=one, type="relates_to")
    link(actor=actor, source=two, target=middle, type="contradicts")
    assert [(tie.type, tie.direction, tie.memory) for tie in ties(middle, actor)] == [
        ("relates_to", "out", one),
        ("contradicts", "in", two),
    ]
    assert [(tie.direction, tie.memory) for tie in ties(one, actor)] == [("in", middle)]


def test_a_tie_to_a_foreign_memory_is_left_out(actor, scope):
    memory, foreign = make_memory(scope=scope), make_memory()
    memory.links_out.create(target=foreign, type="relates_to")
    assert ties(memory, actor) == []


def test_the_trail_of_a_memory_is_its_own(actor, scope):
    memory = remember(actor=actor, scope=scope, content="One.").memory
    remember(actor=actor, scope=scope, content="Two.")
    pin(actor=actor, memory=memory)
    assert [entry.action for entry in trail(memory)] == ["pin", "remember"]
    assert [entry.action for entry in trail(memory, most=1)] == ["pin"]


# Changes -------------------------------------------------------------------------------------


def test_changes_are_counted_by_action_with_the_newest_named(actor, scope):
    made = [remember(actor=actor, scope=scope, content=f"{number}.").memory for number in range(5)]
    forget(actor=actor, memory=made[0])
    changes = changes_since(actor, timezone.now() - timedelta(hours=1), most=2)
    assert [(change.action, change.count) for change in changes] == [("forget", 1), ("remember", 5)]
    assert [entry.object_id for entry in changes[1].newest] == [str(made[4].pk), str(made[3].pk)]


def test_the_moment_itself_and_what_was_before_do_not_count(actor, scope):
    moment = timezone.now() - timedelta(days=1)
    for at in (moment - timedelta(seconds=1), moment):
        with time_machine.travel(at, tick=False):
            remember(actor=actor, scope=scope, content=f"{at}")
    assert changes_since(actor, moment, most=3) == []


def test_an_edit_is_one_act(actor, scope):
    renew(actor, make_memory("One.", scope=scope), "Two.")
    old, new = make_memory(scope=scope), make_memory(scope=scope)
    supersede(actor=actor, memory=old, replacement=new, reason="Wrong.")
    changes = changes_since(actor, timezone.now() - timedelta(hours=1), most=3)
    assert {change.action: change.count for change in changes} == {"edit": 1, "supersede": 1}


def test_changes_in_foreign_scopes_are_not_told(actor, scope):
    elsewhere = make_scope(make_user())
    remember(actor=actor_for_user(elsewhere.owner), scope=elsewhere, content="Elsewhere.")
    assert changes_since(actor, timezone.now() - timedelta(hours=1), most=3) == []


def test_only_readable_memories_are_named(actor, scope):
    mine, foreign = make_memory(scope=scope), make_memory()
    entries = [
        AuditEntry(object_type="memory", object_id=str(mine.pk)),
        AuditEntry(object_type="memory", object_id=str(foreign.pk)),
        AuditEntry(object_type="scope", object_id=str(scope.pk)),
    ]
    assert memories_of(actor, entries) == {str(mine.pk): mine}
    assert Memory.objects.count() == 2


# Headlines -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("One line.", "One line."),
        ("\n\n  First.\nSecond.", "First."),
        ("   ", ""),
        ("word " * 40, "word " * 27 + "word…"),
        ("x" * 200, "x" * 139 + "…"),
        ("short " + "x" * 200, "short " + "x" * 133 + "…"),
        ("y" * 140, "y" * 140),
    ],
)
def test_a_headline_is_the_first_line_cut_between_words(text, shown):
    assert headline(text) == shown
    assert len(headline(text)) <= 140
