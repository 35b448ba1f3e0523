"""Which format a file or a folder is in, where nobody said it."""

import io
import json

import pytest

from memories.transfer.exporting import export_to
from memories.transfer.markdown import Markdown
from memories.transfer.recognised import recognise, recognise_folder
from tests.factories import make_memory
from tests.memories.formats.reading import a_folder, a_zip
from tests.memories.formats.test_basic_memory import BERTH, DEPTHS
from tests.memories.formats.test_every_format import sample
from tests.memories.formats.test_graymatter import fact
from tests.memories.formats.test_zero_memory import a_memory

INSTRUCTIONS = "# Rules\n\n- [ ] Measure depths in metres.\n"
GUIDANCE = "# CLAUDE.md\n\nThis file provides guidance to Claude Code in this repository.\n"


def told(name, raw):
    raw = raw.encode() if isinstance(raw, str) else raw
    found = recognise(name, io.BytesIO(raw), len(raw))
    return (found.format and found.format.name, found.by if found.format else "")


@pytest.mark.parametrize("name", ["CLAUDE.md", "AGENTS.md", "GEMINI.md", ".cursorrules", "pilot.mdc"])
def test_instructions_are_told_by_their_name_whatever_stands_in_them(name):
    assert told(name, INSTRUCTIONS) == ("agents-md", "its name")


@pytest.mark.parametrize(
    ("name", "raw", "expected"),
    [
        ("old.md", GUIDANCE, "agents-md"),
        ("berth.md", BERTH, "basic-memory"),
        ("berth.md", "# Berth\r\n\r\n- [gotcha] It silts up.\r\n", "basic-memory"),
        ("berth.md", "---\nkind: gotcha\n---\n\nIt silts up.\n", "markdown"),
        ("berth.md", a_memory(), "zero-memory"),
        ("pilot.md", "# pilot\n\n_0 facts_\n\n---\n", "graymatter"),
        ("a.json", json.dumps([fact()]), "graymatter"),
        ("a.json", json.dumps({"memories": [{"content": "x", "content_hash": "1"}]}), "mcp-memory-service"),
        ("a.json", json.dumps({"results": [{"memory": "x", "agent_id": "1"}]}), "mem0"),
        ("lines", '{"content": "It silts up."}\n{"content": "Twice."}\n', "jsonl"),
        ("store.sqlite", b"SQLite format 3\x00" + b"\x00" * 100, "claude-mem"),
    ],
)
def test_another_file_is_told_by_what_stands_in_it(name, raw, expected):
    assert told(name, raw) == (expected, "what stands in it")


def test_plain_words_tell_nothing_but_what_could_read_them():
    found = recognise("notes.md", io.BytesIO(b"Words."), 6)
    assert found.format is None
    assert [format.name for format in found.fitting] == ["agents-md", "basic-memory", "markdown"]


@pytest.mark.django_db
def test_an_export_of_this_product_is_told_from_notes_that_look_alike(scope):
    make_memory("- [gotcha] It silts up.\n", scope=scope)
    make_memory("Words.", scope=scope)
    make_memory("More words.", scope=scope)
    assert told("out.zip", b"".join(export_to(Markdown(), [scope]))) == ("markdown", "what stands in it")


def test_a_folder_is_told_by_the_names_in_it_or_by_its_notes(tmp_path):
    project = a_folder(tmp_path / "project", {"README.md": "Words.", "docs/CLAUDE.md": INSTRUCTIONS})
    found = recognise_folder(project)
    assert (found.format.name, found.by) == ("agents-md", "the names of its files")
    vault = a_folder(tmp_path / "vault", {"berth.md": BERTH, "depths.md": DEPTHS, ".obsidian/x.md": "Words."})
    assert recognise_folder(vault).format.name == "basic-memory"


def test_a_vault_with_instructions_in_it_may_be_either(tmp_path):
    found = recognise_folder(a_folder(tmp_path, {"berth.md": BERTH, "CLAUDE.md": INSTRUCTIONS}))
    assert found.format is None
    assert [format.name for format in found.fitting] == ["agents-md", "basic-memory"]


def test_an_empty_folder_and_a_zip_of_nothing_tell_nothing(tmp_path):
    assert recognise_folder(tmp_path).format is None
    assert told("a.zip", a_zip({}).getvalue()) == (None, "")


@pytest.mark.parametrize("name", ["agents-md", "claude-mem", "jsonl", "mem0", "zero-memory"])
def test_the_file_of_each_product_is_told_as_it_comes(name):
    file = sample(name, "The berth silts up.")
    raw = file.read()
    assert told(getattr(file, "name", "a.zip"), raw)[0] == name
