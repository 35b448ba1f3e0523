"""Which format a file is in, told by a bounded part of it."""

import io
import json
import zipfile

import pytest

from memories.transfer import beginnings
from memories.transfer.beginnings import beginning_of
from memories.transfer.recognised import recognise
from tests.memories.formats.reading import a_zip
from tests.memories.formats.test_zero_memory import a_memory

CLAUDE_MEM = {"observations": [{"title": "The berth", "narrative": "It silts up."}]}


class Counted(io.BytesIO):
    """Counts the bytes that are read of it."""

    count = 0

    def read(self, size=-1):
        raw = super().read(size)
        self.count += len(raw)
        return raw


def guess(name, raw):
    found = recognise(name, io.BytesIO(raw), len(raw)).format
    return found and found.name


def unpacked(file):
    with zipfile.ZipFile(file) as archive:
        return sum(len(archive.read(entry)) for entry in archive.infolist())


@pytest.mark.parametrize(
    ("name", "raw", "expected"),
    [
        ("a.jsonl", b"", "jsonl"),
        ("a.mdc", b"", "agents-md"),
        ("a.db", b"", "claude-mem"),
        ("a.json", json.dumps(CLAUDE_MEM).encode(), "claude-mem"),
        ("a.json", b"[]", None),
        ("a.json", b"{", None),
        ("a.md", b"Words.", None),
        ("a.zip", b"PK\x03\x04 and no more", None),
        ("a.zip", a_zip({"memories.json": json.dumps({"memories": [{"memory": "It silts up."}]})}).getvalue(), "mem0"),
        ("a.zip", a_zip({"home/1.md": a_memory()}).getvalue(), "zero-memory"),
        ("a.txt", b"Words.", None),
    ],
)
def test_a_format_is_told_by_the_name_and_otherwise_by_the_beginning(name, raw, expected):
    assert guess(name, raw) == expected


def test_of_a_long_text_the_beginning_is_read_and_no_character_is_cut_in_two():
    file = Counted(("ä" * 1_000_000).encode())
    assert recognise("a.md", file, 2_000_000).format is None
    assert file.count < 2 * beginnings.NOTE
    assert beginning_of("a.md", io.BytesIO(b"x" + "ä".encode() * 10_000), 20_001).read().decode().endswith("ä")


def test_of_many_notes_some_are_read():
    file = a_zip({f"{number:04}.md": "- [fact] It silts up.\n" * 3000 for number in range(100)})
    part = beginning_of("a.zip", file, 100)
    assert unpacked(part) <= beginnings.MOST_FILES * beginnings.NOTE
    with zipfile.ZipFile(part) as archive:
        assert archive.namelist()[0] == "0000.md"


def test_what_unpacks_to_far_more_than_it_is_tells_nothing():
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("memories.json", b"[" + b" " * 20_000_000 + b"]")
    assert len(packed.getvalue()) < 100_000
    assert beginning_of("a.zip", packed, 1) is None
    assert guess("a.zip", packed.getvalue()) is None


def test_of_json_that_is_too_long_to_be_read_at_once_the_top_tells():
    raw = json.dumps(CLAUDE_MEM).encode() + b" " * beginnings.WHOLE
    file = Counted(raw)
    assert recognise("a.json", file, len(raw)).format.name == "claude-mem"
    assert file.count <= 2 * beginnings.WHOLE
