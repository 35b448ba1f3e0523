"""What the formats of other products have in common: values read with care, and marks that a second import knows."""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from django.utils import timezone

from memories.entities import canonical_name
from memories.models import Kind
from memories.services.scopes import SLUG_LENGTH
from memories.services.validation import ENTITY_NAME_LENGTH, LENGTHS, MOST_ENTITIES
from memories.transfer import fields
from memories.transfer.contract import Format
from memories.transfer.errors import TransferError
from memories.transfer.records import EntityRecord
from memories.transfer.sources import File, files_in
from zeromemory.lib import strict_json
from zeromemory.lib.unseen import is_blank

LARGEST_JSON: Final = 256 * 1024 * 1024  # bytes; such a file is read as a whole
_MILLISECONDS: Final = 100_000_000_000  # as seconds this is the year 5138
_NOT_IN_SLUGS: Final = re.compile(r"[^a-z0-9]+")

type Kinds = Mapping[str, Kind]
"""The kind that each word of another product stands for."""


class Foreign(Format):
    """A reading of another product's files. What such a product keeps and this one does not is left out."""

    reads = True

    def __init__(self, *, now: datetime | None = None) -> None:
        super().__init__()
        self._now = now or timezone.now()
        self._seen: set[str] = set()

    def documents(self, source: Any) -> Iterator[tuple[str, Any]]:
        """The value of each JSON file, with its place."""
        for file in files_in(source, lambda name: name.endswith(".json"), self.skipped, largest=LARGEST_JSON):
            yield file.place, json_in(file)

    def is_first(self, external_id: str) -> bool:
        """Whether it is the first of its name in this import; another one is left out and counted."""
        if external_id in self._seen:
            self.skipped["entries that stand there twice"] += 1
            return False
        self._seen.add(external_id)
        return True

    def past(self, moment: datetime | None) -> datetime | None:
        if moment is None or moment <= self._now:
            return moment
        self.notes["dates in the future, taken as now"] += 1
        return self._now

    def line(self, text: str, field: str) -> str:
        """A short text at the length that there is room for."""
        if len(text) > LENGTHS[field]:
            self.notes[f"texts for {field} cut at {LENGTHS[field]} characters"] += 1
        return text[: LENGTHS[field]]

    def entities(self, names: Iterable[tuple[str, str]]) -> tuple[EntityRecord, ...]:
        """Of pairs of a name and its type, each once, as many as a memory may have."""
        found: dict[tuple[str, str], EntityRecord] = {}
        for name, type in names:
            key = canonical_name(name)
            if len(name) > ENTITY_NAME_LENGTH or len(key) > ENTITY_NAME_LENGTH:
                self.notes[f"names of more than {ENTITY_NAME_LENGTH} characters, left out"] += 1
            elif not is_blank(key):
                found.setdefault((key, type), EntityRecord(name.strip(), type))
        if len(found) > MOST_ENTITIES:
            self.notes[f"memories with more than {MOST_ENTITIES} names, of which the first were kept"] += 1
        return tuple(found.values())[:MOST_ENTITIES]


def external_id(product: str, native: str) -> str:
    """What the memory is known by; a name too long for that by its digest."""
    name = f"{product}:{native}"
    return name if len(name) <= LENGTHS["external_id"] else f"{product}:{digest(native)}"


def digest(*parts: str) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:40]


def kind_of(word: str, kinds: Kinds, otherwise: Kind = Kind.FACT) -> Kind:
    """Words of the nine kinds mean themselves."""
    known = word.strip().lower().replace("_", "-")
    return Kind(known) if known in Kind.values else kinds.get(known, otherwise)


def origin(product: str, native: str, **said: str) -> str:
    """Where a memory comes from, with what it was called there."""
    told = ", ".join(f"{name}: {value}" for name, value in said.items() if value)
    return f"{product}:{native}" + (f" ({told})" if told else "")


def slug_of(name: str) -> str:
    """The short name of a scope for a project of whatever name; empty where nothing of it is left."""
    return _NOT_IN_SLUGS.sub("-", name.lower()).strip("-")[:SLUG_LENGTH].rstrip("-")


