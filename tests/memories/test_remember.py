from datetime import timedelta

import pytest
from django.db import OperationalError, connection
from django.test import override_settings
from django.utils import timezone

from memories.access import actor_for_token, actor_for_user
from memories.errors import Conflict, Forbidden, NotFound, ValidationFailed
from memories.models import AuditEntry, Entity, Link, Memory
from memories.recall import recall
from memories.services import EntitySpec, LinkSpec, edit, forget, remember, restore
from tests.factories import make_member, make_memory, make_scope, make_token, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def actor(owner, scope):
    return actor_for_user(owner)


def test_what_a_person_types_is_theirs_and_stays_exact(actor, scope, owner):
    content = "  First line\n\n\tsecond line \u200b with  spaces  \n"
    memory = remember(actor=actor, scope=scope, content=content).memory
    memory.refresh_from_db()
    assert memory.content == content
    assert (memory.author, memory.agent, memory.author_kind, memory.provenance) == (owner, "", "human", 2)
    assert memory.created_at == memory.updated_at == memory.accessed_at
    assert (memory.version, memory.access_count, memory.weight, memory.state) == (1, 0, 1.0, "live")


def test_what_a_token_writes_is_its_agents(owner, scope):
    token, _ = make_token(owner, [scope], name="crawler")
    memory = remember(actor=actor_for_token(token, agent="claude"), scope=scope, content="x").memory
    assert (memory.author, memory.agent, memory.author_kind, memory.provenance) == (owner, "claude", "agent", 1)


def test_everything_asked_for_is_kept(actor, scope):
    learned = timezone.now() - timedelta(days=30)
    asked = {
        "kind": "decision",
        "source": "minutes of the third",
        "verbatim": "we take the second offer",
        "pinned": True,
        "session": "s-1",
        "created_at": learned,
        "valid_from": learned,
        "valid_until": timezone.now() + timedelta(days=30),
        "newest_source_at": learned,
        "external_id": "row-1",
        "idempotency_key": "key-1",
        "author_kind": "import",
        "provenance": 0,
    }
    memory = remember(actor=actor, scope=scope, content="x", **asked).memory
    memory.refresh_from_db()
    assert {field: getattr(memory, field) for field in asked} == asked


def test_a_memory_is_found_by_its_words_at_once(actor, scope):
    memory = remember(actor=actor, scope=scope, content="the needle in the haystack").memory
    assert memory.embedded_at is None
    assert recall(actor=actor, query="needle").results[0].memory.pk == memory.pk


def test_every_write_leaves_one_audit_entry_without_its_text(actor, scope):
    memory = remember(actor=actor, scope=scope, content="a private matter").memory
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.object_id, entry.user, entry.scope) == ("remember", str(memory.pk), actor.user, scope)
    assert "private" not in str(entry.detail)


# Entities ------------------------------------------------------------------------------------


def test_two_spellings_are_one_entity_of_the_scope(actor, scope):
    for number, name in enumerate(("PostgreSQL", " postgresql ", "ＰｏｓｔｇｒｅＳＱＬ")):
        remember(actor=actor, scope=scope, content=f"x{number}", entities=[EntitySpec(name, "tool")])
    entity = Entity.objects.get()
    assert (entity.name, entity.canonical, entity.type) == ("PostgreSQL", "postgresql", "tool")
    assert entity.memories.count() == 3


def test_an_entity_named_twice_is_tied_once(actor, scope):
    memory = remember(actor=actor, scope=scope, content="x", entities=[EntitySpec("A"), EntitySpec("a")]).memory
    assert memory.entities.count() == 1


def test_an_entity_never_crosses_to_another_scope(actor, scope, owner):
    remember(actor=actor, scope=scope, content="x", entities=[EntitySpec("A")])
    other = make_scope(owner)
    remember(actor=actor_for_user(owner), scope=other, content="x", entities=[EntitySpec("A")])
    assert Entity.objects.count() == 2


# Links ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("type", ["relates_to", "contradicts", "derived_from"])
def test_a_link_ties_the_new_memory_to_its_target(actor, scope, type):
    target = make_memory(scope=scope)
    memory = remember(actor=actor, scope=scope, content="x", links=[LinkSpec(type, target.pk)]).memory
    link = Link.objects.get()
    assert (link.source, link.target, link.type) == (memory, target, type)
    target.refresh_from_db()
    assert target.state == "live"


