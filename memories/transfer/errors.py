from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from memories.errors import ZeroMemoryError

MOST_FAULTS: Final = 50  # that one import names
MOST_PLACES: Final = 10  # of one fault, by name

type Place = int | str
"""Where something stands in what is read: the number of its line, or its file and its place in it."""


class Written(str):
    """A file whose fields a person has written: each with the number of its line, and as it is called there."""

    __slots__ = ("lines",)
    lines: Mapping[str, tuple[int, str]]

    def __new__(cls, place: str, lines: Mapping[str, tuple[int, str]]) -> Written:
        made = super().__new__(cls, place)
        made.lines = lines
        return made

    def __getnewargs__(self) -> tuple[str, Mapping[str, tuple[int, str]]]:  # type: ignore[override]  # str's own takes one
        return str(self), self.lines


class TransferError(ZeroMemoryError):
    """An import or export that cannot be done: where, in which field, why, and what to do."""

    code, status = "validation_failed", 400

    def __init__(self, problem: str, *, line: Place | None = None, field: str | None = None) -> None:
        shown = field
        if isinstance(line, Written) and (found := line.lines.get((field or "").partition("[")[0])):
            line, shown = f"{line} line {found[0]}", found[1]
        self.line, self.what = line, ": ".join([*filter(None, [shown if line else None]), problem])
        super().__init__(f"{place_of([line])}: {self.what}" if line else problem, field=field)


class Mistakes(TransferError):
    """Several at once, so that a file is mended in one go."""

    def __init__(self, each: Iterable[TransferError], *, more: bool = False) -> None:
        self.each = tuple(sorted(each, key=_order))
        self.told = (*_told_together(self.each), *(["There may be more: the rest was not read."] if more else []))
        super().__init__("\n".join([f"{len(self.each)} mistakes, and nothing was imported:", *self.told]))


class Faults:
    """What is wrong with a file, gathered while the rest of it is read. Raises Mistakes when there are too many."""

    def __init__(self) -> None:
        self.found: list[TransferError] = []

    def tried[**P, T](self, read: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
        """What *read* gives; None where it raised a TransferError."""
        try:
            return read(*args, **kwargs)
        except TransferError as error:
            self.found += error.each if isinstance(error, Mistakes) else [error]
        if len(self.found) >= MOST_FAULTS:
            raise Mistakes(self.found[:MOST_FAULTS], more=True)
        return None

    def settle(self) -> None:
        """Raises what was found, if anything was."""
        if len(self.found) == 1:
            raise self.found[0]
        if self.found:
            raise Mistakes(self.found)


class NoPatience(Faults):
    """Raises the first at once."""

    def tried[**P, T](self, read: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
        return read(*args, **kwargs)


def told(place: Place) -> str:
    return f"line {place}" if isinstance(place, int) else place


def _order(error: TransferError) -> tuple[int, str]:
    return (error.line, "") if isinstance(error.line, int) else (0, error.line or "")


def place_of(lines: list[Place]) -> str:
    named = ", ".join(str(line) for line in lines[:MOST_PLACES])
    more = f" and {len(lines) - MOST_PLACES} more" if len(lines) > MOST_PLACES else ""
    kind = ("Line " if len(lines) == 1 else "Lines ") if isinstance(lines[0], int) else ""
    return f"{kind}{named}{more}"


def _told_together(errors: Iterable[TransferError]) -> list[str]:
    """The same fault once, with all its places."""
    places: dict[str, list[Place]] = {}
    for error in errors:
        places.setdefault(error.what, []).extend([] if error.line is None else [error.line])
    return [f"{place_of(lines)}: {what}" if lines else what for what, lines in places.items()]
