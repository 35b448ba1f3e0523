"""The native format: what it restores, and what a line means."""

import io
import json
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memories import services
from memories.access import actor_for_user
from memories.models import (
    AuditEntry,
    Entity,
    Link,
    Memory,
    MemoryEntity,
    Reinforcement,
    Scope,
    UsageEvent,
    Verification,
    Window,
)
from memories.transfer.errors import TransferError
from memories.transfer.exporting import Export, export_to
from memories.transfer.jsonl import Jsonl
from memories.transfer.memory_shape import MEMORY
from tests.factories import add_entity, make_memory, make_scope, make_user
from tests.memories.carrying import erase_everything, exported, load, load_bytes
from zeromemory.lib.folders import PROJECT
from zeromemory.lib.unseen import is_blank

pytestmark = pytest.mark.django_db
NOON = datetime(2025, 3, 30, 12, tzinfo=UTC)


def a_lived_in_scope(owner) -> Scope:
    """Every column used, every table touched."""
    scope = make_scope(owner, slug="harbour", name="Harbour", retention="decaying")
    other = make_user(username="colleague")
    actor = actor_for_user(owner)
    first = make_memory("Tides come from the old feed.", scope=scope, age_days=40, entities=["feed"])
    second = services.edit(actor=actor, memory=first, expected_version=1, content="Tides come from the new feed.")
    rich = make_memory(
        'Ünïcode, "quotes", \\slashes\\,\ttabs,\u2028 line marks and 日本語',
        scope=scope,
        kind="gotcha",
        age_days=12.3456,
        provenance=0,
        author_kind="human",
        author=other,
        agent="pair",
        session="s-1",
        source="git:x@1",
        verbatim="she said so",
        newest_source_at=NOON,
        valid_from=NOON,
        valid_until=timezone.now() + timedelta(days=3),
        version=4,
        pinned=True,
        access_count=7,
        weight=0.25,
        external_id="gotcha-1",
        idempotency_key="key-1",
        updated_at=NOON,
    )
    add_entity(rich, "src/Tide.py", "path")
    services.link(actor=actor, source=rich, target=second, type="relates_to")
    services.link(actor=actor, source=second, target=rich, type="contradicts")
    services.forget(actor=actor, memory=make_memory("A slip.", scope=scope), reason="typed twice")
    Reinforcement.objects.create(memory=rich, multiplier=1.10397, useful=1)
    UsageEvent.objects.create(memory=rich, at=NOON, source="direct", session="s-2", user=owner, useful=True)
    UsageEvent.objects.create(memory=rich, at=NOON, source="link", session="s-3", user=owner, useful=True)
    for relevant in (True, False):
        UsageEvent.objects.create(
            memory=rich, at=NOON, source="judge", session="s-4", relevant=relevant, misled=True, confidence=0.7
        )
    seen = {"at": NOON, "user": owner, "actor": "owner", "source": "https://example.org", "note": "Read it."}
    Verification.objects.create(memory=rich, verdict="current", method="person", **seen)
    found = {"at": NOON, "actor": "web check (a:b)", "confidence": 0.5, "model": "a:b"}
    Verification.objects.create(memory=rich, verdict="unverifiable", method="web_search", **found)
    return scope


# There and back ------------------------------------------------------------------------------


@pytest.mark.behaviour("Z87", "F10")
def test_an_export_into_an_empty_database_exports_to_the_same_bytes(owner):
    scope = a_lived_in_scope(owner)
    before = exported(scope)
    memories = {row["id"]: row for row in Memory.objects.values()}
    erase_everything()

    report = load_bytes(before, actor=actor_for_user(owner))

    assert (report.read, report.written, report.existing) == (4, 4, 0)
    assert exported(scope) == before
    assert {row["id"]: row for row in Memory.objects.values()} == memories
    assert Verification.objects.filter(user=owner, note="Read it.").count() == 1


