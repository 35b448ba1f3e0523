"""What mem0 gives of its memories: the answer of ``get_all``, pages of its REST API, or a backup of OpenMemory."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from memories.models import Kind
from memories.models.graph import UNTYPED
from memories.services.validation import ENTITY_TYPE_LENGTH
from memories.transfer.errors import TransferError
from memories.transfer.foreign import Entry, Foreign, Kinds, digest, entries, external_id, kind_of, origin
from memories.transfer.records import MemoryRecord

KINDS: Final[Kinds] = {
    "preferences": Kind.PREFERENCE,
    "user-preferences": Kind.PREFERENCE,
    "decisions": Kind.DECISION,
    "rule": Kind.CONVENTION,
    "rules": Kind.CONVENTION,
    "goal": Kind.TASK,
    "goals": Kind.TASK,
    "todo": Kind.TASK,
    "event": Kind.EPISODE,
    "episodic": Kind.EPISODE,
    "milestones": Kind.EPISODE,
}
_LISTS: Final = ("results", "memories", "items", "records")
_RETIRED: Final = ("archived", "deleted")


class Mem0(Foreign):
    name = "mem0"
    label = "mem0 (JSON of get_all, or a backup of OpenMemory)"
    suffix = ".json"
    suffixes = (".json", ".zip")
    media_type = "application/json"
    mark = re.compile(r'"memory"\s*:\s*"|"(?:user_id|app_id)"\s*:')

    def read(self, source: Any) -> Iterator[MemoryRecord]:
        for place, found in self.documents(source):
            whole = Entry(found if isinstance(found, dict) else {"results": found}, place)
            self._pass_over_relations(whole)
            apps, categories = _names(whole, "apps"), _names(whole, "categories")
            for entry in _memories(whole):
                if record := self._record(entry, apps, categories):
                    yield record

    def _pass_over_relations(self, entry: Entry) -> None:
        self.skipped["relations between names, which are no memories"] += sum(1 for _ in entry.entries("relations"))

    def _record(self, entry: Entry, apps: Mapping[str, str], categories: Mapping[str, str]) -> MemoryRecord | None:
        text = entry.text("memory", "content", "text", "data")
        native = entry.text("id", "memory_id") or digest(text)
        if not text.strip():
            self.skipped["memories without text"] += 1
            return None
        if not self.is_first(native):
            return None
        self._pass_over_relations(entry)
        metadata = entry.entry("metadata" if "metadata" in entry.values else "metadata_")
        named = entry.texts("categories") + [categories[id] for id in entry.texts("category_ids") if id in categories]
        word = metadata.said("kind", "type", "category")
        kind = next((kind for word in [word, *named] if (kind := kind_of(word, KINDS)) != Kind.FACT), Kind.FACT)
        retired = entry.text("state") in _RETIRED
        created = self.past(entry.moment("created_at"))
        changed = self.past(entry.moment("updated_at"))
        return MemoryRecord(
            content=text,
            kind=kind,
            created_at=created,
            updated_at=changed or created,
            valid_until=entry.moment("expiration_date"),
            invalidated_at=self.past(entry.moment("deleted_at", "archived_at")) or changed if retired else None,
            state="invalidated" if retired else None,
            invalidation_reason=f"{entry.text('state')} in mem0" if retired else "",
            external_id=external_id("mem0", native),
            source=self.line(origin("mem0", native, type=word, user=entry.text("user_id")), "source"),
            agent=self.line(entry.text("agent_id", "app", "app_name") or apps.get(entry.text("app_id"), ""), "agent"),
            session=self.line(entry.text("run_id"), "session"),
            entities=self.entities(
                [
                    (one.text("name"), one.text("type")[:ENTITY_TYPE_LENGTH] or UNTYPED)
                    for one in entry.entries("entities")
                ]
                + [(name, "category") for name in named]
                + [(name, "tag") for name in _tags(metadata)]
                + [(entry.text("user_id"), "person")] * (not apps)
            ),
            line=entry.place,
        )


def _memories(whole: Entry) -> Iterator[Entry]:
    name = next((name for name in _LISTS if name in whole.values), None)
    if name is None:
        known = ", ".join(_LISTS)
        raise TransferError(
            f"is no export of mem0: none of {known} is in it. Send what get_all gives.", line=whole.place
        )
    for entry in entries(whole.values[name], f"{whole.place}: {name}"):
        # Of a bundle's record all but the text stands in its metadata.
        yield Entry({**entry.entry("metadata").values, **entry.values}, entry.place) if name == "records" else entry


def _tags(metadata: Entry) -> list[str]:
    found = metadata.values.get("tags")
    return (
        [tag for tag in found if isinstance(tag, str)] if isinstance(found, list) else metadata.said("tags").split(",")
    )


def _names(whole: Entry, table: str) -> dict[str, str]:
    """The names by id, of a backup that holds such a table."""
    found = whole.values.get(table)
    rows = [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []
    return {str(row.get("id")): str(row["name"]) for row in rows if row.get("name")}