@pytest.mark.behaviour("Z78")
def test_a_declared_supersede_retires_the_old_version_and_restore_revives_it(actor, scope):
    old = make_memory("alpha the old way", scope=scope)
    new = remember(
        actor=actor, scope=scope, content="alpha the new way", links=[LinkSpec("supersedes", str(old.pk))]
    ).memory
    old.refresh_from_db()
    assert (old.superseded_by, old.invalidated_by, old.invalidated_actor) == (new, actor.user, actor.label)
    assert [result.memory.pk for result in recall(actor=actor, query="alpha").results] == [new.pk]
    restore(actor=actor, memory=old)
    assert {result.memory.pk for result in recall(actor=actor, query="alpha").results} == {old.pk, new.pk}
    assert not Link.objects.exists()


@pytest.mark.behaviour("Z78")
@pytest.mark.parametrize("type", ["supersedes", "relates_to"])
def test_a_foreign_target_fails_the_write_as_a_whole_and_is_untouched(actor, scope, type):
    foreign = make_memory("theirs", scope=make_scope(make_user()))
    with pytest.raises(NotFound):
        remember(actor=actor, scope=scope, content="mine", links=[LinkSpec(type, foreign.pk)])
    foreign.refresh_from_db()
    assert foreign.state == "live"
    assert not Memory.objects.filter(content="mine").exists()
    assert not AuditEntry.objects.exists()


def test_a_target_that_may_only_be_read_cannot_be_superseded(actor, scope):
    shared = make_scope(make_user())
    make_member(shared, user=actor.user)
    readable = make_memory("theirs", scope=shared)
    reader = actor_for_user(actor.user)
    with pytest.raises(Forbidden):
        remember(actor=reader, scope=scope, content="mine", links=[LinkSpec("supersedes", readable.pk)])
    assert not Memory.objects.filter(content="mine").exists()
    assert remember(actor=reader, scope=scope, content="mine", links=[LinkSpec("relates_to", readable.pk)])


def test_a_retired_target_cannot_be_superseded_again(actor, scope):
    old = make_memory(scope=scope)
    forget(actor=actor, memory=old)
    with pytest.raises(Conflict):
        remember(actor=actor, scope=scope, content="mine", links=[LinkSpec("supersedes", old.pk)])
    assert not Memory.objects.filter(content="mine").exists()


@pytest.mark.parametrize("target", ["not-an-id", "00000000-0000-0000-0000-000000000000"])
def test_a_link_to_nowhere_fails_the_write(actor, scope, target):
    with pytest.raises(NotFound):
        remember(actor=actor, scope=scope, content="mine", links=[LinkSpec("relates_to", target)])
    assert not Memory.objects.exists()


# Written once --------------------------------------------------------------------------------


def test_the_same_text_twice_is_one_memory(actor, scope):
    first = remember(actor=actor, scope=scope, content="the same")
    again = remember(actor=actor, scope=scope, content="the same")
    assert (first.deduplicated, again.deduplicated) == (False, True)
    assert again.memory == first.memory
    assert AuditEntry.objects.count() == 1


def test_only_the_exact_text_of_the_same_kind_and_scope_is_the_same(actor, scope, owner):
    elsewhere, text = make_scope(owner), "We do use Redis."
    first = remember(actor=actor, scope=scope, content=text)
    for other in (
        remember(actor=actor, scope=scope, content="We do not use Redis."),
        remember(actor=actor, scope=scope, content="We do use Redis. "),
        remember(actor=actor, scope=scope, content=text, kind="decision"),
        remember(actor=actor_for_user(owner), scope=elsewhere, content=text),
    ):
        assert not other.deduplicated
        assert other.memory != first.memory


def test_a_forgotten_text_can_be_written_again(actor, scope):
    first = remember(actor=actor, scope=scope, content="the same").memory
    forget(actor=actor, memory=first)
    assert not remember(actor=actor, scope=scope, content="the same").deduplicated


