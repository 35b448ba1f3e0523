"""Which format a file or folder is in: told by its name, by what stands near its top, or by what can be read of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import IO, Final

from memories.errors import ZeroMemoryError
from memories.transfer.beginnings import (
    Beginning,
    beginning_of,
    beginning_of_folder,
    names_in,
    names_in_folder,
    texts_in,
)
from memories.transfer.contract import Format
from memories.transfer.offered import all_formats, readable

BY_NAME: Final = "its name"
BY_NAMES: Final = "the names of its files"
BY_TEXT: Final = "what stands in it"

type Formats = list[type[Format]]


@dataclass(frozen=True, slots=True)
class Recognised:
    """``format`` is None where nothing tells, or where several do: ``fitting`` are those that it may be in."""

    fitting: Formats
    by: str = ""

    @property
    def format(self) -> type[Format] | None:
        return self.fitting[0] if self.by and len(self.fitting) == 1 else None


def recognise(name: str, file: IO[bytes], length: int) -> Recognised:
    """Of an open file, looked into near its top alone."""
    suffix = PurePath(name.lower()).suffix
    possible = [format for format in readable() if suffix in format.readable_suffixes()]
    if len(possible) == 1:
        return Recognised(possible, BY_NAME)
    beginning = beginning_of(name, file, length)
    texts = texts_in(beginning or file)
    found = _told(possible or readable(), names_in(name, file, length), texts, beginning)
    file.seek(0)
    return found


def recognise_folder(top: Path) -> Recognised:
    """Of a folder on this machine."""
    possible = [format for format in all_formats() if format.reads and format.takes_folder and format.takes_file]
    beginning = beginning_of_folder(top)
    return _told(possible, names_in_folder(top), texts_in(beginning), beginning)


def _told(possible: Formats, names: list[str], texts: list[str], beginning: Beginning | None) -> Recognised:
    named = [format for format in possible if any(map(format.is_named, names))]
    if named and len(names) == 1:
        return Recognised(named, BY_NAME)
    marked = {format: _marks(format, texts) for format in possible if format not in named}
    telling = named + [format for format, marks in marked.items() if 0 < len(texts) <= 2 * marks]
    telling = telling or [format for format, marks in marked.items() if marks]
    if len(telling) == 1:
        return Recognised(telling, BY_NAMES if named else BY_TEXT)
    # Nothing tells at a glance, or too much does: what cannot be read at all is out of the question.
    fitting = list(_fitting(telling or possible, beginning)) if beginning else []
    return Recognised(fitting or telling or possible, BY_TEXT if fitting else "")


def _marks(format: type[Format], texts: list[str]) -> int:
    return sum(format.mark is not None and bool(format.mark.search(text)) for text in texts)


def _fitting(formats: Formats, file: IO[bytes]) -> Iterator[type[Format]]:
    for format in formats:
        file.seek(0)
        try:
            next(iter(format().read(file)))
        except (ZeroMemoryError, StopIteration):
            continue
        yield format


def listed(formats: Iterable[type[Format]]) -> str:
    """By name, each with what it is, a line each."""
    return "".join(f"\n  {format.name:<20}{format.label}" for format in formats)
