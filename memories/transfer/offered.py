"""The formats that pages and programs may choose from, and which of them a file is in."""

from collections.abc import Iterator
from pathlib import PurePath
from typing import IO

from memories.errors import ZeroMemoryError
from memories.transfer.beginnings import beginning_of
from memories.transfer.contract import Format
from memories.transfer.registry import FORMATS, format_called


def all_formats() -> list[type[Format]]:
    return [format_called(name) for name in sorted(FORMATS)]


def readable() -> list[type[Format]]:
    """Those that read a file; a repository or a folder is on the machine of the server alone."""
    return [format for format in all_formats() if format.reads and format.takes_file]


def writable() -> list[type[Format]]:
    return [format for format in all_formats() if format.writes]


def guessed(file_name: str, file: IO[bytes], length: int) -> type[Format] | None:
    """The format of this name, or of several of this name the only one that makes sense of its beginning; None where
    unsure, because a text makes sense to many."""
    named = [format for format in readable() if PurePath(file_name.lower()).suffix in format.readable_suffixes()]
    if len(named) > 1 and (beginning := beginning_of(file_name, file, length)):
        named = list(_fitting(named, beginning))
    return named[0] if len(named) == 1 else None


def _fitting(formats: list[type[Format]], file: IO[bytes]) -> Iterator[type[Format]]:
    for format in formats:
        file.seek(0)
        try:
            next(iter(format().read(file)))
        except (ZeroMemoryError, StopIteration):
            continue
        yield format
