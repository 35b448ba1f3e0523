"""Where files come from: a folder, a zip, a stream. Nothing of a hostile one is believed."""

import io
import os
import stat
import zipfile
from collections import Counter
from pathlib import Path

import pytest

from memories.transfer import sources
from memories.transfer.errors import TransferError
from memories.transfer.sources import LINKS, File, files_in, zipped
from tests.memories.formats.reading import a_file, a_folder, a_zip


def found_in(source, wanted=lambda name: name.endswith(".md"), **asked) -> list[File]:
    return list(files_in(source, wanted, Counter(), **asked))


def names_in(source, **asked) -> list[str]:
    return [file.name for file in found_in(source, **asked)]


def refused(source) -> str:
    with pytest.raises(TransferError) as caught:
        found_in(source, wanted=lambda name: True)
    return caught.value.message


class Stream(io.BytesIO):
    """As standard input is."""

    def seekable(self) -> bool:
        return False

    def seek(self, *_) -> int:
        raise io.UnsupportedOperation


def test_the_files_of_a_zip_and_of_a_folder_come_in_the_order_of_their_names(tmp_path):
    files = {"b.md": "b", "a/c.md": "c", "picture.png": "", "a/a.md": "a"}
    for source in (a_zip(files), Stream(a_zip(files).getvalue()), a_folder(tmp_path, files)):
        assert [(file.name, file.text) for file in found_in(source)] == [
            ("a/a.md", "a"),
            ("a/c.md", "c"),
            ("b.md", "b"),
        ]


def test_a_zip_and_a_folder_of_other_files_are_refused_and_not_reported_as_nothing(tmp_path):
    files = {"a.txt": "a", "b/picture.png": ""}
    for source in (a_zip(files), a_folder(tmp_path, files)):
        with pytest.raises(TransferError, match="holds no file that this format reads"):
            found_in(source)
    assert found_in(a_zip({})) == []


def test_anything_else_is_one_file_with_the_name_it_was_sent_under():
    assert found_in(a_file("text", "C:\\notes\\note.txt")) == [File("note.txt", b"text")]
    assert found_in(Stream(b"text")) == [File("", b"text")]


def test_hidden_folders_and_those_of_programs_are_passed_over_but_for_the_one_that_is_named(tmp_path):
    a_folder(tmp_path, {f"{folder}/x.md": "" for folder in (".git", ".cursor", "node_modules", "docs")})
    assert names_in(tmp_path) == ["docs/x.md"]
    assert names_in(tmp_path, hidden=(".cursor",)) == [".cursor/x.md", "docs/x.md"]


def test_a_link_in_a_folder_is_not_followed_and_is_counted(tmp_path):
    secret = a_folder(tmp_path / "elsewhere", {"secret.md": "secret"})
    folder = a_folder(tmp_path / "notes", {"note.md": "note"})
    (folder / "link.md").symlink_to(secret / "secret.md")
    (folder / "folder").symlink_to(secret)
    skipped: Counter[str] = Counter()
    assert [file.name for file in files_in(folder, lambda name: name.endswith(".md"), skipped)] == ["note.md"]
    assert skipped == {LINKS: 2}


def test_what_is_no_ordinary_file_is_never_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe.md")
    assert names_in(tmp_path) == []


@pytest.mark.parametrize(
    "name", ["../out.md", "a/../../out.md", "/etc/out.md", "C:/out.md", "a\\..\\out.md", "..\\out.md"]
)
def test_a_zip_with_a_name_that_leads_out_is_refused(name):
    assert "a name that leads out of it" in refused(a_zip({"good.md": "good", name: "bad"}))


@pytest.mark.parametrize("mode", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFBLK])
def test_a_zip_with_a_link_or_a_device_is_refused(mode):
    entry = zipfile.ZipInfo("link.md")
    entry.external_attr = (mode | 0o777) << 16
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(entry, "/etc/passwd")
    assert "which is no ordinary file" in refused(file)


def test_a_zip_that_unpacks_to_more_than_may_be_read_is_refused_before_it_does(monkeypatch):
    monkeypatch.setattr(sources, "LARGEST_WHOLE", 3_000_000)
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(100):
            archive.writestr(f"{number}.md", b"\0" * 1_000_000)
    assert len(bomb.getvalue()) < 200_000
    assert "These files are more than 3,000,000 bytes" in refused(bomb)


def test_one_file_of_a_zip_is_read_no_further_than_it_may_be():
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("big.md", b"\0" * 1_000_001)
    with pytest.raises(TransferError, match=r"^big\.md: is larger than 1,000,000 bytes"):
        found_in(bomb, largest=1_000_000)


def test_a_zip_of_too_many_files_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(sources, "MOST_FILES", 3)
    files = {f"{number}.md": "" for number in range(4)}
    assert "holds more than 3 files" in refused(a_zip(files))
    assert "holds more than 3 files to read" in refused(a_folder(tmp_path, files))


def test_a_stream_without_end_is_refused_before_it_fills_the_disk(monkeypatch):
    monkeypatch.setattr(sources, "LARGEST_WHOLE", 100)
    assert "This is more than 100 bytes" in refused(Stream(b"x" * 101))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_zip_that_names_a_file_twice_is_refused():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.md", "one")
        archive.writestr("a.md", "other")
    assert "'a.md' twice" in refused(file)


def test_a_zip_that_is_damaged_or_locked_is_refused_with_what_to_do():
    whole = a_zip({"a.md": "text " * 100}).getvalue()
    assert "This zip cannot be read" in refused(io.BytesIO(whole[:-30]))
    assert "a.md: cannot be unpacked" in refused(io.BytesIO(whole.replace(b"text ", b"TEXT ", 1)))
    locked = bytearray(whole)
    locked[6] |= 1
    locked[whole.index(b"PK\x01\x02") + 8] |= 1
    assert "a.md: cannot be unpacked" in refused(io.BytesIO(bytes(locked)))


def test_bytes_that_are_not_utf_8_are_named_with_their_file():
    with pytest.raises(TransferError, match=r"^a\.md: is not UTF-8 at its byte 3"):
        _ = found_in(a_zip({"a.md": b"ab\xff"}))[0].text


def test_a_byte_order_mark_is_no_text():
    assert found_in(a_file(b"\xef\xbb\xbftext", "a.md"))[0].text == "text"


def test_a_zip_is_written_as_its_files_come_and_holds_them():
    files = [("b.md", b"b" * 1000), ("a.md", b"a")]
    pieces = list(zipped(iter(files)))
    assert len(pieces) == 3
    with zipfile.ZipFile(io.BytesIO(b"".join(pieces))) as archive:
        assert archive.namelist() == ["a.md", "b.md"]
        assert archive.read("b.md") == b"b" * 1000
        assert archive.testzip() is None


def test_an_unreadable_folder_is_named(tmp_path):
    assert "cannot be read" in refused(Path(tmp_path / "missing"))
