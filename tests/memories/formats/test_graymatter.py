"""Facts from GrayMatter, and back."""

import io
import json
from datetime import UTC, datetime

import pytest

from memories.models import Alias, Memory, Verification
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
    assert (found.kind, found.confidence, found.state) == ("fact", "inferred", None)


def test_a_pin_is_kept_and_the_date_of_none_is_no_date():
    (found,) = of(fact(pinned=True, pinned_at="0001-01-01T00:00:00Z", accessed_at="0001-01-01T00:00:00Z"))
    assert found.pinned
    assert found.accessed_at == found.created_at


@pytest.mark.behaviour("G37")
@pytest.mark.parametrize(
    ("confidence", "kept"),
    [
        ("", "inferred"),
        ("inferred", "inferred"),
        ("verified", "verified"),
        ("unverified", "unverified"),
        ("guessed", "unverified"),
    ],
)
def test_its_confidence_is_the_label_and_nothing_else(confidence, kept):
    (found,) = of(fact(confidence=confidence))
    assert (found.confidence, found.provenance, found.checks) == (kept, None, ())


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


def test_facts_without_text_and_aliases_that_tie_nothing_are_left_out_and_counted():
    format = GrayMatter()
    facts = [
        fact("1", kind="alias"),
        fact("2", text=" "),
        fact("3", kind="alias", text="a = b", superseded_by="agent"),
    ]
    assert records(format, a_json_file(facts)) == []
    assert +format.skipped == {
        "aliases that do not read like one = other": 1,
        "facts without text": 1,
        "aliases that were retired": 1,
    }


@pytest.mark.behaviour("G32")
@pytest.mark.parametrize("text", ["falcon = billing service", "falcon -> billing service", "falcon: billing service"])
def test_an_alias_fact_is_two_words_and_no_memory(text):
    (found,) = GrayMatter().read(a_json_file([fact(kind="alias", text=text)]))
    assert (found.term, found.alias) == ("falcon", "billing service")


@pytest.mark.django_db
@pytest.mark.behaviour("G32")
def test_aliases_arrive_once_and_are_written_back(scope):
    facts = [
        fact("1", kind="alias", text="falcon = billing service, invoicer"),
        fact("2"),
        fact("3", kind="alias", text=f"{'long ' * 30} = short"),
    ]
    report = load(GrayMatter(), a_json_file(facts), scope)
    assert (report.written, report.carried) == (1, {"vocabulary_alias": 2})
    assert report.notes["aliases left out: The term may have at most 120 characters."] == 1
    assert load(GrayMatter(), a_json_file(facts), scope).carried == {}

    back = [one for one in json.loads(written(scope)) if one.get("kind") == "alias"]
    assert {one["text"] for one in back} == {"falcon = billing service", "falcon = invoicer"}
    tied = set(Alias.objects.values_list("term", "alias"))
    raw = written(scope)
    erase_everything()
    Alias.objects.all().delete()
    load(GrayMatter(), io.BytesIO(raw), scope)
    assert set(Alias.objects.values_list("term", "alias")) == tied
    assert Memory.objects.count() == 1


@pytest.mark.django_db
def test_what_was_imported_before_there_were_labels_goes_back_with_its_word(scope):
    doubtful = make_memory("Doubtful.", scope=scope, external_id="graymatter:01A", provenance=0)
    checked = make_memory("Checked.", scope=scope, external_id="graymatter:01B", provenance=1)
    note = "Verified, as GrayMatter has it."
    Verification.objects.create(memory=checked, at=MADE, verdict="current", method="agent", actor="pilot", note=note)
    labels = {one["id"]: one["confidence"] for one in json.loads(written(scope))}
    assert labels == {"01A": "unverified", "01B": "verified"}
    assert doubtful.confidence == "inferred"


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
        assert (found.weight, found.access_count, found.pinned, found.confidence) == (0.25, 4, True, "unverified")
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
