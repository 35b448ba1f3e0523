"""Files out of a folder, out of a zip, or a single one: bounded, and never one from elsewhere."""

import io
import os
import tempfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from stat import S_IFMT, S_IFREG
from typing import Any, BinaryIO, Final

from memories.transfer.errors import TransferError

LARGEST_FILE: Final = 64 * 1024 * 1024  # bytes; content and verbatim of 4 MB each, escaped, and what hangs on them
LARGEST_NOTE: Final = 1024 * 1024  # bytes of Markdown that is taken apart, which is slow
LARGEST_WHOLE: Final = 1024 * 1024 * 1024  # bytes unpacked, of all files together
MOST_FILES: Final = 200_000
LINKS: Final = "symbolic links, which are not followed"
UNUSABLE: Final = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, ValueError, OSError)
_NOTHING_TO_READ: Final = (
    "holds no file that this format reads, by the names in it. Choose another format, or see which names it reads: "
    "docs/reference/formats.md."
)
_PIECE: Final = 1024 * 1024
_PASSED_OVER: Final = frozenset({"node_modules", "__pycache__", "venv"})
_REGULAR: Final = (0, S_IFREG)  # what a zip says of an ordinary file, or of one made where there are no modes

type Wanted = Callable[[str], bool]
"""Whether the file of this path is read."""


@dataclass(frozen=True, slots=True)
class File:
    name: str  # its path within the folder or the zip, with slashes; empty where nobody named it
    raw: bytes

    @property
    def place(self) -> str:
        return self.name or "The file"

    @property
    def text(self) -> str:
        """Raises TransferError for what is not UTF-8. A byte order mark is no text."""
        try:
            return self.raw.decode("utf-8").removeprefix("\ufeff")
        except UnicodeDecodeError as error:
            raise TransferError(
                f"is not UTF-8 at its byte {error.start + 1}. Convert the file.", line=self.place
            ) from error


def files_in(
    source: Any, wanted: Wanted, skipped: Counter[str], *, hidden: tuple[str, ...] = (), largest: int = LARGEST_FILE
) -> Iterator[File]:
    """Of a folder or a zip the *wanted* files by name; of anything else the one file that it is.

    *source* is the path of a folder or an open binary file. *hidden* names the hidden folders that are looked into.
    """
    if isinstance(source, Path):
        yield from _of_folder(source, wanted, skipped, hidden, largest)
        return
    with rewindable(source) as file:
        if _is_zip(file):
            yield from _of_zip(file, wanted, largest)
        else:
            yield File(_name_of(source), _bounded(file, largest, _name_of(source) or "The file"))


@contextmanager
def rewindable(source: Any) -> Iterator[Any]:
    """A source that can be read twice, as a zip must be; a stream that cannot is copied to a temporary file."""
    if isinstance(source, Path) or source.seekable():
        yield source
        return
    with tempfile.SpooledTemporaryFile(max_size=_PIECE) as copy:
        _copied(source, copy)
        yield copy  # without a name, as streams have none


def _is_zip(source: Any) -> bool:
    source.seek(0)
    start = source.read(4)
    source.seek(0)
    return start in (b"PK\x03\x04", b"PK\x05\x06")


def _copied(source: BinaryIO, copy: Any) -> None:
    copied = 0
    while piece := source.read(_PIECE):
        copied += len(piece)
        if copied > LARGEST_WHOLE:
            raise TransferError(f"This is more than {LARGEST_WHOLE:,} bytes. Split it, and import the parts in turn.")
        copy.write(piece)


def _bounded(source: Any, largest: int, place: str) -> bytes:
    raw: bytes = source.read(largest + 1)
    if len(raw) > largest:
        raise TransferError(f"is larger than {largest:,} bytes. Split it, and import the parts.", line=place)
    return raw


def _name_of(source: Any) -> str:
    name = getattr(source, "name", "")
    return "" if not isinstance(name, str) or name == "<stdin>" else PurePosixPath(name.replace("\\", "/")).name


# Folders ---------------------------------------------------------------------------------------


