"""Facts from GrayMatter, and back."""

import io
import json
from datetime import UTC, datetime

import pytest

from memories.models import Memory
from memories.transfer.exporting import export_to
from memories.transfer.graymatter import GrayMatter
from tests.factories import make_memory
from tests.memories.carrying import erase_everything, exported
from tests.memories.formats.reading import a_file, a_folder, a_json_file, a_zip, load, records, refusal
from tests.memories.test_transfer_jsonl import a_lived_in_scope

MADE = datetime(2025, 3, 30, 12, tzinfo=UTC)


def fact(id: str = "01A", **overrides) -> dict:
    return {
        "id": id,
        "agent_id": "pilot",
        "text": f"Fact {id}.",
        "created_at": "2025-03-30T12:00:00.123456789Z",
        "accessed_at": "2025-04-01T12:00:00Z",
        "access_count": 3,
        "weight": 0.875,
        "embedding": [0.1, 0.2],
    } | overrides


def of(*facts: dict):
    return records(GrayMatter(), a_json_file(list(facts)))


def test_a_fact_keeps_its_weight_its_use_and_its_dates():
    (found,) = of(fact())
    assert (found.content, found.agent, found.external_id) == ("Fact 01A.", "pilot", "graymatter:01A")
    assert (found.weight, found.access_count, found.pinned) == (0.875, 3, False)
    assert found.created_at == MADE.replace(microsecond=123456)
    assert found.accessed_at == datetime(2025, 4, 1, 12, tzinfo=UTC)
    assert (found.kind, found.provenance, found.state) == ("fact", 1, None)


def test_a_pin_is_kept_and_the_date_of_none_is_no_date():
    (found,) = of(fact(pinned=True, pinned_at="0001-01-01T00:00:00Z", accessed_at="0001-01-01T00:00:00Z"))
    assert found.pinned
    assert found.accessed_at == found.created_at


@pytest.mark.parametrize(
    ("confidence", "rank", "verdicts"),
    [("", 1, []), ("inferred", 1, []), ("verified", 1, ["current"]), ("unverified", 0, []), ("guessed", 0, [])],
)
def test_its_confidence_is_a_rank_and_a_check(confidence, rank, verdicts):
    (found,) = of(fact(confidence=confidence))
    assert (found.provenance, [check.verdict for check in found.checks]) == (rank, verdicts)


@pytest.mark.django_db
@pytest.mark.behaviour("G19", "G20")
def test_tombstones_name_their_successor_or_are_retired_without_one(scope):
    format = GrayMatter()
    facts = [
        fact("1", superseded_by="2"),
        fact("2"),
        fact("3", superseded_by="agent"),
        fact("4", superseded_by="pruned"),
    ]
    report = load(format, a_json_file(facts), scope)
    states = {memory.external_id: memory.state for memory in Memory.objects.all()}
    assert states == {
        "graymatter:1": "superseded",
        "graymatter:2": "live",
        "graymatter:3": "invalidated",
        "graymatter:4": "invalidated",
    }
    assert Memory.objects.get(external_id="graymatter:1").superseded_by.external_id == "graymatter:2"
    assert report.notes["facts whose successor is not in the file, retired without one"] == 1
    assert load(GrayMatter(), a_json_file(facts), scope).written == 0


def test_aliases_and_facts_without_text_are_left_out_and_counted():
    format = GrayMatter()
    assert records(format, a_json_file([fact(kind="alias"), fact("2", text=" ")])) == []
    assert +format.skipped == {"aliases, which are words and no memories": 1, "facts without text": 1}


@pytest.mark.parametrize("text", ["null", "[]", ""])
def test_an_empty_store_is_no_error(text):
    assert records(GrayMatter(), a_file(text, "memories.json")) == []


# Markdown --------------------------------------------------------------------------------------

AGENT = (
    "# pilot\n\n_2 facts_\n\n---\n\n"
    "## 2025-03-30 12:00:00\n\nThe berth silts up.\n\n---\n\n## Not a heading of its own\n\n"
    "_weight: 0.500 · accessed: 2 times_\n\n---\n\n"
    "## 2025-03-31 12:00:00\n\nOn Tuesdays.\n\n_weight: 1.000 · accessed: 0 times_\n\n---\n\n"
)


def test_the_file_of_an_agent_is_read_fact_by_fact():
    first, second = records(GrayMatter(), a_file(AGENT, "pilot.md"))
    assert first.content == "The berth silts up.\n\n---\n\n## Not a heading of its own"
    assert (first.agent, first.created_at, first.weight, first.access_count) == ("pilot", MADE, 0.5, 2)
    assert (second.content, second.line) == ("On Tuesdays.", "pilot.md: fact 2")


