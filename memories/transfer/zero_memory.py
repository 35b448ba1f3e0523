"""The Markdown tree that the product zero-memory exports as a zip: a file a memory, retired ones under archive/."""

import re
from collections.abc import Iterator, Set
from typing import Any, Final

from memories.models import Provenance
from memories.models.memory import AuthorKind
from memories.transfer import front_matter
from memories.transfer.errors import TransferError
from memories.transfer.foreign import Entry, Foreign, Kinds, external_id, kind_of, origin, slug_of
from memories.transfer.records import MemoryRecord
from memories.transfer.sources import File, files_in, rewindable

KINDS: Final[Kinds] = {}
_FIELD: Final = re.compile(r"(?P<name>[a-z_]+):\s*(?P<value>\S.*)")  # of a line without white space at its end
_ORIGINAL: Final = re.compile(r"\n\n?<!-- zm:original(?: lang=\S+)? -->\n")
_PROVISIONAL: Final = ("watcher", "bootstrap")  # the agents whose writes that product takes for provisional
_AUTHORS: Final = {"human": AuthorKind.HUMAN, "agent": AuthorKind.AGENT}


class ZeroMemory(Foreign):
    name = "zero-memory"
    label = "zero-memory (zip of Markdown)"
    suffix = ".zip"
    suffixes = (".zip", ".md")
    media_type = "application/zip"
    takes_folder = True
    mark = re.compile(rf"{front_matter.WITHIN}(?:visibility|author_kind|agent_name): [^\"\s]")

    def read(self, source: Any) -> Iterator[MemoryRecord]:
        with rewindable(source) as files:
            known = {entry.text("id") for entry, _ in self._entries(files)}
            self.skipped.clear()
            for entry, body in self._entries(files):
                if record := self._record(entry, body, known):
                    yield record

    def _entries(self, source: Any) -> Iterator[tuple[Entry, str]]:
        for file in files_in(source, lambda name: name.endswith(".md"), self.skipped):
            yield _entry(file)

    def _record(self, entry: Entry, body: str, known: Set[str]) -> MemoryRecord | None:
        native, word, made = entry.text("id"), entry.text("kind"), entry.entry("source")
        content, *original = _ORIGINAL.split(body, maxsplit=1)
        if not content.strip():
            self.skipped["memories without text"] += 1
            return None
        if not self.is_first(native):
            return None
        successor = entry.text("superseded_by")
        if successor and successor not in known:
            self.notes["memories whose successor is not in the export, retired without one"] += 1
        created = self.past(entry.moment("created_at"))
        retired = entry.moment("invalidated_at")
        is_succeeded = successor in known - {"", native}
        return MemoryRecord(
            content=content,
            verbatim="".join(original),
            kind=kind_of(word, KINDS),
            scope=slug_of(entry.text("scope").partition(".")[2] or entry.text("scope")),
            created_at=created,
            updated_at=created,
            author_kind=_AUTHORS.get(entry.text("author_kind"), AuthorKind.IMPORT),
            provenance=Provenance.PROVISIONAL if entry.text("agent_name") in _PROVISIONAL else None,
            agent=self.line(entry.text("agent_name"), "agent"),
            session=self.line(made.said("client_session_id", "session", "thread"), "session"),
            invalidated_at=self.past(retired),
            superseded_by=external_id("zero-memory", successor) if is_succeeded else "",
            state="invalidated" if (successor or retired) and not is_succeeded else None,
            external_id=external_id("zero-memory", native),
            source=self.line(origin("zero-memory", native, kind=word, said=entry.text("source")), "source"),
            line=entry.place,
        )


def _entry(file: File) -> tuple[Entry, str]:
    """Each field stands in one line as it is, without the quotes that YAML would want."""
    header, body = front_matter.split(file.text)
    lines = [_FIELD.fullmatch(line.rstrip()) for line in (header or "").split("\n")]
    entry = Entry({found["name"]: found["value"] for found in lines if found}, file.place)
    if not entry.text("id"):
        raise TransferError("is no memory of zero-memory: its front matter names no id.", line=file.place)
    return entry, body.removeprefix("\n").removesuffix("\n")
