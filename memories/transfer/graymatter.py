"""GrayMatter's exports: its JSON, its Markdown file for each agent, and its vault of one note a fact."""

import json
import re
from collections.abc import Iterable, Iterator, Set
from datetime import UTC
from typing import Any, Final
from uuid import UUID

from memories.models import Kind, Provenance
from memories.retention import INFERRED, UNVERIFIED, VERIFIED, known_confidence
from memories.transfer import fields, front_matter
from memories.transfer.errors import TransferError
from memories.transfer.foreign import (
    LARGEST_JSON,
    Entry,
    Foreign,
    digest,
    entries,
    external_id,
    json_in,
    kind_of,
    origin,
)
from memories.transfer.records import AliasRecord, Counts, MemoryRecord, Record
from memories.transfer.sources import File, files_in

FORGOTTEN: Final = "agent"  # stands for the successor where there is none
ALIAS: Final = "alias"
_SAME: Final = re.compile(r"\s*(?P<term>[^\n]+?)\s*(?:<->|->|=>|[=→↔≡:])\s*(?P<others>[^\n]+?)\s*")
_FORMER_NOTE: Final = "Verified, as GrayMatter has it."
_PREFIX: Final = "graymatter:"
_KIND: Final = "memory_kind"  # a field of this product, which GrayMatter passes over
_HEADING: Final = re.compile(r"\s*## (?P<created_at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\n\n")
_END: Final = re.compile(
    r"\n\n_weight: (?P<weight>[\d.]+) · accessed: (?P<access_count>\d+) times(?P<more>[^\n]*)_\n\n---(?:\n|\Z)"
)


class GrayMatter(Foreign):
    name = "graymatter"
    label = "GrayMatter (JSON or Markdown)"
    suffix = ".json"
    suffixes = (".json", ".md", ".zip")
    media_type = "application/json"
    writes = takes_folder = holds_aliases = True
    mark = re.compile(
        r'"agent_id"\s*:[\s\S]*"accessed_at"\s*:|^_\d+ facts_$'
        rf"|{front_matter.WITHIN}agent(?:_id)?:(?:.*\n)*?(?:weight|access_count):",
        re.M,
    )

    def read(self, source: Any) -> Iterator[Record]:
        for file in files_in(source, _is_wanted, self.skipped, largest=LARGEST_JSON):
            found = list(_facts(file))
            known = {entry.text("id") for entry in found}
            for entry in found:
                if entry.text("kind") == ALIAS:
                    yield from self._aliases(entry)
                elif record := self._record(entry, known):
                    yield record

    def _aliases(self, entry: Entry) -> Iterator[AliasRecord]:
        if entry.text("superseded_by"):
            self.skipped["aliases that were retired"] += 1
            return
        said = _SAME.fullmatch(entry.text("text"))
        if said is None:
            self.skipped["aliases that do not read like one = other"] += 1
            return
        for other in said["others"].split(","):
            yield AliasRecord(said["term"], other, line=entry.place)

    def _record(self, entry: Entry, known: Set[str]) -> MemoryRecord | None:
        text, agent = entry.text("text"), entry.text("agent_id", "agent")
        if not text.strip():
            self.skipped["facts without text"] += 1
            return None
        created = self.past(entry.moment("created_at", "created"))
        native = entry.text("id") or digest(agent, str(created), text)
        if not self.is_first(native):
            return None
        successor, weight = self._successor(entry, known), entry.number("weight")
        confidence = entry.text("confidence")
        return MemoryRecord(
            content=text,
            kind=kind_of(entry.text(_KIND), {}),
            created_at=created,
            updated_at=created,
            accessed_at=self.past(entry.moment("accessed_at", "accessed")) or created,
            access_count=entry.whole("access_count"),
            weight=None if weight is None else min(max(weight, 0.0), 1.0),
            pinned=entry.truth("pinned"),
            superseded_by=successor,
            state="invalidated" if entry.text("superseded_by") and not successor else None,
            invalidation_reason=_reason(entry, successor),
            confidence=known_confidence(confidence),
            agent=self.line(agent, "agent"),
            id=_id_in(native),
            external_id="" if _id_in(native) else external_id("graymatter", native),
            source=self.line(origin("graymatter", native, confidence=confidence), "source"),
            line=entry.place,
        )

    def _successor(self, entry: Entry, known: Set[str]) -> str:
        named = entry.text("superseded_by")
        if named in known - {"", entry.text("id")}:
            return named if _id_in(named) else external_id("graymatter", named)
        if named and named != FORGOTTEN:
            self.notes["facts whose successor is not in the file, retired without one"] += 1
        return ""

    def write(self, records: Iterable[Record], counts: Counts) -> Iterator[bytes]:
        """Its JSON, as GrayMatter writes it. What is retired stands last: by then the names of all are known."""
        names: dict[str, str] = {}
        retired: list[MemoryRecord] = []
        before = "[\n"
        for record in records:
            if isinstance(record, AliasRecord):
                yield _written(before, _alias(record))
                before = ",\n"
            if not isinstance(record, MemoryRecord):
                continue
            names[str(record.id)] = _native(record)
            if record.state == "live":
                yield _written(before, _fact(record, ""))
                before = ",\n"
            else:
                retired.append(record)
        for record in retired:
            yield _written(before, _fact(record, names.get(record.superseded_by, FORGOTTEN)))
            before = ",\n"
        yield b"[]\n" if before == "[\n" else b"\n]\n"


