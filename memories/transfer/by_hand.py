"""PURE. What people write above a text, in their words for fields and dates, as the fields of a memory."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from memories.transfer.errors import Faults, TransferError, Written

NAMES: Final[Mapping[str, str]] = {
    "category": "kind",
    "type": "kind",
    "created": "created_at",
    "created_on": "created_at",
    "date": "created_at",
    "learned": "created_at",
    "modified": "updated_at",
    "last_modified": "updated_at",
    "updated": "updated_at",
    "updated_on": "updated_at",
    "since": "valid_from",
    "valid_since": "valid_from",
    "expires": "valid_until",
    "until": "valid_until",
    "valid_to": "valid_until",
    "about": "entities",
    "mentions": "entities",
    "tag": "tags",
    "keywords": "tags",
    "project": "scope",
    "url": "source",
    "pin": "pinned",
}
MOMENTS: Final = ("created_at", "recorded_at", "updated_at", "newest_source_at", "valid_from", "valid_until",
                  "invalidated_at", "accessed_at")  # fmt: skip
NO_ZONE: Final = "dates without a time zone, taken as UTC"
_WAYS: Final = ("%d %B %Y", "%d %b %Y", "%B %d, %Y", "%b %d, %Y", "%d.%m.%Y", "%Y/%m/%d")
_TRUTHS: Final = {"yes": True, "true": True, "on": True, "no": False, "false": False, "off": False}
_SAYS_NOBODY: Final = "author"  # the one field that says something by being empty


def lines_of(header: str) -> dict[str, tuple[int, str]]:
    """Of each field its line in the file, and how it is called there."""
    found: dict[str, tuple[int, str]] = {}
    for number, line in enumerate(header.split("\n"), start=2):
        if field := re.match(r"[\"']?(?P<name>[^\s:#\-\[{\"'][^:\"']*)[\"']?\s*:", line):
            found.setdefault(_field(field["name"]), (number, field["name"]))
    return found


def understood(given: Mapping[str, Any], place: Written, notes: Counter[str]) -> dict[str, Any]:
    """Raises TransferError, or Mistakes, for a field that is said twice."""
    faults = Faults()
    values: dict[str, Any] = {}
    for called, value in given.items():
        name = _field(called)
        if value == "" and name != _SAYS_NOBODY:
            continue
        if name in values:
            faults.found.append(TransferError(f"is said twice, as {called!a} too.", line=place, field=name))
        values[name] = _read(name, value, notes)
    faults.settle()
    tags = [{"name": tag, "type": "tag"} for tag in values.pop("tags", [])]
    return values | ({"entities": [*values.get("entities", []), *tags]} if tags else {})


def _field(name: str) -> str:
    plain = re.sub(r"[\s-]+", "_", name.strip().lower())
    return NAMES.get(plain, plain)


def _read(name: str, value: Any, notes: Counter[str]) -> Any:
    if name in MOMENTS:
        return _moment(value, notes)
    if name == "kind" and isinstance(value, str):
        return re.sub(r"[\s_]+", "-", value.strip().lower())
    if name == "pinned" and isinstance(value, str):
        return _TRUTHS.get(value.strip().lower(), value)
    if name == "tags":
        return [tag.lstrip("#") for tag in _names(value)]
    if name == "entities":
        return [{"name": one} if isinstance(one, str) else one for one in _names(value)]
    return value


def _names(value: Any) -> Iterable[Any]:
    """A list, or one text with commas."""
    found = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else [value]
    stripped = [one.strip() if isinstance(one, str) else one for one in found]
    return [one for one in stripped if one]


def _moment(value: Any, notes: Counter[str]) -> Any:
    """With the zone that it lacks; what is no date stays as it is, to be refused with its reason."""
    found = _date(value.strip()) if isinstance(value, str) else None
    if found is None:
        return value
    if found.tzinfo is None:
        notes[NO_ZONE] += 1
        found = found.replace(tzinfo=UTC)
    return found.isoformat()


def _date(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        ways = [*_WAYS, *(f"{way} %H:%M" for way in _WAYS)]
        return next((found for way in ways if (found := _in(way, text))), None)


def _in(way: str, text: str) -> datetime | None:
    try:
        return datetime.strptime(text, way)  # noqa: DTZ007  # its zone is added by whoever asks
    except ValueError:
        return None