@pytest.mark.behaviour("Z87")
def test_exporting_twice_gives_identical_bytes(owner):
    scope = a_lived_in_scope(owner)
    assert exported(scope) == exported(scope)


def test_memories_stand_in_the_order_in_which_they_were_learned(owner):
    scope = make_scope(owner)
    for days in (3, 40, 1):
        make_memory(f"{days} days ago", scope=scope, age_days=days)
    contents = [json.loads(line).get("content") for line in exported(scope).splitlines()]
    assert contents[2:] == ["40 days ago", "3 days ago", "1 days ago"]


@pytest.mark.behaviour("Z87", "F11")
def test_importing_twice_adds_nothing_the_second_time(owner):
    scope = a_lived_in_scope(owner)
    raw = exported(scope)
    tables = (Memory, Link, Entity, MemoryEntity, Window, UsageEvent, Verification)
    counts = [model.objects.count() for model in tables]

    report = load_bytes(raw, actor=actor_for_user(owner))

    assert (report.written, report.existing, report.differing) == (0, 4, ())
    assert [model.objects.count() for model in tables] == counts


def test_a_scope_is_rebuilt_with_its_name_and_policy(owner):
    scope = a_lived_in_scope(owner)
    raw = exported(scope)
    erase_everything()
    scope.delete()

    report = load_bytes(raw, actor=actor_for_user(owner), create_scopes=True)

    rebuilt = Scope.objects.get(slug="harbour")
    assert report.created_scopes == ("harbour",)
    assert (rebuilt.name, rebuilt.retention, rebuilt.owner) == ("Harbour", "decaying", owner)


def test_every_column_of_a_memory_travels():
    here_only = {"content_sha256", "embedded_at", "embedded_with", "embedding_error", "embedding_claimed_at"}
    columns = {field.name for field in Memory._meta.concrete_fields}
    assert columns - here_only <= set(MEMORY.fields)


def test_a_copy_into_another_scope_keeps_its_own_links_and_is_made_once(owner):
    scope, copy = a_lived_in_scope(owner), make_scope(owner, slug="copy")
    raw = exported(scope)
    for expected in (4, 0):
        assert load_bytes(raw, actor=actor_for_user(owner), scope="copy").written == expected
    rich = Memory.objects.get(scope=copy, kind="gotcha")
    assert rich.links_out.get().target.scope == copy
    assert Memory.objects.filter(scope=copy, superseded_by__scope=copy).count() == 1


def test_two_scopes_travel_in_one_file_with_the_link_between_them(owner):
    left, right = make_scope(owner, slug="left"), make_scope(owner, slug="right")
    source, target = make_memory(scope=left, external_id="same"), make_memory(scope=right, external_id="same")
    Link.objects.create(source=source, target=target, type="relates_to")
    raw = exported(left, right)
    erase_everything()

    load_bytes(raw, actor=actor_for_user(owner))

    assert Link.objects.get().target_id == target.pk
    assert exported(left, right) == raw


def test_a_link_out_of_the_exported_scope_is_left_out_and_counted(owner):
    left, right = make_scope(owner), make_scope(owner)
    Link.objects.create(source=make_memory(scope=left), target=make_memory(scope=right), type="relates_to")
    export = Export()
    raw = b"".join(export_to(Jsonl(), [left], export))
    assert b"relates_to" not in raw
    assert export.left_out == {"links to scopes that are not exported": 1}


@pytest.mark.behaviour("F3")
def test_the_header_announces_what_count_finds_and_a_shortened_file_is_refused(owner):
    scope = make_scope(owner)
    for _ in range(5):
        make_memory(scope=scope)
    lines = exported(scope).splitlines(keepends=True)
    assert json.loads(lines[0])["memories"] == Memory.objects.count() == 5
    erase_everything()

    with pytest.raises(TransferError, match="announces 5 memories and the file holds 4"):
        load_bytes(b"".join(lines[:-1]), actor=actor_for_user(owner))
    assert not Memory.objects.exists()


