"""When the worker last answered. A file in the data folder: it must be readable when the database is not."""

from __future__ import annotations

import time

from zeromemory.lib.folders import data_folder

EVERY_SECONDS = 30
LATE_AFTER_SECONDS = 3 * EVERY_SECONDS


def beat() -> None:
    (data_folder() / "worker_heartbeat").touch()


def last() -> float | None:
    """When the worker last answered, in seconds since the epoch; None when it never did."""
    try:
        return (data_folder() / "worker_heartbeat").stat().st_mtime
    except FileNotFoundError:
        return None


def age() -> float | None:
    """Seconds since the worker last answered; None when it never did."""
    at = last()
    return None if at is None else max(0.0, time.time() - at)


def is_fresh() -> bool:
    seconds = age()
    return seconds is not None and seconds <= LATE_AFTER_SECONDS
