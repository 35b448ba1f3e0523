"""Files that wait to be imported: in the data folder, for this user of the machine alone, and not for long."""

import io
import os
import time
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import BinaryIO
from uuid import UUID

from django.conf import settings

from memories.errors import PayloadTooLarge
from memories.transfer.errors import TransferError


def folder() -> Path:
    return Path(settings.DATA_FOLDER) / "imports"


def most_bytes() -> int:
    return int(settings.IMPORT_MEGABYTES) * 1_000_000


def keep(id: UUID, pieces: Iterable[bytes]) -> int:
    """Write the file of the import *id*; its length. Raises PayloadTooLarge, and then nothing is kept."""
    path = _path(id)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    length = 0
    try:
        with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
            for piece in pieces:
                length += len(piece)
                refuse_larger(length)
                file.write(piece)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return length


def refuse_larger(length: int) -> None:
    if length > most_bytes():
        raise PayloadTooLarge(
            f"The file is larger than {settings.IMPORT_MEGABYTES:,} MB, and nothing was kept of it. Split it, import "
            "it with manage.py import_memories, or raise ZEROMEMORY_IMPORT_MB.",
            field="file",
        )


class _Kept(io.BufferedReader):
    """A file under the name it was handed in by, which formats read: memories are about it, and not about ours."""

    def __init__(self, path: Path, name: str) -> None:
        super().__init__(io.FileIO(path))
        self._handed_in_as = name

    @property
    def name(self) -> str:
        return self._handed_in_as


def opened(id: UUID, name: str) -> BinaryIO:
    try:
        return _Kept(_path(id), name)
    except FileNotFoundError as error:
        raise TransferError(
            "The file is not there any more: it is kept for a day, on the machine it was handed in on. Choose it again."
        ) from error


def remove(id: UUID) -> None:
    _path(id).unlink(missing_ok=True)


def remove_others(wanted: Collection[UUID], *, older_than: float) -> int:
    """Remove what belongs to none of *wanted* and was not written within *older_than* seconds."""
    names = {str(id) for id in wanted}
    old = [path for path in _files() if path.name not in names and time.time() - path.stat().st_mtime > older_than]
    for path in old:
        path.unlink(missing_ok=True)
    return len(old)


def _files() -> list[Path]:
    return sorted(folder().iterdir()) if folder().exists() else []


def _path(id: UUID) -> Path:
    return folder() / str(id)
