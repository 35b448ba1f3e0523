"""One Markdown file a memory: what is known of it as front matter, and its text below, byte for byte."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final

from memories.models import Kind
from memories.transfer import by_hand, front_matter
from memories.transfer.contract import Format
from memories.transfer.errors import Written
from memories.transfer.memory_shape import read_memory, values_of
from memories.transfer.records import Counts, MemoryRecord, Record
from memories.transfer.sources import File, files_in, zipped

_WORDS: Final = re.compile(r"[a-z0-9]+")
_NOT_IN_NAMES: Final = re.compile(r"[^\w@+-]+")
_MOST_WORDS, _LONGEST_HINT = 6, 48


class Markdown(Format):
    """A memory has the same file name and the same bytes for as long as it says the same."""

    name = "markdown"
    label = "Markdown, one file a memory (zip or folder)"
    suffix = ".zip"
    suffixes = (".zip", ".md")
    media_type = "application/zip"
    reads = writes = takes_folder = writes_folder = True
    mark = re.compile(
        rf"{front_matter.WITHIN}(?:(?:kind|type): *[\"']?(?:{'|'.join(Kind.values)})[\"']?\s*$"
        r"|external_id:|created_at: *\")",
        re.M | re.I,
    )

    def read(self, source: Any) -> Iterator[Record]:
        for file in files_in(source, lambda name: name.endswith(".md"), self.skipped):
            if record := self.faults.tried(memory_in, file, self.notes):
                yield record

    def files(self, records: Iterable[Record], counts: Counts) -> Iterator[tuple[str, bytes]]:
        for record in records:
            if isinstance(record, MemoryRecord):
                yield path_of(record), written(record)

    def write(self, records: Iterable[Record], counts: Counts) -> Iterator[bytes]:
        return zipped(self.files(records, counts))


def memory_in(file: File, notes: Counter[str]) -> MemoryRecord:
    """Without front matter the whole file is the text, and its path the name it is known by."""
    header, body = front_matter.split(file.text)
    place = Written(file.place, by_hand.lines_of(header or ""))
    values = by_hand.understood(front_matter.typed(header, file.place) if header is not None else {}, place, notes)
    if not values.keys() & {"id", "external_id"} and file.name:
        values["external_id"] = f"markdown:{file.name}"
    content = _titled(values.pop("title", ""), _unframed(header, body))
    return read_memory(values | {"content": content}, place)


def _titled(title: Any, content: str) -> str:
    """A title that the text does not begin with stands above it."""
    first = content.lstrip().partition("\n")[0]
    return content if not isinstance(title, str) or not title or title in first else f"{title}\n\n{content}"


def _unframed(header: str | None, body: str) -> str:
    if header is None:
        return body.strip("\r\n")
    if "\r\n" in header:  # whatever saved the file has turned the line ends of all of it
        body = body.replace("\r\n", "\n")
    return body.removeprefix("\n").removesuffix("\n")


def written(record: MemoryRecord) -> bytes:
    values = values_of(record)
    content = values.pop("content")
    return f"---\n{front_matter.written(values)}---\n\n{content}\n".encode()


def path_of(record: MemoryRecord) -> str:
    """``<scope>/<first words>-<id>.md``. Nothing in it leads out of the folder."""
    folders = [_NOT_IN_NAMES.sub("-", part) or "-" for part in (record.scope or "memories").split("/")]
    hint = "-".join(_WORDS.findall(record.content[:1000].lower())[:_MOST_WORDS])[:_LONGEST_HINT].strip("-")
    return "/".join([*folders, f"{hint}-{record.id}.md".removeprefix("-")])
