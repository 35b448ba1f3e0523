"""One Markdown file a memory: what is known of it as front matter, and its text below, byte for byte."""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from memories.models import Kind
from memories.transfer import front_matter
from memories.transfer.contract import Format
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
        rf"{front_matter.WITHIN}(?:kind: *[\"']?(?:{'|'.join(Kind.values)})[\"']?\s*$|external_id:|created_at: *\")",
        re.M | re.I,
    )

    def read(self, source: Any) -> Iterator[Record]:
        for file in files_in(source, lambda name: name.endswith(".md"), self.skipped):
            yield memory_in(file)

    def files(self, records: Iterable[Record], counts: Counts) -> Iterator[tuple[str, bytes]]:
        for record in records:
            if isinstance(record, MemoryRecord):
                yield path_of(record), written(record)

    def write(self, records: Iterable[Record], counts: Counts) -> Iterator[bytes]:
        return zipped(self.files(records, counts))


def memory_in(file: File) -> MemoryRecord:
    """Without front matter the whole file is the text, and its path the name it is known by."""
    header, body = front_matter.split(file.text)
    values = front_matter.typed(header, file.place) if header is not None else {}
    if not values.keys() & {"id", "external_id"} and file.name:
        values["external_id"] = f"markdown:{file.name}"
    return read_memory(values | {"content": _unframed(header, body)}, file.place)


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
