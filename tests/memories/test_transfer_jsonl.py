"""The native format: what it restores, what it refuses, and that it says where."""

import io
import json
from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memories import services
from memories.access import actor_for_user
from memories.models import AuditEntry, Entity, Link, Memory, MemoryEntity, Reinforcement, Scope, UsageEvent, Window
from memories.transfer.errors import TransferError
from memories.transfer.exporting import Export, export_to
from memories.transfer.importing import Report, import_from
from memories.transfer.jsonl import LONGEST_LINE, Jsonl
from tests.factories import add_entity, make_member, make_memory, make_scope, make_user

pytestmark = pytest.mark.django_db
NOON = datetime(2025, 3, 30, 12, tzinfo=UTC)


def as_file(*lines: dict | str) -> io.BytesIO:
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    return io.BytesIO("".join(f"{text}\n" for text in texts).encode("utf-8", "surrogatepass"))


def load(*lines: dict | str, scope: Scope, **asked) -> Report:
    asked = {"actor": actor_for_user(scope.owner), "scope": scope, "trusted": True} | asked
    return import_from(Jsonl(), as_file(*lines), **asked)


def load_bytes(raw: bytes, *, actor, **asked) -> Report:
    return import_from(Jsonl(), io.BytesIO(raw), actor=actor, trusted=True, **asked)


def exported(*scopes: Scope) -> bytes:
    return b"".join(export_to(Jsonl(), scopes))


def erase_everything() -> None:
    """An empty database that still has its people."""
    Memory.objects.update(superseded_by=None)
    for model in (UsageEvent, Reinforcement, Link, MemoryEntity, Entity, Window, Memory):
        model.objects.all().delete()


def failure(*lines: dict | str, scope: Scope, **asked) -> TransferError:
    with pytest.raises(TransferError) as caught:
        load(*lines, scope=scope, **asked)
    return caught.value


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


@pytest.mark.behaviour("Z87")
def test_exporting_twice_gives_identical_bytes(owner):
    scope = a_lived_in_scope(owner)
    assert exported(scope) == exported(scope)