any_text = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\x00"), min_size=1, max_size=80)
some_text = any_text.filter(lambda text: not is_blank(text))
any_moment = st.datetimes(datetime(1971, 1, 1), datetime(2025, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
any_memory = st.fixed_dictionaries(
    {
        "content": some_text,
        "kind": st.sampled_from(["fact", "episode", "open-question", "gotcha"]),
        "created_at": any_moment.map(datetime.isoformat),
        "pinned": st.booleans(),
        "weight": st.floats(0, 1),
        "access_count": st.integers(0, 2**31 - 1),
        "source": any_text,
        "verbatim": st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\x00"), max_size=80),
        "entities": st.lists(
            st.fixed_dictionaries({"name": some_text, "type": st.sampled_from(["path", "thing"])}),
            max_size=3,
        ),
    }
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(any_memory, min_size=1, max_size=6))
def test_whatever_was_imported_survives_the_way_there_and_back(owner, lines):
    erase_everything()
    Scope.objects.all().delete()
    scope = make_scope(owner, slug="round")
    load(*lines, scope=scope)
    first = exported(scope)
    erase_everything()
    load_bytes(first, actor=actor_for_user(owner))
    assert exported(scope) == first


# Meaning -------------------------------------------------------------------------------------


def test_a_plain_line_becomes_a_live_dated_memory_found_by_words(scope):
    load({"content": "Berth 4 silts up.", "created_at": "2024-05-01T10:00:00+02:00", "external_id": "a"}, scope=scope)
    memory = Memory.objects.get()
    assert memory.created_at == datetime(2024, 5, 1, 8, tzinfo=UTC)
    assert (memory.state, memory.author_kind, memory.provenance, memory.author) == ("live", "import", 1, scope.owner)
    assert memory.windows.get().text == "Berth 4 silts up."
    assert memory.embedded_at is None


def test_the_example_in_the_documentation_is_imported_as_it_says(owner):
    page = (PROJECT / "docs/reference/formats.md").read_text(encoding="utf-8")
    example = page.split("```json\n")[1].split("```")[0]
    report = load_bytes(example.encode(), actor=actor_for_user(owner), create_scopes=True)
    assert (report.written, report.links, report.created_scopes) == (2, 1, ("harbour",))
    assert Memory.objects.get(external_id="ttl-1").superseded_by.external_id == "ttl-2"


def test_every_field_is_in_the_documentation():
    page = (PROJECT / "docs/reference/formats.md").read_text(encoding="utf-8")
    assert [name for name in MEMORY.fields if f"`{name}`" not in page and name != "type"] == []


def test_links_and_successors_may_point_further_down(scope):
    load(
        {"content": "old", "external_id": "v1", "state": "superseded", "superseded_by": "v2"},
        {"content": "new", "external_id": "v2", "links": [{"type": "relates_to", "target": "x"}]},
        {"content": "other", "external_id": "x"},
        scope=scope,
    )
    old, new = Memory.objects.get(external_id="v1"), Memory.objects.get(external_id="v2")
    assert old.superseded_by == new
    assert old.invalidated_at >= new.created_at
    assert old.invalidated_actor == "owner"
    assert new.links_out.get().target.external_id == "x"


def test_a_supersedes_link_retires_what_it_points_at(scope):
    report = load(
        {"content": "new", "external_id": "v2", "links": [{"type": "supersedes", "target": "v1"}]},
        {"content": "old", "external_id": "v1"},
        scope=scope,
    )
    old = Memory.objects.get(external_id="v1")
    assert old.state == "superseded"
    assert report.links == 1
    assert not old.windows.get().live


def test_a_new_line_may_link_to_what_is_stored_already(scope):
    stored = make_memory(scope=scope, external_id="stored")
    load({"content": "new", "links": [{"type": "relates_to", "target": str(stored.pk)}]}, scope=scope)
    load({"content": "newer", "links": [{"type": "relates_to", "target": "stored"}]}, scope=scope)
    assert stored.links_in.count() == 2


@pytest.mark.behaviour("F9", "F11")
def test_a_line_that_says_something_else_now_leaves_the_stored_memory_as_it_is(scope):
    load({"content": "as first told", "external_id": "a", "kind": "fact", "entities": [{"name": "x"}]}, scope=scope)
    before = Memory.objects.values().get()
    report = load({"content": "told differently", "external_id": "a", "kind": "task", "pinned": True}, scope=scope)
    assert Memory.objects.values().get() == before
    assert (report.written, report.existing) == (0, 1)
    assert report.differing == ("line 1: content, kind",)


def test_lines_without_any_id_are_recognised_when_they_come_again(scope):
    lines = [{"content": "one"}, {"content": "two", "kind": "task"}, {"content": "one"}]
    assert load(*lines, scope=scope).written == 2
    assert load(*lines, scope=scope).existing == 3
    assert Memory.objects.count() == 2


def test_a_line_without_any_id_that_repeats_a_live_memory_adds_nothing(scope):
    make_memory("already known", scope=scope)
    assert load({"content": "already known"}, scope=scope).existing == 1


def test_a_dry_run_counts_the_same_and_writes_nothing(scope):
    lines = [
        {"content": "one", "external_id": "1"},
        {"content": "two", "links": [{"type": "relates_to", "target": "1"}]},
    ]
    rehearsed = load(*lines, scope=scope, dry_run=True)
    assert not Memory.objects.exists()
    assert not AuditEntry.objects.exists()
    real = load(*lines, scope=scope)
    assert (rehearsed.read, rehearsed.written, rehearsed.links) == (real.read, real.written, real.links) == (2, 2, 1)


def test_an_import_is_in_the_audit_trail_of_its_scope(scope):
    load({"content": "one"}, scope=scope)
    entry = AuditEntry.objects.get(action="import")
    assert (entry.scope, entry.actor, entry.detail) == (scope, "owner", {"format": "jsonl", "written": 1})


def test_blank_lines_a_byte_order_mark_and_carriage_returns_do_no_harm(scope):
    raw = b'\xef\xbb\xbf{"content": "one"}\r\n\r\n   \n{"content": "two"}'
    assert load_bytes(raw, actor=actor_for_user(scope.owner), scope=scope).written == 2


def test_a_person_without_an_account_is_noted_and_the_row_names_nobody(scope):
    report = load({"content": "one", "author": "somebody-else"}, scope=scope)
    assert Memory.objects.get().author is None
    assert report.notes == {"mentions of 'somebody-else', who has no account here": 1}


# How much it holds and asks ------------------------------------------------------------------


def test_reading_takes_no_more_of_a_file_than_was_asked_for():
    class Watched(io.BytesIO):
        taken = 0

        def readline(self, size: int = -1) -> bytes:
            self.taken += 1
            return super().readline(size)

    source = Watched(b'{"content": "x"}\n' * 100)
    records = Jsonl().read(source)
    next(records)
    next(records)
    assert source.taken == 2


def queries_of_an_import(scope: Scope, number: int) -> int:
    lines = [{"content": f"{scope.pk} {n}", "external_id": str(n), "entities": [{"name": "e"}]} for n in range(number)]
    lines[0]["links"] = [{"type": "relates_to", "target": str(n)} for n in range(1, number)]
    with CaptureQueriesContext(connection) as queries:
        load(*lines, scope=scope)
    return len(queries)


def test_an_import_asks_the_database_no_more_for_more_memories_of_a_batch(owner):
    few, many = (queries_of_an_import(make_scope(owner), number) for number in (10, 40))
    assert many == few


def test_an_export_asks_the_database_no_more_for_more_memories(owner):
    asked = []
    for number in (3, 30):
        scope = make_scope(owner)
        load(*[{"content": str(n), "entities": [{"name": "e"}]} for n in range(number)], scope=scope)
        with CaptureQueriesContext(connection) as queries:
            exported(scope)
        asked.append(len(queries))
    assert asked[0] == asked[1]
