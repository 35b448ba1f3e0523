"""Log files under the data folder, each kept to a bounded size."""

from __future__ import annotations

import shutil
from pathlib import Path

from zeromemory.lib.folders import data_folder

LARGEST = 5 * 1024 * 1024  # bytes, once for the file and once for the one before it


def log_path(name: str, folder: Path | None = None) -> Path:
    logs = (folder or data_folder()) / "logs"
    logs.mkdir(mode=0o700, parents=True, exist_ok=True)
    return logs / f"{name}.log"


def keep_small(log: Path) -> None:
    """Move the content to ``<name>.log.1`` once it is too long. Writers keep appending to the same file."""
    if log.exists() and log.stat().st_size > LARGEST:
        shutil.copyfile(log, log.with_name(f"{log.name}.1"))
        with log.open("r+b") as file:
            file.truncate(0)


def last_lines(log: Path, count: int) -> str:
    if not log.exists():
        return ""
    return "\n".join(log.read_text(errors="replace").splitlines()[-count:])
