"""Locks on files. The kernel drops them when their process ends, however it ends."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Wait for, then hold, the lock on *path*."""
    with _opened(path) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


class SharedLock:
    """Held by any number of processes; tells the last one that it is the last."""

    def __init__(self, path: Path) -> None:
        self._file = _opened(path)
        fcntl.flock(self._file, fcntl.LOCK_SH)

    def is_mine_alone(self) -> bool:
        """True when nobody else holds it. Ask under another exclusive lock, or the answer may be old."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def release(self) -> None:
        self._file.close()


class InstanceLock:
    """One holder, which leaves a note for whoever comes second."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = _opened(path)

    def acquire(self) -> bool:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def leave_note(self, note: str) -> None:
        self._file.seek(0)
        self._file.truncate()
        self._file.write(note)
        self._file.flush()

    def read_note(self) -> str:
        return self._path.read_text()

    def release(self) -> None:
        self._file.close()


def _opened(path: Path) -> IO[str]:
    path.parent.mkdir(parents=True, exist_ok=True)
    return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), "r+")
