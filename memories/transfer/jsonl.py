"""The native format: one JSON object a line, with every column of a memory and of what hangs on it."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, BinaryIO

from memories.transfer import carried, fields
from memories.transfer.columns import shape_of
from memories.transfer.contract import Format
from memories.transfer.errors import TransferError
from memories.transfer.fields import Shape
from memories.transfer.memory_shape import an_object, read_memory, values_of, without_silence
from memories.transfer.records import CarriedRecord, Counts, MemoryRecord, Record, ScopeRecord
from zeromemory.lib import strict_json

FORMAT = "zero-memory/1"
LONGEST_LINE = 64 * 1024 * 1024  # bytes; content and verbatim of 4 MB each, escaped, and what hangs on them
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

_HEADER = Shape({"format": fields.text, "memories": fields.whole, "embedder": fields.text}, required=("format",))
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


_CARRIED = Shape({"type": fields.text, "row": an_object}, required=("row",))


class Jsonl(Format):
    """UTF-8, ``\\n`` after each line; an optional header first. Keys are sorted, so equal memories are equal bytes."""

    name = "jsonl"
    label = "Zero Memory, lossless (JSON lines)"
    suffix = ".jsonl"
    media_type = "application/jsonl"
    reads = writes = carries = True
    mark = re.compile(r'\A\s*\{[^\n]*"(?:content|format)"\s*:[^\n]*(?:\}\s*\n|\Z)')

    def read(self, source: BinaryIO) -> Iterator[Record]:
        announced = None
        memories = 0
        for line, raw in _lines(source):
            given = self.faults.tried(_parsed, raw, line)
            if given and "format" in given:
                announced, self.embedder = _announced(given, line, is_first=memories == 0)
                continue
            if given is not None and (record := self.faults.tried(_record, given, line)):
                memories += isinstance(record, MemoryRecord)
                yield record
        if announced not in (None, memories) and not self.faults.found:
            raise TransferError(
                f"The header announces {announced} memories and the file holds {memories}: it was cut off or edited. "
                "Export it again, or correct the number in the header."
            )

    def write(self, records: Iterable[Record], counts: Counts) -> Iterator[bytes]:
        header = {"format": FORMAT, "memories": counts.memories}
        yield _encoded(header | ({"embedder": counts.embedder} if counts.embedder else {}))
        for record in records:
            yield _encoded(_as_json(record))


def _lines(source: BinaryIO) -> Iterator[tuple[int, bytes]]:
    line = 0
    while raw := source.readline(LONGEST_LINE + 1):
        line += 1
        if len(raw) > LONGEST_LINE:
            raise TransferError(f"is longer than {LONGEST_LINE:,} bytes. Split its memory.", line=line)
        if stripped := raw.removeprefix(_BYTE_ORDER_MARK).strip():
            yield line, stripped


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


def _memory(given: dict[str, Any], line: int) -> Record:
    return read_memory({name: value for name, value in given.items() if name != "type"}, line)


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
    if isinstance(record, ScopeRecord):
        return without_silence(record) | {"type": "scope"}
    assert isinstance(record, MemoryRecord)  # aliases travel as rows, because this format carries them
    return values_of(record)


def _written(value: Any) -> Any:
    return [fields.written(one) for one in value] if isinstance(value, list) else fields.written(value)


def _encoded(values: dict[str, Any]) -> bytes:
    line = json.dumps(values, ensure_ascii=False, sort_keys=True, allow_nan=False)
    # Some programs end a line at these; in JSON they may also be written as escapes.
    for character in "\x85\u2028\u2029":
        line = line.replace(character, f"\\u{ord(character):04x}")
    return line.encode("utf-8") + b"\n"