@pytest.mark.behaviour("Z87", "F11")
def test_importing_twice_adds_nothing_the_second_time(owner):
    scope = a_lived_in_scope(owner)
    raw = exported(scope)
    counts = [model.objects.count() for model in (Memory, Link, Entity, MemoryEntity, Window, UsageEvent)]

    report = load_bytes(raw, actor=actor_for_user(owner))

    assert (report.written, report.existing, report.differing) == (0, 4, ())
    assert [model.objects.count() for model in (Memory, Link, Entity, MemoryEntity, Window, UsageEvent)] == counts


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
    here_only = {"content_sha256", "embedded_at", "embedding_error", "embedding_claimed_at"}
    columns = {field.name for field in Memory._meta.concrete_fields}
    from memories.transfer.jsonl import _MEMORY

    assert columns - here_only <= set(_MEMORY.fields)


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
any_moment = st.datetimes(datetime(1971, 1, 1), datetime(2025, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
any_memory = st.fixed_dictionaries(
    {
        "content": any_text.filter(str.strip),
        "kind": st.sampled_from(["fact", "episode", "open-question", "gotcha"]),
        "created_at": any_moment.map(datetime.isoformat),
        "pinned": st.booleans(),
        "weight": st.floats(0, 1),
        "access_count": st.integers(0, 2**31 - 1),
        "source": any_text,
        "verbatim": st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\x00"), max_size=80),
        "entities": st.lists(
            st.fixed_dictionaries({"name": any_text.filter(str.strip), "type": st.sampled_from(["path", "thing"])}),
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


# All or nothing ------------------------------------------------------------------------------


@pytest.mark.behaviour("F11")
@pytest.mark.parametrize("broken_at", [1, 150, 300])
def test_an_import_that_breaks_leaves_nothing_and_succeeds_once_mended(scope, broken_at):
    lines = [{"content": f"memory {number}", "external_id": str(number)} for number in range(1, 301)]
    broken = [*lines]
    broken[broken_at - 1] = broken[broken_at - 1] | {"kind": "rumour"}

    error = failure(*broken, scope=scope)

    assert (error.line, error.field) == (broken_at, "kind")
    assert error.message.startswith(f"Line {broken_at}: kind: ")
    assert not any(model.objects.exists() for model in (Memory, Window, Entity, AuditEntry))
    assert load(*lines, scope=scope).written == 300
    assert load(*lines, scope=scope).written == 0


@pytest.mark.parametrize(
    ("line", "field", "words"),
    [
        ({"content": ""}, "content", "empty"),
        ({"content": "  \n"}, "content", "empty"),
        ({}, "content", "missing"),
        ({"content": None}, "content", "missing"),
        ({"content": 5}, "content", "must be text, not 5"),
        ({"content": "a\x00b"}, "content", "NUL"),
        ({"content": "x", "verbatim": "\x00"}, "verbatim", "NUL"),
        ({"content": "x" * (4 * 1024 * 1024 + 1)}, "content", "larger than 4 MB"),
        ({"content": "x", "kind": "rumour"}, "kind", "one of fact"),
        ({"content": "x", "craeted_at": "2024"}, "craeted_at", "not a field here. Known are"),
        ({"content": "x", "created_at": "2024-05-01T10:00:00"}, "created_at", "with a time zone"),
        ({"content": "x", "created_at": "yesterday"}, "created_at", "with a time zone"),
        ({"content": "x", "created_at": 1714550400}, "created_at", "with a time zone"),
        ({"content": "x", "created_at": "9999-01-01T00:00:00Z"}, "created_at", "future"),
        ({"content": "x", "invalidated_at": "9999-01-01T00:00:00Z"}, "invalidated_at", "future"),
        ({"content": "x", "accessed_at": "0001-01-01T00:00:00+14:00"}, "accessed_at", "with a time zone"),
        (
            {"content": "x", "valid_from": "2025-02-01T00:00:00Z", "valid_until": "2025-01-01T00:00:00Z"},
            "valid_until",
            "later than valid_from",
        ),
        ({"content": "x", "weight": 1.5}, "weight", "from 0 to 1"),
        ({"content": "x", "weight": True}, "weight", "must be a number, not true"),
        ({"content": "x", "access_count": -1}, "access_count", "whole number"),
        ({"content": "x", "version": 0}, "version", "starts at 1"),
        ({"content": "x", "provenance": 3}, "provenance", "one of 0, 1, 2"),
        ({"content": "x", "author_kind": "robot"}, "author_kind", "one of human"),
        ({"content": "x", "pinned": "yes"}, "pinned", "true or false"),
        ({"content": "x", "id": "7"}, "id", "an id such as"),
        ({"content": "x", "source": "s" * 2001}, "source", "2000 characters"),
        ({"content": "x", "external_id": "s" * 301}, "external_id", "300 characters"),
        ({"content": "x", "agent": "s" * 121}, "agent", "120 characters"),
        ({"content": "x", "state": "asleep"}, "state", "one of live"),
        ({"content": "x", "state": "live", "invalidated_at": "2024-01-01T00:00:00Z"}, "state", "cannot be live"),
        ({"content": "x", "state": "superseded"}, "superseded_by", "names its successor"),
        ({"content": "x", "entities": "berth"}, "entities", "a list of objects"),
        ({"content": "x", "entities": [{"type": "path"}]}, "entities[1].name", "missing"),
        ({"content": "x", "entities": [{"name": "a", "typ": "path"}]}, "entities[1].typ", "Known are name, type"),
        ({"content": "x", "entities": [{"name": " "}]}, "entities", "from 1 to 300"),
        ({"content": "x", "links": [{"type": "blames", "target": "y"}]}, "links", "one of relates_to"),
        ({"content": "x", "links": [{"type": "relates_to", "target": "nobody"}]}, "links", "'nobody' is neither in"),
        ({"content": "x", "links": [{"type": "relates_to", "target": ""}]}, "links", "need a target"),
        ({"content": "x", "superseded_by": "nobody"}, "superseded_by", "'nobody' is neither in"),
        ({"content": "x", "reinforcement": {"multiplier": 0}}, "reinforcement", "above 0"),
        (
            {"content": "x", "signals": [{"at": "2024-01-01T00:00:00Z", "source": "hearsay"}]},
            "signals",
            "one of direct",
        ),
        ({"content": "x", "type": "poem"}, "type", "memory, scope"),
        ({"format": "zero-memory/2"}, "format", "reads zero-memory/1"),
        ("not json", None, "is not JSON"),
        ('{"content": "x"', None, "is not JSON"),
        ('["content"]', None, "not a JSON object"),
        ('{"content": "x", "weight": NaN}', None, "NaN is not a number"),
        ('{"content": "x", "weight": 1e999}', "weight", "finite"),
        ('{"content": "x", "access_count": 1' + "0" * 5000 + "}", None, "not JSON that can be read"),
        ('{"content": "x", "content": "y"}', None, "'content' is there twice"),
        ('{"content": "half a pair \\ud800"}', "content", "surrogate"),
        ("[" * 200_000, None, "nested too deeply"),
    ],
)
def test_a_bad_line_is_named_with_its_field_and_nothing_is_written(scope, line, field, words):
    good = {"content": "good", "external_id": "good"}
    error = failure(good, line, scope=scope)
    assert (error.line, error.field) == (2, field)
    assert words in error.message
    assert error.message.startswith("Line 2: ")
    assert not Memory.objects.exists()


def test_bytes_that_are_not_utf_8_are_named(scope):
    with pytest.raises(TransferError, match="Line 1: is not UTF-8 at its byte 14"):
        load_bytes(b'{"content": "\xff"}\n', actor=actor_for_user(scope.owner), scope=scope)


def test_a_line_without_end_is_refused_before_it_fills_the_memory(scope):
    class Endless(io.RawIOBase):
        def readline(self, size: int = -1) -> bytes:
            assert size == LONGEST_LINE + 1
            return b" " * size

    with pytest.raises(TransferError, match="Line 1: is longer"):
        import_from(Jsonl(), Endless(), actor=actor_for_user(scope.owner), scope=scope)


@pytest.mark.parametrize(
    ("second", "field"),
    [
        ({"content": "b", "external_id": "a"}, "external_id"),
        ({"content": "b", "id": "01980000-0000-7000-8000-000000000001"}, "id"),
        ({"content": "b", "idempotency_key": "k"}, "idempotency_key"),
    ],
)
def test_two_lines_of_one_name_are_refused(scope, second, field):
    first = {
        "content": "a",
        "external_id": "a",
        "id": "01980000-0000-7000-8000-000000000001",
        "idempotency_key": "k",
    }
    error = failure(first, second, scope=scope)
    assert (error.line, error.field) == (2, field)
    assert "line 1" in error.message


def test_an_idempotency_key_of_another_memory_is_refused(scope):
    make_memory(scope=scope, idempotency_key="k")
    error = failure({"content": "x", "external_id": "new", "idempotency_key": "k"}, scope=scope)
    assert (error.line, error.field) == (1, "idempotency_key")


@pytest.mark.parametrize("length", [1, 2, 3])
def test_successors_in_a_circle_are_refused(scope, length):
    lines = [
        {"content": str(number), "external_id": str(number), "superseded_by": str((number + 1) % length)}
        for number in range(length)
    ]
    assert failure(*lines, scope=scope).field == "superseded_by"
    assert not Memory.objects.exists()


def test_a_circle_through_what_is_stored_is_refused(scope):
    now = timezone.now()
    end = make_memory(scope=scope, external_id="end")
    make_memory(scope=scope, external_id="start", superseded_by=end, invalidated_at=now, invalidated_actor="somebody")
    error = failure(
        {"content": "x", "superseded_by": "start", "links": [{"type": "supersedes", "target": "end"}]}, scope=scope
    )
    assert error.field == "superseded_by"
    assert end.superseded_by is None


# Who may -------------------------------------------------------------------------------------


def test_a_line_without_a_scope_needs_one(owner):
    with pytest.raises(TransferError, match="Line 1: scope: is missing"):
        import_from(Jsonl(), as_file({"content": "x"}), actor=actor_for_user(owner))


def test_an_unknown_scope_is_refused_with_a_list_of_yours(scope):
    with pytest.raises(TransferError, match=r"There is no scope 'hrbour' here\. Yours: home\."):
        import_from(Jsonl(), as_file({"content": "x", "scope": "hrbour"}), actor=actor_for_user(scope.owner))


def test_a_scope_of_somebody_else_does_not_exist(owner):
    make_scope(make_user(), slug="theirs")
    with pytest.raises(TransferError, match="There is no scope 'theirs' here"):
        import_from(Jsonl(), as_file({"content": "x", "scope": "theirs"}), actor=actor_for_user(owner))


def test_a_reader_may_not_import(scope):
    reader = make_member(scope)
    with pytest.raises(TransferError, match="You may read this scope, not write to it"):
        import_from(Jsonl(), as_file({"content": "x", "scope": "home"}), actor=actor_for_user(reader))
    assert not Memory.objects.exists()


def test_a_memory_of_somebody_else_cannot_be_linked_or_found_out(scope):
    foreign = make_memory("theirs")
    error = failure({"content": "x", "links": [{"type": "relates_to", "target": str(foreign.pk)}]}, scope=scope)
    assert "is neither in this import nor in a scope of yours" in error.message


def test_the_id_of_a_memory_elsewhere_is_left_to_that_memory(scope):
    foreign = make_memory("theirs")
    for _ in range(2):
        load({"content": "mine", "id": str(foreign.pk)}, scope=scope)
    assert Memory.objects.get(scope=scope).external_id == str(foreign.pk)
    foreign.refresh_from_db()
    assert foreign.content == "theirs"


def test_a_mere_sender_cannot_lend_a_memory_rank_evidence_or_another_name(scope):
    make_user(username="boss")
    load(
        {
            "content": "trust me",
            "author": "boss",
            "author_kind": "distilled",
            "provenance": 2,
            "reinforcement": {"multiplier": 1.4},
            "signals": [{"at": "2025-01-01T00:00:00Z", "source": "direct", "useful": True}],
        },
        {
            "content": "retired by the boss",
            "external_id": "r",
            "invalidated_at": "2025-01-01T00:00:00Z",
            "invalidated_by": "boss",
            "invalidated_actor": "boss",
        },
        scope=scope,
        trusted=False,
    )
    memory, retired = Memory.objects.order_by("recorded_at", "pk")
    assert (memory.author, memory.author_kind, memory.provenance) == (scope.owner, "import", 1)
    assert (retired.invalidated_by, retired.invalidated_actor) == (scope.owner, "owner")
    assert not Reinforcement.objects.exists()
    assert not UsageEvent.objects.exists()
