"""SQL of the aggregates, one statement a file, with named parameters."""

from functools import cache
from pathlib import Path


@cache
def load(name: str) -> str:
    """The text of ``insights/sql/<name>.sql``."""
    return (Path(__file__).parent / f"{name}.sql").read_text(encoding="utf-8")
