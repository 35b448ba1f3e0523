"""The native format: one JSON object a line, with every column of a memory and of what hangs on it."""

import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, BinaryIO

from memories.transfer import carried, fields
from memories.transfer.columns import shape_of
from memories.transfer.contract import Format
from memories.transfer.errors import TransferError
from memories.transfer.fields import Shape
from memories.transfer.records import (
    CarriedRecord,
    CheckRecord,
    Counts,
    EntityRecord,
    LinkRecord,
    MemoryRecord,
    Record,
    ReinforcementRecord,
    ScopeRecord,
    SignalRecord,
)
from zeromemory.lib import strict_json

FORMAT = "zero-memory/1"
LONGEST_LINE = 64 * 1024 * 1024  # bytes; content and verbatim of 4 MB each, escaped, and what hangs on them
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

_HEADER = Shape({"format": fields.text, "memories": fields.whole, "embedder": fields.text}, required=("format",))
_ENTITY = Shape({"name": fields.text, "type": fields.text}, required=("name",))
_LINK = Shape(
    {"type": fields.text, "target": fields.text, "created_at": fields.moment, "created_by": fields.text},
    required=("type", "target"),
)
_REINFORCEMENT = Shape(
    {
        "multiplier": fields.number,
        "useful": fields.number,
        "misled": fields.number,
        "promoted": fields.truth,
        "computed_at": fields.moment,
    },
    required=("multiplier",),
)
_SIGNAL = Shape(
    {
        "at": fields.moment,
        "source": fields.text,
        "session": fields.text,
        "user": fields.text,
        "useful": fields.truth,
        "misled": fields.truth,
        "confidence": fields.number,
        "relevant": fields.truth,
    },
    required=("at", "source"),
)
_CHECK = Shape(
    {
        "at": fields.moment,
        "verdict": fields.text,
        "method": fields.text,
        "user": fields.text,
        "actor": fields.text,
        "source": fields.text,
        "note": fields.text,
        "confidence": fields.number,
        "model": fields.text,
    },
    required=("at", "verdict", "method"),
)
_NESTED: Mapping[str, tuple[Shape, type]] = {
    "entities": (_ENTITY, EntityRecord),
    "links": (_LINK, LinkRecord),
    "signals": (_SIGNAL, SignalRecord),
    "checks": (_CHECK, CheckRecord),
}


