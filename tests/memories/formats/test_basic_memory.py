"""Notes of Basic Memory."""

from datetime import UTC, datetime

import pytest

from memories.models import Memory
from memories.transfer.basic_memory import BasicMemory
from memories.transfer.markdown_blocks import _PARSER, items_of
from memories.transfer.records import EntityRecord, LinkRecord
from tests.memories.formats.reading import a_file, a_folder, a_zip, load, records, refusal

BERTH = """---
title: Berth 4
type: guide
tags: [harbour, "#depth"]
permalink: harbour/berth-4
created: 2025-03-30T12:00:00
modified: '2025-04-01'
---

# Berth 4

It lies by the [[Old Mole]].

## Observations

- [gotcha] It silts up in spring #silt (since 2019)
- [riddle] Nobody knows why
  - not even the pilot
- [x] swept
- [00:11] a line of a transcript

## Relations

- part_of [[Harbour Plan]]
- contradicts [[Depth Table]] (of 2018)
"""
PLAN = "---\ntitle: Harbour Plan\n---\n\nDrawn in 1901.\n"
DEPTHS = "---\npermalink: depths\ntitle: Depth Table\n---\nFour metres.\n"
MADE = datetime(2025, 3, 30, 12, tzinfo=UTC)


def of(files: dict[str, str]) -> dict:
    return {found.external_id.partition(":")[2]: found for found in records(BasicMemory(), a_zip(files))}


def test_a_note_and_each_of_its_observations_are_memories():
    found = of({"harbour/berth-4.md": BERTH})
    note, gotcha, riddle = found.values()
    assert note.content.startswith(
        "# Berth 4\n\nIt lies by the [[Old Mole]].\n\n## Observations\n\n- [x] swept\n- [00:11] a line"
    )
    assert "[gotcha]" not in note.content
    assert (note.kind, note.external_id) == ("reference", "basic-memory:harbour/berth-4")
    assert (gotcha.kind, gotcha.content) == ("gotcha", "It silts up in spring #silt (since 2019)")
    assert (riddle.kind, riddle.content) == ("fact", "Nobody knows why\n- not even the pilot")
    assert riddle.source == "basic-memory:harbour/berth-4 (type: riddle)"


def test_dates_tags_and_names_are_kept():
    note, gotcha, _ = of({"harbour/berth-4.md": BERTH}).values()
    assert (note.created_at, note.updated_at) == (MADE, datetime(2025, 4, 1, tzinfo=UTC))
    assert gotcha.created_at == MADE
    assert set(gotcha.entities) == {
        EntityRecord("Berth 4", "note"),
        EntityRecord("harbour", "tag"),
        EntityRecord("depth", "tag"),
        EntityRecord("silt", "tag"),
    }
    assert EntityRecord("Old Mole", "note") in note.entities


def test_a_relation_is_a_link_where_both_notes_are_there_and_a_name_where_not():
    format = BasicMemory()
    files = {"harbour/berth-4.md": BERTH, "plan.md": PLAN, "depths.md": DEPTHS}
    note = next(found for found in records(format, a_zip(files)) if found.kind == "reference")
    assert note.links == (
        LinkRecord("relates_to", "basic-memory:plan"),
        LinkRecord("contradicts", "basic-memory:depths"),
    )
    assert format.notes["relations to notes that are not in the import, kept as names"] == 1
    assert EntityRecord("Old Mole", "note") in note.entities


def test_a_note_that_names_itself_is_not_tied_to_itself():
    (found,) = of({"a.md": "# Old Mole\n\nThe [[a]] was built in 1880.\n"}).values()
    assert found.links == ()


def test_an_observation_is_tied_to_its_note():
    _, gotcha, riddle = of({"harbour/berth-4.md": BERTH}).values()
    assert gotcha.links == riddle.links == (LinkRecord("relates_to", "basic-memory:harbour/berth-4"),)


def test_a_note_of_observations_alone_is_no_memory_of_its_own():
    (found,) = of({"a.md": "# Title\n\n## Observations\n- [decision] Only this.\n"}).values()
    assert (found.content, found.links) == ("Only this.", ())


def test_a_note_without_front_matter_is_known_by_its_path_and_says_its_title():
    (found,) = of({"harbour/Old Mole.md": "Built in 1880.\n"}).values()
    assert (found.external_id, found.content) == ("basic-memory:harbour/Old Mole", "Old Mole\n\nBuilt in 1880.")


def test_an_observation_within_code_is_none():
    (found,) = of({"a.md": "# A\n\n```\n- [decision] an example\n```\n"}).values()
    assert "- [decision] an example" in found.content


@pytest.mark.django_db
@pytest.mark.behaviour("Z87", "Z69")
def test_all_of_it_is_written_once_and_a_note_that_supersedes_another_retires_it(scope, tmp_path):
    files = {"berth.md": BERTH, "plan.md": PLAN, "new.md": "# New plan\n\n- supersedes [[harbour plan|the plan]]\n"}
    folder = a_folder(tmp_path, files)
    report = load(BasicMemory(), folder, scope)
    assert (report.written, report.links) == (5, 4)
    assert Memory.objects.get(external_id="basic-memory:plan").state == "superseded"
    assert load(BasicMemory(), a_zip(files), scope).written == 0


def test_empty_notes_and_repeated_observations_are_left_out_and_counted():
    format = BasicMemory()
    files = {"a.md": "---\ntitle: A\n---\n\n# A\n", "b.md": "- [fact] Same.\n- [fact] Same.\n"}
    assert len(records(format, a_zip(files))) == 1
    assert +format.skipped == {"notes without text": 1, "entries that stand there twice": 1}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("---\ntitle: [\n---\nx", "a.md: The front matter is not YAML"),
        ("---\na: &a [*a]\n---\nx", "a.md: The front matter refers to itself"),
        ("---\ncreated: long ago\n---\nx", "a.md: created: must be a date and time such as"),
        ("---\ncreated: 2025-13-45\n---\nx", "a.md: created: must be a date and time such as"),
        ("---\ntags:\n  a: b\n---\nx", "a.md: tags: must be a list of texts, not an object"),
        ("---\npermalink: [a]\n---\nx", "a.md: permalink: must be text, not a list"),
    ],
)
def test_a_note_that_cannot_be_read_is_named_with_its_field(text, words):
    assert words in refusal(BasicMemory(), a_file(text, "a.md"))


def test_links_that_do_not_end_are_not_followed():
    """Within a block nothing is parsed: the parser would look for the end of each of these anew."""
    (item,) = items_of("- [fact] " + "[[" * 1000)
    assert item.text == "[fact] " + "[[" * 1000
    assert not any(token.children for token in _PARSER.parse("[[" * 10))
