"""So much of a file as tells its format: looked into while a person waits, so never more than a bounded part."""

from __future__ import annotations

import codecs
import io
import os
import zipfile
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import IO, Final

from memories.transfer.sources import UNUSABLE, is_entered

LARGEST: Final = 8_000_000  # bytes of a zip, whose list of names is read as a whole
WHOLE: Final = 1_000_000  # bytes of JSON, which means nothing in part; of all JSON in a zip together
NOTE: Final = 16_000  # bytes of a text
MOST_FILES: Final = 20  # of a zip or a folder
INSTRUCTING: Final = (".cursor", ".claude", ".windsurf", ".github")  # hidden folders in which instructions stand
MOST_NAMES: Final = 5_000  # of a folder
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


def beginning_of_folder(top: Path) -> Beginning:
    """A zip of some of its files."""
    read = []
    for name in _telling(names_in_folder(top)):
        with (top / name).open("rb") as file:
            read.append((zipfile.ZipInfo(name), _whole_characters(file.read(NOTE))))
    return Beginning(_packed(read), top.name)


def names_in(name: str, file: IO[bytes], length: int) -> list[str]:
    """Of a zip those within it, where it is not too large to be looked into; otherwise its own."""
    file.seek(0)
    if file.read(2) != b"PK" or length > LARGEST:
        return [name]
    try:
        with zipfile.ZipFile(file) as archive:
            return archive.namelist()
    except UNUSABLE:
        return [name]


def names_in_folder(top: Path) -> list[str]:
    found: list[str] = []
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(name for name in folders if is_entered(name, INSTRUCTING))
        here = Path(folder)
        found += [path.relative_to(top).as_posix() for name in sorted(names) if _is_readable(path := here / name)]
        if len(found) >= MOST_NAMES:
            break
    return found


def _is_readable(path: Path) -> bool:
    return path.is_file() and not path.is_symlink() and os.access(path, os.R_OK)


def texts_in(file: IO[bytes]) -> list[str]:
    """What stands near the top of a file, or of each in a zip that is a beginning, as text whatever it is."""
    file.seek(0)
    is_zip = file.read(2) == b"PK"
    file.seek(0)
    if not is_zip:
        return [_as_text(file)]
    if not isinstance(file, Beginning):
        return []  # too much in it, or broken
    with zipfile.ZipFile(file) as archive:
        return [_as_text(io.BytesIO(archive.read(entry))) for entry in archive.infolist()]


def _as_text(file: IO[bytes]) -> str:
    return file.read(NOTE).decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n")


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
            files = _first_files(archive)
            return None if files is None else _packed(files)
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
    return [named[name] for name in _telling(named)]


def _telling(names: Iterable[str]) -> list[str]:
    return [name for name in sorted(names) if PurePosixPath(name.lower()).suffix in (*_TEXTS, ".json")][:MOST_FILES]


def _packed(files: list[tuple[zipfile.ZipInfo, bytes]]) -> bytes:
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