# Values ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Entry:
    """The fields of one thing in a file. Whatever is not asked for is left out; null is as if it were not there."""

    values: Mapping[str, Any]
    place: str

    def text(self, *names: str) -> str:
        """The first of *names* that says something."""
        return next(filter(None, (self._read(name, _text) for name in names)), "")

    def said(self, *names: str) -> str:
        """The first of *names* that is a text, where anything at all may stand."""
        values = (self.values.get(name) for name in names)
        return next((value for value in values if isinstance(value, str) and value), "")

    def texts(self, name: str) -> list[str]:
        """A list, or one text with commas."""
        return self._read(name, _texts) or []

    def sentences(self, name: str) -> list[str]:
        """A list, or one text."""
        return self._read(name, _sentences) or []

    def moment(self, *names: str) -> datetime | None:
        return next(filter(None, (self._read(name, moment) for name in names)), None)

    def number(self, name: str) -> float | None:
        found: float | None = self._read(name, _number)
        return found

    def whole(self, name: str) -> int | None:
        found: int | None = self._read(name, _whole)
        return found

    def truth(self, name: str) -> bool:
        return bool(self._read(name, _truth))

    def entry(self, name: str) -> "Entry":
        """The object within, or an empty one."""
        return Entry(self._read(name, _object) or {}, f"{self.place}: {name}")

    def entries(self, name: str) -> Iterator["Entry"]:
        yield from entries(self.values.get(name) or [], f"{self.place}: {name}")

    def _read(self, name: str, read: Callable[[Any], Any]) -> Any:
        value = self.values.get(name)
        if value is None:
            return None
        try:
            return read(value)
        except ValueError as error:
            raise TransferError(f"must be {error}", line=self.place, field=name) from error


def entries(values: Any, place: str) -> Iterator[Entry]:
    if not isinstance(values, list):
        raise TransferError("must be a list of objects.", line=place)
    for number, value in enumerate(values, start=1):
        if not isinstance(value, dict):
            raise TransferError("must be an object.", line=f"{place}[{number}]")
        yield Entry(value, f"{place}[{number}]")


def json_in(file: File) -> Any:
    """Raises TransferError for what is not JSON."""
    try:
        return strict_json.loads(file.text)
    except json.JSONDecodeError as error:
        where = f"{error.msg} in its line {error.lineno}, at the character {error.colno}"
        raise TransferError(f"is not JSON: {where}. Export it again.", line=file.place) from error
    except RecursionError as error:
        raise TransferError("is nested too deeply.", line=file.place) from error
    except ValueError as error:
        raise TransferError(f"is not JSON that can be read: {error}", line=file.place) from error


def _text(value: Any) -> str:
    return fields.text(value)


def _texts(value: Any) -> list[str]:
    if isinstance(value, str) and not value.strip().startswith("["):
        value = value.split(",")
    return [text.strip() for text in _sentences(value) if text.strip()]


def _sentences(value: Any) -> list[str]:
    if isinstance(value, str):
        value = _list_in(value)
    if not isinstance(value, list):
        raise ValueError(f"a list of texts, not {fields.shown(value)}.")
    return [fields.text(one) for one in value if one is not None]


def _list_in(text: str) -> Any:
    """Written as JSON once more, or else the text alone."""
    try:
        found = strict_json.loads(text) if text.strip().startswith("[") else None
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, list) else [text]


def _number(value: Any) -> float:
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            raise ValueError(f"a number, not {fields.shown(value)}.") from None
    return fields.number(value)


def _whole(value: Any) -> int:
    return fields.whole(int(value) if isinstance(value, str) and value.isdecimal() and len(value) < 12 else value)


def _truth(value: Any) -> bool:
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    return fields.truth(bool(value) if value in (0, 1) else value)


def _object(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        try:
            value = strict_json.loads(value) if value.strip() else {}
        except (ValueError, RecursionError):
            raise ValueError("an object, and this is no JSON of one.") from None
    if not isinstance(value, dict):
        raise ValueError(f"an object, not {fields.shown(value)}.")
    return value


def moment(value: Any) -> datetime | None:
    """ISO 8601, or seconds or milliseconds since 1970. Without a zone it is UTC; the year 1 is no date at all."""
    if isinstance(value, str):
        value = float(value) if re.fullmatch(r"\d{9,14}(\.\d+)?", value.strip()) else value.strip()
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _since_1970(value)
    if value == "":
        return None
    return _in_iso(value)


def _since_1970(value: float) -> datetime:
    try:
        return datetime.fromtimestamp(value / 1000 if abs(value) >= _MILLISECONDS else value, tz=UTC)
    except (OverflowError, OSError, ValueError):
        raise ValueError(f"a moment since 1970, not {fields.shown(value)}.") from None


def _in_iso(value: Any) -> datetime | None:
    try:
        found = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise ValueError(f"a date and time such as 2025-03-30T02:30:00Z, not {fields.shown(value)}.") from None
    if found.year == 1:
        return None
    return fields.moment((found if found.tzinfo else found.replace(tzinfo=UTC)).isoformat())
