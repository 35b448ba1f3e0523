"""Where things live on disk."""

import os
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
