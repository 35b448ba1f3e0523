"""Where things live on disk."""

import os
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent.parent


def data_folder() -> Path:
    """The data folder: ``ZEROMEMORY_DATA``, or ``var/`` beside ``manage.py``."""
    return Path(os.environ.get("ZEROMEMORY_DATA") or PROJECT / "var").expanduser().resolve()