def test_a_file_of_an_agent_whose_facts_do_not_add_up_is_refused():
    assert "pilot.md: is no export of GrayMatter" in refusal(
        GrayMatter(), a_file(AGENT.replace("_2 f", "_3 f"), "pilot.md")
    )
    assert "notes.md: is no export of GrayMatter" in refusal(GrayMatter(), a_file("# Notes\n\nText.\n", "notes.md"))


def test_a_vault_is_read_note_by_note_without_its_index(tmp_path):
    note = (
        "---\nid: 01B\nagent: pilot\ncreated: 2025-03-30T12:00:00Z\naccessed: 2025-03-31T12:00:00Z\naccess_count: 4\n"
        "weight: 0.2500\nconfidence: unverified\npinned: true\ntags:\n  - graymatter\n  - pilot\n---\n"
        "\nThe berth\n\nsilts up.\n"
    )
    vault = {
        "pilot/the-berth.md": note,
        "_index.md": "---\ntags: [graymatter, index]\n---\n\n# GrayMatter Memory Index\n",
    }
    for source in (a_folder(tmp_path, vault), a_zip(vault)):
        (found,) = records(GrayMatter(), source)
        assert (found.content, found.external_id) == ("The berth\n\nsilts up.", "graymatter:01B")
        assert (found.weight, found.access_count, found.pinned, found.provenance) == (0.25, 4, True, 0)
        assert (found.agent, found.created_at) == ("pilot", MADE)


# Back ------------------------------------------------------------------------------------------


def written(scope) -> bytes:
    return b"".join(export_to(GrayMatter(), [scope]))


@pytest.mark.django_db
@pytest.mark.behaviour("G38", "Z87")
def test_its_json_comes_back_from_here_as_it_was(scope):
    facts = [
        fact(
            "01A",
            confidence="verified",
            created_at="2025-03-30T12:00:00.000000Z",
            accessed_at="2025-04-01T12:00:00.000000Z",
        ),
        fact("01B", pinned=True, created_at="2025-03-30T13:00:00.000000Z", accessed_at="2025-04-01T12:00:00.000000Z"),
        fact(
            "01C",
            superseded_by="01B",
            created_at="2025-03-29T12:00:00.000000Z",
            accessed_at="2025-04-01T12:00:00.000000Z",
        ),
        fact(
            "01D",
            superseded_by="agent",
            created_at="2025-03-29T13:00:00.000000Z",
            accessed_at="2025-04-01T12:00:00.000000Z",
        ),
    ]
    for one in facts:
        del one["embedding"]
    load(GrayMatter(), a_json_file(facts), scope)
    raw = written(scope)
    assert json.loads(raw) == facts
    assert written(scope) == raw
    assert load(GrayMatter(), io.BytesIO(raw), scope).written == 0


@pytest.mark.django_db
@pytest.mark.behaviour("Z87")
def test_what_this_product_exports_for_it_adds_nothing_here_and_keeps_what_it_can(owner):
    scope = a_lived_in_scope(owner)
    raw, before = written(scope), exported(scope)
    assert load(GrayMatter(), io.BytesIO(raw), scope).existing == 4
    assert exported(scope) == before
    kept = {
        memory.content: (memory.kind, memory.pinned, memory.weight, memory.state) for memory in Memory.objects.all()
    }
    erase_everything()
    assert load(GrayMatter(), io.BytesIO(raw), scope).written == 4
    assert kept == {
        memory.content: (memory.kind, memory.pinned, memory.weight, memory.state) for memory in Memory.objects.all()
    }


@pytest.mark.django_db
def test_an_empty_scope_is_an_empty_list(scope):
    assert json.loads(written(scope)) == []


@pytest.mark.django_db
def test_one_fact_reads_like_this(scope):
    memory = make_memory("Née.", scope=scope, created_at=MADE, accessed_at=MADE)
    assert written(scope).decode() == (
        "[\n  {\n"
        f'    "id": "{memory.pk}",\n    "agent_id": "home",\n    "text": "Née.",\n'
        '    "created_at": "2025-03-30T12:00:00.000000Z",\n    "accessed_at": "2025-03-30T12:00:00.000000Z",\n'
        '    "access_count": 0,\n    "weight": 1.0\n  }\n]\n'
    )
