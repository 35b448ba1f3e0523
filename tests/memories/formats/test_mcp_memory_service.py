"""Memories from mcp-memory-service."""

from datetime import UTC, datetime

import pytest

from memories.models import Memory
from memories.transfer.mcp_memory_service import KINDS, McpMemoryService
from memories.transfer.records import EntityRecord
from tests.memories.formats.reading import a_json_file, load, records, refusal

ONE = {
    "content": "Deploys go out on Tuesdays.",
    "content_hash": "ab12",
    "tags": ["ops", "project:harbour"],
    "created_at": 1692633600.5,
    "updated_at": 1692720000.0,
    "memory_type": "decision",
    "metadata": {"agent": "pilot", "session_id": "s-1", "quality": 0.5},
    "export_source": "laptop",
}
MADE = datetime(2023, 8, 21, 16, 0, 0, 500_000, tzinfo=UTC)


def export(*memories) -> dict:
    return {
        "export_metadata": {"source_machine": "laptop", "total_memories": len(memories)},
        "memories": list(memories),
    }


def of(*memories):
    return records(McpMemoryService(), a_json_file(export(*memories)))


def test_a_memory_keeps_its_text_type_dates_tags_and_machine():
    (found,) = of(ONE)
    assert (found.content, found.kind) == ("Deploys go out on Tuesdays.", "decision")
    assert (found.created_at, found.updated_at) == (MADE, datetime(2023, 8, 22, 16, tzinfo=UTC))
    assert (found.agent, found.session) == ("pilot", "s-1")
    assert found.entities == (EntityRecord("ops", "tag"), EntityRecord("project:harbour", "tag"))
    assert found.external_id == "mcp-memory-service:ab12"
    assert found.source == "mcp-memory-service:ab12 (type: decision, machine: laptop)"


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("note", "fact"),
        ("gotcha", "gotcha"),
        ("tool_choice", "decision"),
        ("Bug", "gotcha"),
        ("riddle", "fact"),
        (None, "fact"),
    ],
)
def test_the_type_tells_the_kind(word, kind):
    assert of(ONE | {"memory_type": word})[0].kind == kind


def test_no_word_for_a_kind_is_one_that_a_kind_has_already():
    assert all(word == word.lower() and "_" not in word for word in KINDS)


def test_tags_may_stand_in_one_text_and_the_date_as_text():
    (found,) = of({"content": "x", "tags": "a, b,", "created_at_iso": "2023-08-21T16:00:00.500000Z"})
    assert [entity.name for entity in found.entities] == ["a", "b"]
    assert found.created_at == MADE


def test_a_store_of_its_own_is_a_scope_and_another_memory():
    first, second = of(ONE | {"store": "default"}, ONE | {"store": "My Harbour"})
    assert (first.scope, second.scope) == ("", "my-harbour")
    assert second.external_id == "mcp-memory-service:My Harbour/ab12"


def test_a_date_in_the_future_is_taken_as_now_and_noted():
    format = McpMemoryService(now=MADE)
    (found,) = records(format, a_json_file(export(ONE | {"created_at": 4e9, "updated_at": None})))
    assert found.created_at == MADE
    assert format.notes == {"dates in the future, taken as now": 1}


def test_more_tags_than_a_memory_may_have_are_noted():
    format = McpMemoryService()
    tags = [f"t{number}" for number in range(101)] + ["x" * 301, " ", "T0"]
    (found,) = records(format, a_json_file(export(ONE | {"tags": tags})))
    assert len(found.entities) == 100
    assert set(format.notes) == {
        "memories with more than 100 names, of which the first were kept",
        "names of more than 300 characters, left out",
    }


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"facts": []}, "memories.json: is no export of mcp-memory-service"),
        ({"memories": {"a": 1}}, "memories.json: is no export of mcp-memory-service"),
        (export({"content": ["x"]}), "memories.json: memories[1]: content: must be text, not a list"),
        (export({"content": "x", "tags": [1]}), "memories.json: memories[1]: tags: must be text, not 1"),
        (export({"content": "x", "tags": 1}), "memories.json: memories[1]: tags: must be a list of texts, not 1"),
        (export({"content": "x", "created_at": 1e300}), "memories.json: memories[1]: created_at: must be a moment"),
        (export({"content": "x", "metadata": "{"}), "memories.json: memories[1]: metadata: must be an object"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_place(value, words):
    assert words in refusal(McpMemoryService(), a_json_file(value))


@pytest.mark.django_db
@pytest.mark.behaviour("Z87", "F11")
def test_one_memory_that_may_not_be_written_stops_all_and_a_second_import_adds_nothing(scope):
    good = [ONE | {"content_hash": str(number), "content": f"{number}"} for number in range(20)]
    bad = ONE | {"content": "nul \0 within", "content_hash": "bad"}
    with pytest.raises(Exception, match=r"^memories\.json: memories\[21\]: content: .* NUL"):
        load(McpMemoryService(), a_json_file(export(*good, bad)), scope)
    assert not Memory.objects.exists()
    assert load(McpMemoryService(), a_json_file(export(*good)), scope).written == 20
    assert load(McpMemoryService(), a_json_file(export(*good)), scope).written == 0
