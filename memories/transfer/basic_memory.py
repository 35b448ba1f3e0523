"""The notes of Basic Memory: what stands in a note, each of its observations, and its relations to other notes."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final

from memories.models import Kind, Link
from memories.transfer import front_matter
from memories.transfer.foreign import Entry, Foreign, Kinds, digest, external_id, kind_of, origin
from memories.transfer.markdown_blocks import Block, items_of
from memories.transfer.records import LinkRecord, MemoryRecord
from memories.transfer.sources import LARGEST_NOTE, File, files_in, rewindable

KINDS: Final[Kinds] = {
    "preferences": Kind.PREFERENCE,
    "rule": Kind.CONVENTION,
    "principle": Kind.CONVENTION,
    "standard": Kind.CONVENTION,
    "pattern": Kind.CONVENTION,
    "best-practice": Kind.CONVENTION,
    "constraint": Kind.CONVENTION,
    "problem": Kind.GOTCHA,
    "issue": Kind.GOTCHA,
    "bug": Kind.GOTCHA,
    "risk": Kind.GOTCHA,
    "warning": Kind.GOTCHA,
    "pitfall": Kind.GOTCHA,
    "caveat": Kind.GOTCHA,
    "limitation": Kind.GOTCHA,
    "guide": Kind.REFERENCE,
    "documentation": Kind.REFERENCE,
    "spec": Kind.REFERENCE,
    "research": Kind.REFERENCE,
    "schema": Kind.REFERENCE,
    "session": Kind.EPISODE,
    "coding-session": Kind.EPISODE,
    "meeting": Kind.EPISODE,
    "conversation": Kind.EPISODE,
    "todo": Kind.TASK,
    "action": Kind.TASK,
    "next-step": Kind.TASK,
    "question": Kind.OPEN_QUESTION,
}
TIES: Final = {
    "contradicts": Link.Type.CONTRADICTS,
    "supersedes": Link.Type.SUPERSEDES,
    "replaces": Link.Type.SUPERSEDES,
    "derived-from": Link.Type.DERIVED_FROM,
    "based-on": Link.Type.DERIVED_FROM,
    "inspired-by": Link.Type.DERIVED_FROM,
    "builds-on": Link.Type.DERIVED_FROM,
}
_OBSERVATION: Final = re.compile(r"\[(?P<category>[^\[\]()]{1,100})\]\s+(?P<text>\S.*)", re.S)
_NO_CATEGORY: Final = re.compile(r"[xX\W]|\d{1,3}:\d\d(?::\d\d)?(?:[.,]\d{1,3})?.*")
_RELATION: Final = re.compile(r"""(?P<type>[^\s\[\]"']+|"[^"\n]+"|'[^'\n]+')\s+\[\[(?P<target>[^\[\]\n]+)\]\]""")
_MENTION: Final = re.compile(r"\[\[([^\[\]\n]+)\]\]")
_BARE_HEADING: Final = re.compile(r"^#+ Observations?[ \t]*\n\s*(?=#|\Z)", re.M | re.I)
_TAG: Final = re.compile(r"(?<!\S)#([^\s#.,;:!?()]+)")

type Names = Mapping[str, str]
"""By what a note is called, in lower case, the id that its memory is known by."""


@dataclass(frozen=True, slots=True)
class Note:
    entry: Entry
    body: str
    native: str
    title: str


class BasicMemory(Foreign):
    name = "basic-memory"
    label = "Basic Memory (folder or zip of notes)"
    suffix = ".zip"
    suffixes = (".zip", ".md")
    media_type = "application/zip"
    takes_folder = True
    mark = re.compile(rf"{front_matter.WITHIN}permalink:|^\s*[-*] \[[A-Za-z][\w -]+\] \S", re.M)

    def read(self, source: Any) -> Iterator[MemoryRecord]:
        with rewindable(source) as files:
            names: dict[str, str] = {}
            for note in self._notes(files):
                if _rest(note, _observations(note.body)):
                    for name in _called(note):
                        names.setdefault(name, external_id("basic-memory", note.native))
            self.skipped.clear()
            for note in self._notes(files):
                yield from self._records(note, names)

    def _notes(self, source: Any) -> Iterator[Note]:
        for file in files_in(source, lambda name: name.endswith(".md"), self.skipped, largest=LARGEST_NOTE):
            yield _note(file)

    def _records(self, note: Note, names: Names) -> Iterator[MemoryRecord]:
        observations = _observations(note.body)
        rest = _rest(note, observations)
        if not rest and not observations:
            self.skipped["notes without text"] += 1
        elif self.is_first(note.native):
            if rest:
                yield self._memory(note, rest, note.entry.text("type"), self._ties(note, rest, names))
            yield from self._observed(
                note, observations, LinkRecord(Link.Type.RELATES_TO, names[_own(note)]) if rest else None
            )

    def _observed(self, note: Note, found: list[Block], tie: LinkRecord | None) -> Iterator[MemoryRecord]:
        for item in found:
            said = _OBSERVATION.match(item.text)
            assert said  # it is an observation
            native = f"{note.native}#{digest(said['category'], said['text'])}"
            if self.is_first(native):
                yield self._memory(note, said["text"], said["category"], [tie] if tie else [], native)

    def _memory(self, note: Note, text: str, word: str, ties: list[LinkRecord], native: str = "") -> MemoryRecord:
        created = self.past(note.entry.moment("created", "created_at", "date"))
        return MemoryRecord(
            content=text,
            kind=kind_of(word, KINDS),
            created_at=created,
            updated_at=self.past(note.entry.moment("modified", "updated", "updated_at")) or created,
            external_id=external_id("basic-memory", native or note.native),
            source=self.line(origin("basic-memory", note.native, type=word), "source"),
            entities=self.entities(
                [(note.title, "note")]
                + [(tag.removeprefix("#"), "tag") for tag in note.entry.texts("tags")]
                + [(tag, "tag") for tag in _TAG.findall(text)]
                + [(target, "note") for target in _mentioned(text)]
            ),
            links=tuple(ties),
            line=note.entry.place,
        )

    def _ties(self, note: Note, text: str, names: Names) -> list[LinkRecord]:
        """To the notes of this import alone; another one stays a name."""
        types = {_key(found["target"]): _type_of(found["type"]) for found in _relations(text)}
        found: dict[str, str] = {}
        for target in _mentioned(text):
            known = names.get(_key(target))
            if known and known != names.get(_own(note)):
                found.setdefault(known, types.get(_key(target), Link.Type.RELATES_TO))
            elif not known:
                self.notes["relations to notes that are not in the import, kept as names"] += 1
        return [LinkRecord(type, known) for known, type in found.items()]


def _note(file: File) -> Note:
    header, body = front_matter.split(file.text.replace("\r\n", "\n").replace("\0", ""))
    entry = Entry(front_matter.in_yaml(header, file.place) if header else {}, file.place)
    path = file.name.removesuffix(".md")
    title = ", ".join(entry.sentences("title")) or PurePosixPath(path).name
    return Note(entry, body.strip("\n"), entry.text("permalink") or path or digest(body), title)


def _called(note: Note) -> Iterator[str]:
    yield _own(note)
    yield from (
        _key(name) for name in (note.title, note.entry.place.removesuffix(".md"), PurePosixPath(note.native).name)
    )


def _own(note: Note) -> str:
    return _key(note.native)


def _key(name: str) -> str:
    return " ".join(name.partition("|")[0].lower().split())


def _observations(body: str) -> list[Block]:
    found: list[Block] = []
    for item in items_of(body) if "[" in body else ():
        said = _OBSERVATION.match(item.text)
        if said and not _NO_CATEGORY.fullmatch(said["category"]) and not (found and item.start < found[-1].stop):
            found.append(item)
    return found


def _rest(note: Note, observations: list[Block]) -> str:
    """The note without its observations; empty where nothing but headings is left of it."""
    lines = note.body.split("\n")
    for item in reversed(observations):
        del lines[item.start : item.stop]
    rest = _BARE_HEADING.sub("", "\n".join(lines)) if observations else "\n".join(lines)
    rest = re.sub(r"\n{3,}", "\n\n", rest).strip()
    says_something = any(line.strip() and not line.lstrip().startswith("#") for line in rest.split("\n"))
    if not says_something:
        return ""
    return rest if note.title.lower() in rest.split("\n")[0].lower() else f"{note.title}\n\n{rest}"


def _relations(text: str) -> Iterator[re.Match[str]]:
    return (found for item in items_of(text) if (found := _RELATION.match(item.text)))


def _mentioned(text: str) -> list[str]:
    return list(dict.fromkeys(target.partition("|")[0].strip() for target in _MENTION.findall(text)))


def _type_of(word: str) -> str:
    key = re.sub(r"[\s_]+", "-", word.strip("\"'").strip().lower())
    return TIES.get(key, Link.Type.RELATES_TO)
