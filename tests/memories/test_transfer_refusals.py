"""An import is whole or nothing: what stops it, where it says so, and what nobody may bring in."""

import io

import pytest
from django.utils import timezone

from memories.access import actor_for_user
from memories.models import AuditEntry, Entity, Memory, Reinforcement, UsageEvent, Verification, Window
from memories.transfer.errors import TransferError
from memories.transfer.importing import import_from
from memories.transfer.jsonl import LONGEST_LINE, Jsonl
from tests.factories import make_member, make_memory, make_scope, make_user
from tests.memories.carrying import as_file, failure, load, load_bytes

pytestmark = pytest.mark.django_db

# All or nothing ------------------------------------------------------------------------------
LOOK = {"at": "2024-01-01T00:00:00Z", "verdict": "current", "method": "person"}


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
        ({"content": "\u200b\ufeff"}, "content", "empty"),
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
        (
            {"content": "x", "entities": [{"name": "a", "typ": "path"}]},
            "entities[1].typ",
            "Known are name, recognised, type",
        ),
        ({"content": "x", "entities": [{"name": " "}]}, "entities", "from 1 to 300"),
        ({"content": "x", "entities": [{"name": "\u200b"}]}, "entities", "from 1 to 300"),
        ({"content": "x", "entities": [{"name": f"e{number}"} for number in range(101)]}, "entities", "at most 100"),
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
        ({"content": "x", "author": "a\x00"}, "author", "NUL"),
        ({"content": "x", "scope": "a\x00"}, "scope", "NUL"),
        ({"content": "x", "superseded_by": "a\x00"}, "superseded_by", "NUL"),
        ({"content": "x", "invalidated_by": "a\x00"}, "invalidated_by", "NUL"),
        ({"content": "x", "links": [{"type": "relates_to", "target": "a\x00"}]}, "links", "NUL"),
        (
            {"content": "x", "signals": [{"at": "2024-01-01T00:00:00Z", "source": "link", "relevant": True}]},
            "signals",
            "only of a judge",
        ),
        (
            {"content": "x", "signals": [{"at": "2024-01-01T00:00:00Z", "source": "direct", "user": "\x00"}]},
            "signals",
            "NUL",
        ),
        ({"content": "x", "checks": [LOOK | {"verdict": "outdated"}]}, "checks", "one of current, unverifiable"),
        ({"content": "x", "checks": [LOOK | {"method": "dream"}]}, "checks", "one of person, agent, web_search"),
        ({"content": "x", "checks": [LOOK | {"confidence": 1.1}]}, "checks", "from 0 to 1"),
        ({"content": "x", "checks": [LOOK | {"at": "2999-01-01T00:00:00Z"}]}, "checks", "future"),
        ({"content": "x", "checks": [LOOK | {"note": "n" * 2001}]}, "checks", "at most 2000"),
        ({"type": "scope", "scope": "a\x00"}, "scope", "NUL"),
        ('{"type": "scope", "scope": "a", "name": "\\ud800"}', "name", "surrogate"),
        ({"type": "scope", "scope": "a", "retention": "keep"}, "retention", "ageing, decaying"),
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
            "checks": [{"at": "2025-01-01T00:00:00Z", "verdict": "current", "method": "person", "user": "boss"}],
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
    assert not Verification.objects.exists()
