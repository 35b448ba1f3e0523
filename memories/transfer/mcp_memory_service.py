"""What mcp-memory-service exports: one JSON object with its memories, their tags and their types."""

import re
from collections.abc import Iterator
from typing import Any, Final

from memories.models import Kind
from memories.transfer.errors import TransferError
from memories.transfer.foreign import Entry, Foreign, Kinds, digest, entries, external_id, kind_of, origin, slug_of
from memories.transfer.records import MemoryRecord

KINDS: Final[Kinds] = {
    "architecture": Kind.DECISION,
    "architectural-decision": Kind.DECISION,
    "configuration": Kind.DECISION,
    "tool-choice": Kind.DECISION,
    "approach": Kind.DECISION,
    "best-practice": Kind.CONVENTION,
    "pattern": Kind.CONVENTION,
    "design-pattern": Kind.CONVENTION,
    "workflow": Kind.CONVENTION,
    "rule": Kind.CONVENTION,
    "standard": Kind.CONVENTION,
    "error": Kind.GOTCHA,
    "bug": Kind.GOTCHA,
    "failure": Kind.GOTCHA,
    "exception": Kind.GOTCHA,
    "timeout": Kind.GOTCHA,
    "mistake": Kind.GOTCHA,
    "risk": Kind.GOTCHA,
    "anti-pattern": Kind.GOTCHA,
    "recurring-issue": Kind.GOTCHA,
    "code-smell": Kind.GOTCHA,
    "warning": Kind.GOTCHA,
    "document": Kind.REFERENCE,
    "documentation": Kind.REFERENCE,
    "research": Kind.REFERENCE,
    "source": Kind.REFERENCE,
    "conversation": Kind.EPISODE,
    "conversation-turn": Kind.EPISODE,
    "session": Kind.EPISODE,
    "session-summary": Kind.EPISODE,
    "meeting": Kind.EPISODE,
    "milestone": Kind.EPISODE,
    "code-edit": Kind.EPISODE,
    "command": Kind.EPISODE,
    "minutes": Kind.EPISODE,
    "ceremony": Kind.EPISODE,
    "action-item": Kind.TASK,
    "follow-up": Kind.TASK,
    "todo": Kind.TASK,
    "backlog-item": Kind.TASK,
    "question": Kind.OPEN_QUESTION,
    "hypothesis": Kind.OPEN_QUESTION,
    "constraint": Kind.CONVENTION,
    "requirement": Kind.CONVENTION,
    "acceptance-criteria": Kind.CONVENTION,
}


class McpMemoryService(Foreign):
    name = "mcp-memory-service"
    label = "mcp-memory-service (JSON export)"
    suffix = ".json"
    media_type = "application/json"
    mark = re.compile(r'"(?:export_metadata|content_hash|memory_type)"\s*:')

    def read(self, source: Any) -> Iterator[MemoryRecord]:
        for place, found in self.documents(source):
            for entry in _memories(found, place):
                if record := self._record(entry):
                    yield record

    def _record(self, entry: Entry) -> MemoryRecord | None:
        text = entry.text("content")
        store, hash = entry.text("store"), entry.text("content_hash") or digest(text)
        native = hash if store in ("", "default") else f"{store}/{hash}"
        if not text.strip():
            self.skipped["memories without text"] += 1
            return None
        if not self.is_first(native):
            return None
        word = entry.text("memory_type", "type")
        metadata = entry.entry("metadata")
        machine = entry.text("export_source") or metadata.said("hostname")
        created = self.past(entry.moment("created_at", "created_at_iso"))
        return MemoryRecord(
            content=text,
            kind=kind_of(word, KINDS),
            scope="" if native == hash else slug_of(store),
            created_at=created,
            updated_at=self.past(entry.moment("updated_at", "updated_at_iso")) or created,
            external_id=external_id("mcp-memory-service", native),
            source=self.line(origin("mcp-memory-service", native, type=word, machine=machine), "source"),
            agent=self.line(metadata.said("agent_id", "agent", "client"), "agent"),
            session=self.line(metadata.said("session_id", "conversation_id"), "session"),
            entities=self.entities((tag, "tag") for tag in entry.texts("tags")),
            line=entry.place,
        )


def _memories(found: Any, place: str) -> Iterator[Entry]:
    values = found.get("memories") if isinstance(found, dict) else found
    if not isinstance(values, list):
        raise TransferError(
            "is no export of mcp-memory-service: it has no list of memories. Send the file of its export.", line=place
        )
    yield from entries(values, f"{place}: memories")