def test_a_duplicate_brings_its_new_entities_and_links_to_the_first(actor, scope):
    other = make_memory(scope=scope)
    first = remember(actor=actor, scope=scope, content="x", entities=[EntitySpec("A")]).memory
    before = first.updated_at
    again = remember(
        actor=actor,
        scope=scope,
        content="x",
        entities=[EntitySpec("A"), EntitySpec("B")],
        links=[LinkSpec("relates_to", other.pk)],
    )
    assert again.memory == first
    assert {entity.name for entity in first.entities.all()} == {"A", "B"}
    assert first.links_out.get().target == other
    entry = AuditEntry.objects.get(action="enrich")
    assert entry.detail == {"entities": 1, "links": 1, "anchors": 0}
    first.refresh_from_db()
    assert first.updated_at == before


def test_a_duplicate_that_retires_the_first_is_refused(actor, scope):
    first = remember(actor=actor, scope=scope, content="x").memory
    with pytest.raises(ValidationFailed):
        remember(actor=actor, scope=scope, content="x", links=[LinkSpec("supersedes", first.pk)])


@pytest.mark.behaviour("F8")
def test_a_retry_with_the_same_key_gives_the_first_row(actor, scope):
    first = remember(actor=actor, scope=scope, content="x", idempotency_key="k")
    again = remember(actor=actor, scope=scope, content="x", idempotency_key="k")
    assert again.deduplicated
    assert again.memory == first.memory


def test_a_retry_after_the_row_was_forgotten_does_not_write_it_again(actor, scope):
    first = remember(actor=actor, scope=scope, content="x", idempotency_key="k").memory
    forget(actor=actor, memory=first)
    assert remember(actor=actor, scope=scope, content="x", idempotency_key="k").memory == first
    assert Memory.objects.count() == 1


def test_a_key_used_for_another_text_is_a_conflict(actor, scope):
    remember(actor=actor, scope=scope, content="x", idempotency_key="k")
    with pytest.raises(Conflict) as refused:
        remember(actor=actor, scope=scope, content="y", idempotency_key="k")
    assert refused.value.field == "idempotency_key"
    assert Memory.objects.count() == 1


def test_the_key_of_one_scope_means_nothing_in_another(actor, scope, owner):
    remember(actor=actor, scope=scope, content="x", idempotency_key="k")
    other = make_scope(owner)
    assert not remember(actor=actor_for_user(owner), scope=other, content="y", idempotency_key="k").deduplicated


def test_an_external_id_names_the_row_it_made_whatever_became_of_the_text(actor, scope):
    first = remember(actor=actor, scope=scope, content="x", external_id="e", entities=[EntitySpec("A")]).memory
    again = remember(actor=actor, scope=scope, content="y", external_id="e", entities=[EntitySpec("B")])
    assert (again.memory, again.deduplicated) == (first, True)
    assert [entity.name for entity in first.entities.all()] == ["A"]


@pytest.mark.behaviour("F8")
def test_a_key_sent_with_a_text_that_is_there_already_finds_it_after_an_edit_too(actor, scope):
    first = remember(actor=actor, scope=scope, content="x").memory
    keyed = remember(actor=actor, scope=scope, content="x", idempotency_key="k", external_id="e")
    assert (keyed.memory, keyed.deduplicated, keyed.notices) == (first, True, ())
    edit(actor=actor, memory=first, expected_version=1, content="y")
    for name in ({"idempotency_key": "k"}, {"external_id": "e"}):
        assert remember(actor=actor, scope=scope, content="x", **name).memory == first
    assert Memory.objects.count() == 2


def test_a_second_key_for_one_text_is_not_stored_and_the_answer_says_so(actor, scope):
    first = remember(actor=actor, scope=scope, content="x", idempotency_key="k").memory
    again = remember(actor=actor, scope=scope, content="x", idempotency_key="other")
    assert again.memory == first
    assert "another idempotency key" in again.notices[0]
    first.refresh_from_db()
    assert first.idempotency_key == "k"


