"""SQL in files of its own: one statement group a file, with named parameters."""

from collections.abc import Callable
from functools import cache
from pathlib import Path


def from_folder(folder: Path) -> Callable[[str], str]:
    """A function that gives the text of ``<folder>/<name>.sql``, read once."""

    @cache
    def load(name: str) -> str:
        return (folder / f"{name}.sql").read_text(encoding="utf-8")

    return load
