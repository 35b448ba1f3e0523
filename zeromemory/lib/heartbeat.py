"""When the worker last answered. A file in the data folder: it must be readable when the database is not."""

from __future__ import annotations

import os
import time
from pathlib import Path

from zeromemory.lib.folders import data_folder

EVERY_SECONDS = 30
LATE_AFTER_SECONDS = 3 * EVERY_SECONDS


_STOPPED = "stopped"


def beat() -> None:
    _file().write_text("")


def stop() -> None:
    """The worker has ended in good order, so nobody has to wait until it is late. When it last answered stays."""
    at = last()
    if at is not None:
        _file().write_text(_STOPPED)
        os.utime(_file(), (at, at))


def _file() -> Path:
    return data_folder() / "worker_heartbeat"


def last() -> float | None:
    """When the worker last answered, in seconds since the epoch; None when it never did."""
    try:
        return _file().stat().st_mtime
    except FileNotFoundError:
        return None


def age() -> float | None:
    """Seconds since the worker last answered; None when it never did."""
    at = last()
    return None if at is None else max(0.0, time.time() - at)


def is_fresh() -> bool:
    seconds = age()
    return seconds is not None and seconds <= LATE_AFTER_SECONDS and not is_stopped()


def is_stopped() -> bool:
    try:
        return _file().read_text() == _STOPPED
    except FileNotFoundError:
        return False