def test_what_a_duplicate_asked_for_and_did_not_get_is_named(actor, scope):
    first = remember(actor=actor, scope=scope, content="x", source="the minutes").memory
    asked = {"pinned": True, "verbatim": "as said", "valid_until": timezone.now() + timedelta(days=1)}
    again = remember(actor=actor, scope=scope, content="x", source="the minutes", **asked)
    assert again.notices == (
        "This text was stored before. Not changed: pinned, verbatim, valid_until. Edit the memory to change that.",
    )
    first.refresh_from_db()
    assert (first.pinned, first.verbatim, first.valid_until) == (False, "", None)


# Who may -------------------------------------------------------------------------------------


def test_a_reader_cannot_write(scope):
    with pytest.raises(Forbidden):
        remember(actor=actor_for_user(make_member(scope)), scope=scope, content="x")


def test_a_stranger_is_told_that_there_is_no_such_scope(scope):
    with pytest.raises(NotFound):
        remember(actor=actor_for_user(make_user()), scope=scope, content="x")


def test_a_read_only_token_cannot_write(owner, scope):
    token, _ = make_token(owner, [scope], can_write=False)
    with pytest.raises(Forbidden):
        remember(actor=actor_for_token(token), scope=scope, content="x")


# Near-equal ----------------------------------------------------------------------------------

SENTENCE = "The release of {} is cut on the first Monday of the month from the main branch by the release user."


def test_near_equal_memories_are_shown_and_kept_apart(actor, scope):
    twins = [remember(actor=actor, scope=scope, content=SENTENCE.format(name)).memory for name in "abcd"]
    remember(actor=actor, scope=scope, content="The plants of the main office are watered on Monday by the user.")
    remembered = remember(actor=actor, scope=scope, content=SENTENCE.format("e"))
    assert not remembered.deduplicated
    assert len(remembered.similar) == 3
    assert {one.memory.pk for one in remembered.similar} <= {twin.pk for twin in twins}
    assert remembered.similar[0].memory.headline.startswith("The release of")


def test_a_short_text_with_one_word_changed_is_near_equal(actor, scope):
    first = remember(actor=actor, scope=scope, content="The cache is slow.").memory
    (found,) = remember(actor=actor, scope=scope, content="The cache is slower.").similar
    assert found.memory == first


def test_near_equal_memories_are_live_and_of_the_same_scope(actor, scope, owner):
    forget(actor=actor, memory=remember(actor=actor, scope=scope, content=SENTENCE.format("a")).memory)
    make_memory(SENTENCE.format("b"), scope=make_scope(owner))
    make_memory(SENTENCE.format("c"), scope=scope, valid_until=timezone.now() - timedelta(days=1))
    assert remember(actor=actor, scope=scope, content=SENTENCE.format("d")).similar == ()


def test_looking_for_near_equals_takes_a_fixed_number_of_queries(actor, scope, django_assert_max_num_queries):
    for number in range(15):
        make_memory(SENTENCE.format(number), scope=scope)
    with django_assert_max_num_queries(16):
        remember(actor=actor, scope=scope, content=SENTENCE.format("z"))


def test_a_text_of_punctuation_alone_has_no_near_equals(actor, scope):
    assert remember(actor=actor, scope=scope, content="!!! ---").similar == ()


def test_a_search_for_near_equals_that_fails_does_not_fail_the_write(actor, scope, caplog):
    def cut_off(execute, sql, params, many, context):
        if "trios" in sql:
            raise OperationalError("canceling statement due to statement timeout")
        return execute(sql, params, many, context)

    make_memory(SENTENCE.format("a"), scope=scope)
    with connection.execute_wrapper(cut_off):
        remembered = remember(actor=actor, scope=scope, content=SENTENCE.format("b"))
    assert remembered.similar == ()
    assert Memory.objects.filter(pk=remembered.memory.pk).exists()
    assert "statement timeout" in caplog.text


@override_settings(EMBEDDER="none")
def test_without_an_embedder_the_answer_says_how_the_memory_is_found(actor, scope):
    assert "words alone" in remember(actor=actor, scope=scope, content="x").notices[0]


def test_the_lock_time_is_bounded(actor, scope):
    remember(actor=actor, scope=scope, content="x")
    with connection.cursor() as cursor:
        cursor.execute("SHOW lock_timeout")
        assert cursor.fetchone()[0] == "5s"