def _written(before: str, fact: dict[str, Any]) -> bytes:
    lines = json.dumps(fact, indent=2, ensure_ascii=False, allow_nan=False).split("\n")
    return (before + "\n".join(f"  {line}" for line in lines)).encode()


def _native(record: MemoryRecord) -> str:
    return record.external_id.removeprefix(_PREFIX) if record.external_id.startswith(_PREFIX) else str(record.id)


def _id_in(native: str) -> UUID | None:
    """The id of a memory that was exported from here."""
    try:
        found = UUID(native)
    except ValueError:
        return None
    return found if str(found) == native else None


def _is_wanted(name: str) -> bool:
    return name.endswith((".json", ".md")) and not name.endswith("_index.md")


def _facts(file: File) -> Iterator[Entry]:
    if not file.text.strip():
        return
    if file.text.lstrip().startswith(("[", "{", "null")):
        yield from entries(json_in(file) or [], file.place)
        return
    header, body = front_matter.split(file.text)
    if header is not None:
        text = body.removeprefix("\n").removesuffix("\n")
        yield Entry(front_matter.in_yaml(header, file.place) | {"text": text}, file.place)
        return
    yield from _listed(file)


def _listed(file: File) -> Iterator[Entry]:
    """Of the file of an agent; it names neither ids nor successors."""
    title, _, rest = file.text.replace("\r\n", "\n").partition("\n")
    announced = re.search(r"^_(\d+) facts_\n+---\n", rest, re.M)
    found = list(_between(rest[announced.end() :])) if announced else []
    if not title.startswith("# ") or announced is None or len(found) != int(announced[1]):
        raise TransferError(
            "is no export of GrayMatter, or was edited: its facts are not as many as it says. Export it as JSON.",
            line=file.place,
        )
    for number, fact in enumerate(found, start=1):
        yield Entry(fact | {"agent": title[2:].strip()}, f"{file.place}: fact {number}")


def _between(text: str) -> Iterator[dict[str, Any]]:
    start = 0
    for end in _END.finditer(text):
        heading = _HEADING.match(text, start, end.start())
        if heading is None:
            return
        said = {"weight": end["weight"], "access_count": end["access_count"], "pinned": "pinned" in end["more"]}
        yield said | {"created_at": heading["created_at"], "text": text[heading.end() : end.start()]}
        start = end.end()


def _reason(entry: Entry, successor: str) -> str:
    return "" if successor or not entry.text("superseded_by") else "retired in GrayMatter"


def _fact(record: MemoryRecord, successor: str) -> dict[str, Any]:
    optional = {
        "superseded_by": successor,
        "confidence": _confidence(record),
        "pinned": record.pinned,
        _KIND: "" if record.kind == Kind.FACT else record.kind,
    }
    return {
        "id": _native(record),
        "agent_id": record.agent or record.scope,
        "text": record.content,
        "created_at": _moment(record.created_at),
        "accessed_at": _moment(record.accessed_at),
        "access_count": record.access_count or 0,
        "weight": 1.0 if record.weight is None else record.weight,
    } | {name: value for name, value in optional.items() if value}


def _confidence(record: MemoryRecord) -> str:
    if record.confidence != INFERRED:
        return record.confidence
    if not record.external_id.startswith(_PREFIX):
        return ""
    # Imported before a memory had a label of its own: a rank and a check then stood for it.
    if record.provenance == Provenance.PROVISIONAL:
        return UNVERIFIED
    return VERIFIED if any(check.verdict == "current" and check.note == _FORMER_NOTE for check in record.checks) else ""


def _alias(record: AliasRecord) -> dict[str, Any]:
    """A fact of its own kind there."""
    made = _moment(record.created_at)
    return {
        "id": str(record.id),
        "agent_id": record.scope,
        "text": f"{record.term} = {record.alias}",
        "created_at": made,
        "accessed_at": made,
        "access_count": 0,
        "weight": 1.0,
        "kind": ALIAS,
    }


def _moment(moment: Any) -> Any:
    return fields.written(moment.astimezone(UTC)) if moment else None
