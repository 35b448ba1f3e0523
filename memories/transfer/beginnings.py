"""So much of a file as tells its format: looked into while a person waits, so never more than a bounded part."""

from __future__ import annotations

import codecs
import io
import zipfile
from pathlib import PurePosixPath
from typing import IO, Final

from memories.transfer.sources import UNUSABLE

LARGEST: Final = 8_000_000  # bytes of a zip, whose list of names is read as a whole
WHOLE: Final = 1_000_000  # bytes of JSON, which means nothing in part; of all JSON in a zip together
NOTE: Final = 16_000  # bytes of a text
MOST_FILES: Final = 20  # of a zip
_TEXTS: Final = (".md", ".mdc", "")


class Beginning(io.BytesIO):
    def __init__(self, raw: bytes, name: str) -> None:
        super().__init__(raw)
        self.name = name


def beginning_of(name: str, file: IO[bytes], length: int) -> Beginning | None:
    """A file of the same format; None where so little of it does not tell."""
    file.seek(0)
    is_zip = file.read(2) == b"PK"
    file.seek(0)
    raw = _of_zip(file, length) if is_zip else _of_file(name, file)
    return None if raw is None else Beginning(raw, PurePosixPath(name).name)


def _of_file(name: str, file: IO[bytes]) -> bytes | None:
    if PurePosixPath(name.lower()).suffix in _TEXTS:
        return _whole_characters(file.read(NOTE))
    raw = file.read(WHOLE + 1)
    return raw if len(raw) <= WHOLE else None


def _of_zip(file: IO[bytes], length: int) -> bytes | None:
    if length > LARGEST:
        return None
    try:
        with zipfile.ZipFile(file) as archive:
            return _packed(_first_files(archive))
    except UNUSABLE:
        return None


def _first_files(archive: zipfile.ZipFile) -> list[tuple[zipfile.ZipInfo, bytes]] | None:
    read, left = [], WHOLE
    for entry in _told_by(archive):
        is_text = PurePosixPath(entry.filename.lower()).suffix in _TEXTS
        with archive.open(entry) as packed:
            raw = packed.read(NOTE if is_text else left + 1)
        if not is_text and (left := left - len(raw)) < 0:
            return None
        read.append((entry, _whole_characters(raw) if is_text else raw))
    return read


def _told_by(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    named = {entry.filename: entry for entry in archive.infolist() if not entry.is_dir()}
    telling = [name for name in sorted(named) if PurePosixPath(name.lower()).suffix in (*_TEXTS, ".json")]
    return [named[name] for name in telling[:MOST_FILES]]


def _packed(files: list[tuple[zipfile.ZipInfo, bytes]] | None) -> bytes | None:
    if files is None:
        return None
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for entry, raw in files:
            alike = zipfile.ZipInfo(entry.filename)
            alike.external_attr = entry.external_attr
            archive.writestr(alike, raw)
    return packed.getvalue()


def _whole_characters(raw: bytes) -> bytes:
    """Without the character that was cut in two; what is no text stays as it is, to be refused."""
    try:
        return codecs.getincrementaldecoder("utf-8")().decode(raw).encode()
    except UnicodeDecodeError:
        return raw
