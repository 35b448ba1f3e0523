"""Where things live on disk."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent.parent


def data_folder() -> Path:
    """The data folder: ``ZEROMEMORY_DATA``, or ``var/`` beside ``manage.py``."""
    return Path(os.environ.get("ZEROMEMORY_DATA") or PROJECT / "var").expanduser().resolve()


def make_data_folder(path: Path) -> None:
    """Make *path* for this user alone; under root others may pass through, for the database server's own user."""
    if path.exists():
        return
    path.mkdir(parents=True, exist_ok=True)
    path.chmod(0o711 if os.geteuid() == 0 else 0o700)


@contextmanager
def as_before(path: Path) -> Iterator[None]:
    """Where what is done within does not succeed, a folder that was not there before is gone again."""
    was_there = path.exists()
    try:
        yield
    except BaseException:
        if not was_there:
            shutil.rmtree(path, ignore_errors=True)
        raise