def _objects(value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise ValueError("a list of objects.")
    return value


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("an object.")
    return value


_MEMORY = Shape(
    {
        "type": fields.text,
        "id": fields.identity,
        "external_id": fields.text,
        "scope": fields.text,
        "kind": fields.text,
        "content": fields.text,
        "provenance": fields.whole,
        "author_kind": fields.text,
        "author": fields.text,
        "agent": fields.text,
        "session": fields.text,
        "source": fields.text,
        "verbatim": fields.text,
        "created_at": fields.moment,
        "recorded_at": fields.moment,
        "updated_at": fields.moment,
        "newest_source_at": fields.moment,
        "valid_from": fields.moment,
        "valid_until": fields.moment,
        "version": fields.whole,
        "state": fields.text,
        "invalidated_at": fields.moment,
        "invalidated_by": fields.text,
        "invalidated_actor": fields.text,
        "invalidation_reason": fields.text,
        "superseded_by": fields.text,
        "pinned": fields.truth,
        "accessed_at": fields.moment,
        "access_count": fields.whole,
        "weight": fields.number,
        "idempotency_key": fields.text,
        "entities": _objects,
        "links": _objects,
        "signals": _objects,
        "checks": _objects,
        "reinforcement": _object,
    },
    required=("content",),
)
_SCOPE = Shape(
    {
        "type": fields.text,
        "scope": fields.text,
        "name": fields.text,
        "retention": fields.text,
        "created_at": fields.moment,
    },
    required=("scope",),
)


_CARRIED = Shape({"type": fields.text, "row": _object}, required=("row",))


class Jsonl(Format):
    """UTF-8, ``\\n`` after each line; an optional header first. Keys are sorted, so equal memories are equal bytes."""

    name = "jsonl"
    label = "Zero Memory, lossless (JSON lines)"
    suffix = ".jsonl"
    media_type = "application/jsonl"
    reads = writes = True

    def read(self, source: BinaryIO) -> Iterator[Record]:
        announced = None
        memories = 0
        for line, given in _lines(source):
            if "format" in given:
                announced, self.embedder = _announced(given, line, is_first=memories == 0)
                continue
            record = _record(given, line)
            memories += isinstance(record, MemoryRecord)
            yield record
        if announced not in (None, memories):
            raise TransferError(
                f"The header announces {announced} memories and the file holds {memories}: it was cut off or edited. "
                "Export it again, or correct the number in the header."
            )

    def write(self, records: Iterable[Record], counts: Counts) -> Iterator[bytes]:
        header = {"format": FORMAT, "memories": counts.memories}
        yield _encoded(header | ({"embedder": counts.embedder} if counts.embedder else {}))
        for record in records:
            yield _encoded(_as_json(record))


def _lines(source: BinaryIO) -> Iterator[tuple[int, dict[str, Any]]]:
    line = 0
    while raw := source.readline(LONGEST_LINE + 1):
        line += 1
        if len(raw) > LONGEST_LINE:
            raise TransferError(f"is longer than {LONGEST_LINE:,} bytes. Split its memory.", line=line)
        if stripped := raw.removeprefix(_BYTE_ORDER_MARK).strip():
            yield line, _parsed(stripped, line)


def _parsed(raw: bytes, line: int) -> dict[str, Any]:
    try:
        found = strict_json.loads(raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise TransferError(f"is not UTF-8 at its byte {error.start + 1}. Convert the file.", line=line) from error
    except json.JSONDecodeError as error:
        raise TransferError(f"is not JSON: {error.msg} at its character {error.colno}.", line=line) from error
    except RecursionError as error:
        raise TransferError("is nested too deeply to be a memory.", line=line) from error
    except ValueError as error:
        raise TransferError(f"is not JSON that can be read: {error}", line=line) from error
    if not isinstance(found, dict):
        raise TransferError("is not a JSON object. Each line is one memory in braces.", line=line)
    return found


def _announced(given: dict[str, Any], line: int, *, is_first: bool) -> tuple[int | None, str]:
    """The number of memories, where the header gives it, and the embedder."""
    header = _HEADER.read(given, line=line)
    if header["format"] != FORMAT:
        raise TransferError(
            f"is {header['format']!a}; this version reads {FORMAT}. Import it with the version that wrote it.",
            line=line,
            field="format",
        )
    if not is_first:
        raise TransferError("A header stands before the memories, not among them.", line=line)
    return header.get("memories"), header.get("embedder", "")


def _record(given: dict[str, Any], line: int) -> Record:
    type = given.get("type", "memory")
    if not isinstance(type, str) or not (type in _READERS or carried.called(type)):
        known = ", ".join([*sorted(_READERS), *carried.types()])
        raise TransferError(f"must be one of {known}.", line=line, field="type")
    return _READERS.get(type, _carried)(given, line)


def _memory(given: dict[str, Any], line: int) -> MemoryRecord:
    values = _MEMORY.read(given, line=line)
    values.pop("type", None)
    for name, (shape, record) in _NESTED.items():
        items = enumerate(values.get(name, ()), start=1)
        values[name] = tuple(record(**shape.read(item, line=line, within=f"{name}[{at}].")) for at, item in items)
    if "reinforcement" in values:
        reinforcement = _REINFORCEMENT.read(values["reinforcement"], line=line, within="reinforcement.")
        values["reinforcement"] = ReinforcementRecord(**reinforcement)
    return MemoryRecord(**values, line=line)


def _scope(given: dict[str, Any], line: int) -> ScopeRecord:
    values = _SCOPE.read(given, line=line)
    values.pop("type", None)
    return ScopeRecord(**values, line=line)


def _carried(given: dict[str, Any], line: int) -> CarriedRecord:
    table = carried.called(given["type"])
    assert table  # or it would have been refused by its type
    row = _CARRIED.read(given, line=line)["row"]
    return CarriedRecord(table.type, shape_of(table).read(row, line=line, within="row."), line)


_READERS: Mapping[str, Callable[[dict[str, Any], int], Record]] = {"memory": _memory, "scope": _scope}


def _as_json(record: Record) -> dict[str, Any]:
    if isinstance(record, CarriedRecord):
        return {"type": record.type, "row": {name: _written(value) for name, value in record.row.items()}}
    values = _without_silence(record)
    if isinstance(record, ScopeRecord):
        return values | {"type": "scope"}
    for name in _NESTED:
        if items := getattr(record, name):
            values[name] = [_without_silence(item) for item in items]
    if record.reinforcement:
        values["reinforcement"] = _without_silence(record.reinforcement)
    return values


def _written(value: Any) -> Any:
    return [fields.written(one) for one in value] if isinstance(value, list) else fields.written(value)


def _without_silence(record: Any) -> dict[str, Any]:
    """The fields that say something. An author of ``""`` does: nobody here, where no author would be the importer."""
    found = {}
    for field in dataclasses.fields(record):
        value = getattr(record, field.name)
        is_silent = value is None or value == () or (value == "" and field.default == "")
        if field.name != "line" and not is_silent:
            found[field.name] = fields.written(value)
    return found


def _encoded(values: dict[str, Any]) -> bytes:
    line = json.dumps(values, ensure_ascii=False, sort_keys=True, allow_nan=False)
    # Some programs end a line at these; in JSON they may also be written as escapes.
    for character in "\x85\u2028\u2029":
        line = line.replace(character, f"\\u{ord(character):04x}")
    return line.encode("utf-8") + b"\n"
