"""PURE. JSON values to Python values and back, each with the sentence for what it may not be."""

import math
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from memories.guard import masked
from memories.moments import is_within_reach
from memories.transfer.errors import Faults, Place, TransferError

type Reader = Callable[[Any], Any]
"""Raises ValueError with what the value must be instead."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The fields of one JSON object. ``required`` must be there; an unknown one is a slip of the keyboard."""

    fields: Mapping[str, Reader]
    required: tuple[str, ...] = ()

    def read(self, given: Mapping[str, Any], *, line: Place, within: str = "") -> dict[str, Any]:
        faults = Faults()
        faults.found += self._misnamed(given, line, within)
        said = {name: value for name, value in given.items() if value is not None and name in self.fields}
        values = {name: faults.tried(self._value, name, value, line, within) for name, value in said.items()}
        faults.settle()
        return values

    def _misnamed(self, given: Mapping[str, Any], line: Place, within: str) -> Iterator[TransferError]:
        known = ", ".join(sorted(self.fields))
        for name in sorted(given.keys() - self.fields.keys()):
            yield TransferError(f"is not a field here. Known are {known}.", line=line, field=within + name)
        for name in self.required:
            if given.get(name) is None:
                yield TransferError("is missing.", line=line, field=within + name)

    def _value(self, name: str, value: Any, line: Place, within: str) -> Any:
        try:
            return self.fields[name](value)
        except ValueError as error:
            raise TransferError(f"must be {error}", line=line, field=within + name) from error


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"text, not {shown(value)}.")
    return value


def truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"true or false, not {shown(value)}.")
    return value


def whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**31:
        raise ValueError(f"a whole number from 0 to 2147483647, not {shown(value)}.")
    return value


def number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"a number, not {shown(value)}.")
    try:
        found = float(value)
    except OverflowError:
        found = math.inf
    if not math.isfinite(found):
        raise ValueError("a finite number.")
    return found


def identity(value: Any) -> uuid.UUID:
    try:
        return uuid.UUID(text(value))
    except ValueError as error:
        raise ValueError(f"an id such as {uuid.UUID(int=0)}, not {shown(value)}.") from error


def moment(value: Any) -> datetime:
    """ISO 8601 with a zone, in UTC afterwards. A time without a zone is another moment on every machine."""
    wanted = f"a date and time with a time zone, such as 2025-03-30T02:30:00+02:00, not {shown(value)}."
    if not isinstance(value, str):
        raise ValueError(wanted)
    try:
        found = datetime.fromisoformat(value)
    except ValueError as error:
        raise ValueError(wanted) from error
    if found.tzinfo is None:
        raise ValueError(wanted)
    if not is_within_reach(found):
        raise ValueError(wanted)
    return found.astimezone(UTC)


def written(value: Any) -> Any:
    """How a value stands in the file: dates in UTC with microseconds, ids in hexadecimal with dashes."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    return str(value) if isinstance(value, uuid.UUID) else value


def shown(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    shown = masked(ascii(value)) if not isinstance(value, int) or abs(value) < 10**20 else "so large a number"
    return shown if len(shown) <= 60 else f"{shown[:57]}..."
