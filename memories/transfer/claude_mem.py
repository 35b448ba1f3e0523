"""What claude-mem keeps of sessions: its JSON export, or its SQLite database itself."""

import re
from collections.abc import Iterator
from typing import Any, Final

from memories.models import Kind
from memories.transfer.errors import TransferError
from memories.transfer.foreign import (
    LARGEST_JSON,
    Entry,
    Foreign,
    Kinds,
    digest,
    external_id,
    json_in,
    kind_of,
    origin,
    slug_of,
)
from memories.transfer.records import MemoryRecord
from memories.transfer.sources import files_in, rewindable
from memories.transfer.sqlite import is_sqlite, rows_of

KINDS: Final[Kinds] = {
    "bugfix": Kind.GOTCHA,
    "security-alert": Kind.GOTCHA,
    "security-note": Kind.GOTCHA,
    "feature": Kind.EPISODE,
    "refactor": Kind.EPISODE,
    "change": Kind.EPISODE,
    "session-summary": Kind.EPISODE,
}
_TABLES: Final = {"observations": "observations", "session_summaries": "summaries", "user_prompts": "prompts"}
_PARTS: Final = ("request", "investigated", "learned", "completed", "next_steps", "notes")


class ClaudeMem(Foreign):
    name = "claude-mem"
    label = "claude-mem (JSON export, or its database)"
    suffix = ".json"
    suffixes = (".json", ".db")
    media_type = "application/json"
    mark = re.compile(r'\ASQLite format 3\x00|"(?:observations|summaries)"\s*:\s*\[\s*[{\]]')

    def read(self, source: Any) -> Iterator[MemoryRecord]:
        with rewindable(source) as file:
            entries = rows_of(file, _TABLES) if is_sqlite(file) else self._exported(file)
            for name, entry in entries:
                if name == "prompts":
                    self.skipped["prompts, which are no memories"] += 1
                elif record := self._record(entry, is_summary=name == "summaries"):
                    yield record

    def _exported(self, source: Any) -> Iterator[tuple[str, Entry]]:
        for file in files_in(source, lambda name: name.endswith(".json"), self.skipped, largest=LARGEST_JSON):
            found = json_in(file)
            if not isinstance(found, dict) or not found.keys() & {"observations", "summaries"}:
                raise TransferError("is no export of claude-mem: it has no list of observations.", line=file.place)
            for name in _TABLES.values():
                for entry in Entry(found, file.place).entries(name):
                    yield name, entry

    def _record(self, entry: Entry, *, is_summary: bool) -> MemoryRecord | None:
        content = _summary(entry) if is_summary else _observation(entry)
        if not content:
            self.skipped["entries without text"] += 1
            return None
        session = entry.text("memory_session_id", "sdk_session_id")
        created = self.past(entry.moment("created_at_epoch", "created_at"))
        # Not its number: that is another one in every database that it was imported into.
        native = digest(session, str(created), content)
        if not self.is_first(native):
            return None
        word, project = "session-summary" if is_summary else entry.text("type"), entry.text("project")
        concepts = entry.texts("concepts")
        return MemoryRecord(
            content=content,
            kind=Kind.GOTCHA if "gotcha" in concepts else kind_of(word, KINDS),
            scope=slug_of(project),
            created_at=created,
            updated_at=created,
            session=self.line(session, "session"),
            agent=self.line(entry.text("platform_source", "agent_type"), "agent"),
            external_id=external_id("claude-mem", native),
            source=self.line(
                origin("claude-mem", project, type=word, model=entry.text("generated_by_model")), "source"
            ),
            entities=self.entities(
                [
                    *(
                        (path, "path")
                        for name in ("files_modified", "files_edited", "files_read")
                        for path in entry.texts(name)
                    ),
                    *((concept, "concept") for concept in concepts),
                ]
            ),
            line=entry.place,
        )


def _observation(entry: Entry) -> str:
    facts = "\n".join(f"- {fact}" for fact in entry.sentences("facts") if fact.strip())
    title, narrative = entry.text("title"), entry.text("narrative", "text")
    return "\n\n".join(part.strip() for part in (title, entry.text("subtitle"), narrative, facts) if part.strip())


def _summary(entry: Entry) -> str:
    parts = ((name.replace("_", " ").capitalize(), entry.text(name).strip()) for name in _PARTS)
    return "\n\n".join(f"{name}: {text}" for name, text in parts if text)
