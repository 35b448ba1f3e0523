"""PURE. A memory as named values and back: the same names in every format of this product."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from memories.transfer import fields
from memories.transfer.errors import Place
from memories.transfer.fields import Shape
from memories.transfer.records import (
    AnchorRecord,
    CheckRecord,
    EntityRecord,
    LinkRecord,
    MemoryRecord,
    ReinforcementRecord,
    SignalRecord,
)

_ENTITY = Shape({"name": fields.text, "type": fields.text, "recognised": fields.truth}, required=("name",))
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
_ANCHOR = Shape(
    {"repository": fields.text, "path": fields.text, "symbol": fields.text, "code": fields.text},
    required=("repository", "path"),
)
_NESTED: Mapping[str, tuple[Shape, type]] = {
    "entities": (_ENTITY, EntityRecord),
    "links": (_LINK, LinkRecord),
    "anchors": (_ANCHOR, AnchorRecord),
    "signals": (_SIGNAL, SignalRecord),
    "checks": (_CHECK, CheckRecord),
}


def _objects(value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise ValueError("a list of objects.")
    return value


def an_object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("an object.")
    return value


MEMORY = Shape(
    {
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
        "confidence": fields.text,
        "archived_at": fields.moment,
        "idempotency_key": fields.text,
        "entities": _objects,
        "links": _objects,
        "anchors": _objects,
        "signals": _objects,
        "checks": _objects,
        "reinforcement": an_object,
    },
    required=("content",),
)


def read_memory(given: Mapping[str, Any], place: Place) -> MemoryRecord:
    values = MEMORY.read(given, line=place)
    for name, (shape, record) in _NESTED.items():
        items = enumerate(values.get(name, ()), start=1)
        values[name] = tuple(record(**shape.read(item, line=place, within=f"{name}[{at}].")) for at, item in items)
    if "reinforcement" in values:
        reinforcement = _REINFORCEMENT.read(values["reinforcement"], line=place, within="reinforcement.")
        values["reinforcement"] = ReinforcementRecord(**reinforcement)
    return MemoryRecord(**values, line=place)


def values_of(record: MemoryRecord) -> dict[str, Any]:
    values = without_silence(record)
    for name in _NESTED:
        if items := getattr(record, name):
            values[name] = [without_silence(item) for item in items]
    if record.reinforcement:
        values["reinforcement"] = without_silence(record.reinforcement)
    return values


def without_silence(record: Any) -> dict[str, Any]:
    """The fields that say something. An author of ``""`` does: nobody here, where no author would be the importer."""
    found = {}
    for field in dataclasses.fields(record):
        value = getattr(record, field.name)
        is_silent = value is None or value == () or (value == "" and field.default == "")
        if field.name != "line" and not is_silent:
            found[field.name] = fields.written(value)
    return found
