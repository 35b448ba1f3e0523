"""Markdown that a person has written, in their words, and all that is wrong with it at once."""

from datetime import UTC, datetime

import pytest

from memories.models import Memory
from memories.transfer.errors import MOST_FAULTS, Mistakes
from memories.transfer.jsonl import Jsonl
from memories.transfer.markdown import Markdown
from memories.transfer.records import EntityRecord
from tests.memories.formats.reading import a_file, a_zip, load, records

NOTE = """---
Title: The berth
Type: Open question
Created: 2025-03-30 14:30
Last modified: 1 April 2025
Valid until:
tags: [harbour, "#depth"]
About: Berth 4, Old Mole
Pinned: yes
Project: home
---

Why does it silt up?
"""


def of(header: str):
    (found,) = records(Markdown(), a_file(f"---\n{header}\n---\n\nWords.\n", "note.md"))
    return found


def test_a_note_in_a_persons_words_is_read_with_what_it_leaves_open():
    format = Markdown()
    (found,) = records(format, a_file(NOTE, "note.md"))
    assert (found.content, found.kind, found.scope) == ("The berth\n\nWhy does it silt up?", "open-question", "home")
    assert (found.created_at, found.updated_at) == (
        datetime(2025, 3, 30, 14, 30, tzinfo=UTC),
        datetime(2025, 4, 1, tzinfo=UTC),
    )
    assert (found.pinned, found.valid_until) == (True, None)
    assert found.entities == (
        EntityRecord("Berth 4"),
        EntityRecord("Old Mole"),
        EntityRecord("harbour", "tag"),
        EntityRecord("depth", "tag"),
    )
    assert format.notes == {"dates without a time zone, taken as UTC": 2}


@pytest.mark.parametrize(
    "date",
    ["2025-03-30", "30 March 2025", "March 30, 2025", "30 Mar 2025", "30.03.2025", "2025/03/30", "2025-03-30T00:00"],
)
def test_a_date_may_be_written_as_people_write_it(date):
    assert of(f"date: {date}").created_at == datetime(2025, 3, 30, tzinfo=UTC)


def test_a_zone_that_is_named_is_kept():
    assert of("created: 2025-03-30T02:00:00+02:00").created_at == datetime(2025, 3, 30, tzinfo=UTC)


@pytest.mark.django_db
def test_every_mistake_of_a_file_is_named_with_its_line_in_one_run(scope):
    text = "---\nkind: opinion\nCreated: soon\nmood: fine\nweight: 3\n---\n\nWords.\n"
    with pytest.raises(Mistakes) as caught:
        load(
            Markdown(), a_zip({"a.md": text, "b.md": "---\nPinned: perhaps\n---\n\nWords.\n", "c.md": "Fine.\n"}), scope
        )
    told = caught.value.message
    assert "a.md line 3: Created: must be a date and time" in told
    assert "a.md line 4: mood: is not a field here" in told
    assert "b.md line 2: Pinned: must be true or false, not 'perhaps'." in told
    assert told.startswith("3 mistakes, and nothing was imported:")
    assert not Memory.objects.exists()


@pytest.mark.django_db
def test_what_a_memory_may_not_say_is_named_beside_what_cannot_be_read(scope):
    files = {"a.md": "---\nkind: opinion\nweight: 3\n---\n\nWords.\n", "b.md": "---\ncreated: soon\n---\n\nWords.\n"}
    with pytest.raises(Mistakes) as caught:
        load(Markdown(), a_zip(files), scope)
    assert "a.md line 2: kind: The kind must be one of" in caught.value.message
    assert "a.md line 3: weight: must be a number from 0 to 1" in caught.value.message
    assert "b.md line 2: created: must be a date" in caught.value.message


def test_a_field_that_is_said_twice_is_refused():
    with pytest.raises(Exception, match=r"note\.md line 2: created: is said twice, as 'date' too"):
        of("created: 2025-03-30\ndate: 2025-03-31")


@pytest.mark.django_db
def test_lines_name_all_their_mistakes_and_the_same_one_once_with_its_places(scope):
    raw = '{"content": "a", "knid": "fact"}\n{"content": "b"}\n{"content": "c", "knid": "fact"}\nno\n'
    with pytest.raises(Mistakes) as caught:
        load(Jsonl(), a_file(raw), scope)
    assert "Lines 1, 3: knid: is not a field here." in caught.value.message
    assert "Line 4: is not JSON" in caught.value.message


@pytest.mark.django_db
def test_after_so_many_mistakes_the_rest_is_not_read(scope):
    with pytest.raises(Mistakes) as caught:
        load(Jsonl(), a_file("no\n" * 1000), scope)
    assert len(caught.value.each) == MOST_FAULTS
    assert caught.value.message.endswith("There may be more: the rest was not read.")