def _of_folder(
    top: Path, wanted: Wanted, skipped: Counter[str], hidden: tuple[str, ...], largest: int
) -> Iterator[File]:
    whole = 0
    names = _names_under(top, wanted, skipped, hidden)
    if not names and any(each.is_dir() or each.is_file() for each in top.iterdir() if not each.is_symlink()):
        raise TransferError(f"{top} {_NOTHING_TO_READ}")
    for name in names:
        try:
            # Refuses a link that has taken the file's place since its name was read.
            with os.fdopen(os.open(top / name, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
                raw = _bounded(file, largest, name)
        except OSError as error:
            raise TransferError(f"cannot be read: {error.strerror}.", line=name) from error
        whole += len(raw)
        _refuse_more(whole)
        yield File(name, raw)


def _names_under(top: Path, wanted: Wanted, skipped: Counter[str], hidden: tuple[str, ...]) -> list[str]:
    found: list[str] = []
    for folder, folders, names in os.walk(top, onerror=_refuse):
        here = Path(folder)
        skipped[LINKS] += sum((here / name).is_symlink() for name in folders if is_entered(name, hidden))
        folders[:] = [name for name in folders if is_entered(name, hidden) and not (here / name).is_symlink()]
        for name in names:
            path = (here / name).relative_to(top).as_posix()
            if not wanted(path):
                continue
            if (here / name).is_symlink():
                skipped[LINKS] += 1
            elif (here / name).is_file():
                found.append(path)
        if len(found) > MOST_FILES:
            raise TransferError(f"{top} holds more than {MOST_FILES:,} files to read. Import its folders in turn.")
    return sorted(found)


def is_entered(name: str, hidden: tuple[str, ...] = ()) -> bool:
    return name in hidden or not (name.startswith(".") or name in _PASSED_OVER)


def _refuse(error: OSError) -> None:
    raise TransferError(f"{error.filename} cannot be read: {error.strerror}.") from error


def _refuse_more(whole: int) -> None:
    if whole > LARGEST_WHOLE:
        raise TransferError(f"These files are more than {LARGEST_WHOLE:,} bytes. Import them in parts.")


# Zips ------------------------------------------------------------------------------------------


def _of_zip(source: Any, wanted: Wanted, largest: int) -> Iterator[File]:
    try:
        archive = zipfile.ZipFile(source)
    except UNUSABLE as error:
        raise TransferError(f"This zip cannot be read ({error}). Export it again.") from error
    with archive:
        whole = 0
        entries = _entries(archive)
        chosen = [entry for entry in entries if wanted(entry.filename)]
        if entries and not chosen:
            raise TransferError(f"This zip {_NOTHING_TO_READ}")
        for entry in chosen:
            file = File(entry.filename, _unpacked(archive, entry, largest))
            whole += len(file.raw)
            _refuse_more(whole)
            yield file


def _entries(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """Those that are files, by name. What a zip says of itself is not believed, so each is measured as it is read."""
    entries = archive.infolist()
    if len(entries) > MOST_FILES:
        raise TransferError(f"This zip holds more than {MOST_FILES:,} files. Split it, and import the parts.")
    names: set[str] = set()
    for entry in entries:
        _check_name(entry, names)
        names.add(entry.filename)
    return sorted((entry for entry in entries if not entry.is_dir()), key=lambda entry: entry.filename)


def _check_name(entry: zipfile.ZipInfo, names: set[str]) -> None:
    name = entry.orig_filename
    parts = PurePosixPath(name).parts
    if ".." in parts or name.startswith("/") or "\\" in name or "\x00" in name or ":" in name.partition("/")[0]:
        raise TransferError(f"This zip holds {name!a}, a name that leads out of it. Nothing of it is read.")
    if not entry.is_dir() and S_IFMT(entry.external_attr >> 16) not in _REGULAR:
        raise TransferError(f"This zip holds {name!a}, which is no ordinary file. Make the zip without it.")
    if entry.filename in names:
        raise TransferError(f"This zip holds {name!a} twice. Make the zip anew.")


def _unpacked(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, largest: int) -> bytes:
    try:
        with archive.open(entry) as packed:
            return _bounded(packed, largest, entry.filename)
    except UNUSABLE as error:
        raise TransferError(f"cannot be unpacked ({error}). Make the zip anew.", line=entry.filename) from error


def zipped(files: Iterator[tuple[str, bytes]]) -> Iterator[bytes]:
    """The bytes of a zip, as they come: the same files give the same bytes, and its list of names is sorted."""
    pipe = _Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name, raw in files:
            entry = zipfile.ZipInfo(name)  # of 1980, whenever it is written
            entry.compress_type, entry.create_system, entry.external_attr = zipfile.ZIP_DEFLATED, 3, 0o100600 << 16
            archive.writestr(entry, raw)
            yield pipe.taken()
        archive.infolist().sort(key=lambda entry: entry.filename)
    yield pipe.taken()


class _Pipe(io.RawIOBase):
    """What the archive has written since it was last looked at."""

    def __init__(self) -> None:
        super().__init__()
        self._pieces: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, piece: Any) -> int:
        self._pieces.append(bytes(piece))
        return len(piece)

    def taken(self) -> bytes:
        raw = b"".join(self._pieces)
        self._pieces.clear()
        return raw
