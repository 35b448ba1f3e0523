"""Memories from mem0."""

import json
from datetime import UTC, datetime

import pytest

from memories.models import Memory
from memories.transfer.mem0 import Mem0
from memories.transfer.records import EntityRecord
from tests.memories.formats.reading import a_file, a_json_file, a_zip, load, records, refusal

ONE = {
    "id": "m-1",
    "memory": "Prefers tea at sea.",
    "hash": "0f",
    "metadata": {"category": "preference", "tags": ["drinks"], "weight": [1]},
    "created_at": "2025-03-30T02:30:00-07:00",
    "updated_at": None,
    "user_id": "anna",
    "agent_id": "galley",
    "run_id": "r-1",
    "score": None,
    "expiration_date": "2030-01-01",
}


def of(value):
    return records(Mem0(), a_json_file(value))


def test_a_memory_keeps_its_text_dates_and_who_it_is_about():
    (found,) = of({"results": [ONE], "relations": [{"source": "anna", "relationship": "likes", "target": "tea"}]})
    assert (found.content, found.kind) == ("Prefers tea at sea.", "preference")
    assert found.created_at == found.updated_at == datetime(2025, 3, 30, 9, 30, tzinfo=UTC)
    assert found.valid_until == datetime(2030, 1, 1, tzinfo=UTC)
    assert (found.agent, found.session, found.external_id) == ("galley", "r-1", "mem0:m-1")
    assert found.source == "mem0:m-1 (type: preference, user: anna)"
    assert found.entities == (EntityRecord("drinks", "tag"), EntityRecord("anna", "person"))


@pytest.mark.parametrize("wrapped", [[ONE], {"results": [ONE]}, {"memories": [ONE]}, {"items": [ONE], "total": 1}])
def test_it_is_read_from_every_answer_that_mem0_gives(wrapped):
    assert [found.external_id for found in of(wrapped)] == ["mem0:m-1"]


def test_a_word_that_is_no_kind_is_kept_in_the_source_of_a_fact():
    (found,) = of([ONE | {"metadata": {"type": "anecdote"}, "categories": ["misc"]}])
    assert (found.kind, found.source) == ("fact", "mem0:m-1 (type: anecdote, user: anna)")
    assert EntityRecord("misc", "category") in found.entities


def test_the_categories_of_the_product_tell_the_kind_where_nothing_else_does():
    assert of([ONE | {"metadata": None, "categories": ["food", "user_preferences"]}])[0].kind == "preference"


def test_names_that_mem0_has_found_are_kept_and_relations_are_counted():
    format = Mem0()
    named = {"entities": [{"name": "Anna", "type": "person"}], "relations": [{"source": "a", "target": "b"}]}
    (found,) = records(format, a_json_file({"results": [ONE | named], "relations": [{}]}))
    assert found.entities[0] == EntityRecord("Anna", "person")
    assert format.skipped["relations between names, which are no memories"] == 2


def test_a_backup_of_openmemory_keeps_apps_categories_and_what_was_archived():
    backup = {
        "user": {"user_id": "anna"},
        "apps": [{"id": "a1", "name": "cursor"}],
        "categories": [{"id": "c1", "name": "work"}],
        "memories": [
            {"id": "1", "content": "Live.", "state": "active", "app_id": "a1", "category_ids": ["c1"], "metadata": {}},
            {"id": "2", "content": "Old.", "state": "archived", "archived_at": "2025-02-01T00:00:00+00:00"},
        ],
    }
    live, old = records(Mem0(), a_zip({"memories.json": json.dumps(backup), "memories.jsonl.gz": b"x"}))
    assert (live.agent, live.entities, live.state) == ("cursor", (EntityRecord("work", "category"),), None)
    assert (old.state, old.invalidated_at) == ("invalidated", datetime(2025, 2, 1, tzinfo=UTC))
    assert old.invalidation_reason == "archived in mem0"


def test_a_record_of_a_bundle_is_read_with_what_stands_in_its_metadata():
    record = {
        "memory_id": "b1",
        "content": "Bundled.",
        "metadata": {"created_at": "2025-01-01T00:00:00Z", "agent_id": "x"},
    }
    (found,) = of({"format": "mem0.bundle", "records": [record]})
    assert (found.external_id, found.agent, found.created_at) == ("mem0:b1", "x", datetime(2025, 1, 1, tzinfo=UTC))


def test_what_says_nothing_or_stands_there_twice_is_left_out_and_counted():
    format = Mem0()
    assert len(records(format, a_json_file([ONE, ONE, {"id": "2", "memory": " "}]))) == 1
    assert +format.skipped == {"entries that stand there twice": 1, "memories without text": 1}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"hello": 1}', "m.json: is no export of mem0"),
        ('"text"', "m.json: results: must be a list of objects"),
        ('{"results": {}}', "m.json: results: must be a list of objects"),
        ("[1]", "m.json: results[1]: must be an object"),
        ('[{"memory": 5}]', "m.json: results[1]: memory: must be text, not 5"),
        ('[{"memory": "x", "created_at": "soon"}]', "m.json: results[1]: created_at: must be a date and time such as"),
        ('[{"memory": "x", "created_at": true}]', "m.json: results[1]: created_at: must be a date and time such as"),
        ("{", "m.json: is not JSON: Expecting property name"),
        ("[" * 100_000, "m.json: is nested too deeply"),
        ('[{"id": "a", "id": "b"}]', "m.json: is not JSON that can be read: the field 'id' is there twice"),
        (b"\xff", "m.json: is not UTF-8 at its byte 1"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_place(text, words):
    assert words in refusal(Mem0(), a_file(text, "m.json"))


@pytest.mark.django_db
@pytest.mark.behaviour("Z87")
def test_a_second_import_adds_nothing(scope):
    assert load(Mem0(), a_json_file([ONE]), scope).written == 1
    assert load(Mem0(), a_json_file([ONE]), scope).existing == 1
    assert Memory.objects.get().author == scope.owner
