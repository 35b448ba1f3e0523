"""The file of a backup: a tar of ``manifest.json``, which says what is in it, and ``database.dump``."""

from __future__ import annotations

import hashlib
import io
import json
import os
import tarfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, Final

FORMAT: Final = "zero-memory-backup/1"
MANIFEST: Final = "manifest.json"
DUMP: Final = "database.dump"
LONGEST_MANIFEST: Final = 4 * 1024 * 1024  # bytes
PIECE: Final = 1024 * 1024  # bytes


class BackupError(RuntimeError):
    """A backup that cannot be made or restored; the message says what was kept and what to do."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """``tables`` counts the rows of each table, partitions one by one; of those in ``without_rows`` none travel."""

    product: str
    made_at: str
    server: str
    migrations: tuple[str, ...]
    tables: Mapping[str, int]
    without_rows: tuple[str, ...] = ()
    bytes: int = 0
    sha256: str = ""

    @property
    def rows(self) -> int:
        return sum(self.tables.values())


def digest(path: Path) -> tuple[int, str]:
    """Its length and its SHA-256."""
    with path.open("rb") as file:
        return path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest()


def pack(manifest: Manifest, dump: Path, target: Path) -> None:
    """Write *target*, which must not exist, for this user alone and onto the disk."""
    with (
        os.fdopen(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file,
        tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        words = json.dumps({"format": FORMAT} | asdict(manifest), indent=1).encode()
        archive.addfile(_entry(MANIFEST, len(words)), io.BytesIO(words))
        with dump.open("rb") as content:
            archive.addfile(_entry(DUMP, manifest.bytes), content)
        archive.close()
        file.flush()
        os.fsync(file.fileno())


def _entry(name: str, size: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = size, 0o600
    return entry


def unpack(path: Path, folder: Path) -> tuple[Manifest, Path]:
    """The manifest, and the dump in *folder*, compared with it. Raises BackupError where a byte is another."""
    try:
        with tarfile.open(path, mode="r:") as archive:
            manifest = _manifest(_member(archive, MANIFEST).read(LONGEST_MANIFEST))
            dump = folder / DUMP
            _copy(_member(archive, DUMP), dump)
    except (FileNotFoundError, IsADirectoryError) as error:
        raise BackupError(f"There is no file {path}. Name the file that manage.py backup wrote.") from error
    except (tarfile.TarError, KeyError, ValueError, TypeError, EOFError) as error:
        raise BackupError(_damaged(path)) from error
    if digest(dump) != (manifest.bytes, manifest.sha256):
        raise BackupError(_damaged(path))
    return manifest, dump


def _damaged(path: Path) -> str:
    return (
        f"{path} is no whole backup: it was cut off, changed, or is something else. Nothing was touched. "
        "Fetch the file again, or take another backup."
    )


def _member(archive: tarfile.TarFile, name: str) -> IO[bytes]:
    found = archive.extractfile(archive.getmember(name))
    if found is None:
        raise KeyError(name)
    return found


def _copy(source: IO[bytes], target: Path) -> None:
    with target.open("xb") as file:
        while piece := source.read(PIECE):
            file.write(piece)


def _manifest(words: bytes) -> Manifest:
    told: dict[str, Any] = json.loads(words)
    if told.pop("format") != FORMAT:
        raise ValueError("another format")
    lists = {name: tuple(told[name]) for name in ("migrations", "without_rows")}
    tables = {str(name): int(number) for name, number in told["tables"].items()}
    return Manifest(**told | lists | {"tables": tables})
