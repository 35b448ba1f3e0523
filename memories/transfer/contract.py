"""What a format promises, whichever it is."""

import re
from abc import ABC
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from memories.transfer.errors import Faults, NoPatience, TransferError
from memories.transfer.records import Counts, Record


class Format(ABC):
    """One reading or one writing. Both stream: neither ever holds the whole corpus.

    ``skipped`` counts what a reading left out by intent, by reason. Whatever cannot be read raises TransferError.
    """

    name: ClassVar[str]
    label: ClassVar[str]  # for people
    suffix: ClassVar[str]  # of the file that an export is, with its dot
    media_type: ClassVar[str]  # of that file
    reads: ClassVar[bool] = False
    writes: ClassVar[bool] = False
    takes_file: ClassVar[bool] = True  # may read an open binary file, which need not be seekable
    takes_folder: ClassVar[bool] = False  # may read a folder of this machine, given as its path
    writes_folder: ClassVar[bool] = False  # may write a folder of files; what ``write`` gives is a zip of them
    carries: ClassVar[bool] = False  # holds scopes, settings and what is kept about the memories, too
    holds_aliases: ClassVar[bool] = False  # of each scope, as AliasRecord; where it ``carries`` they are rows
    suffixes: ClassVar[tuple[str, ...]] = ()  # of the files it reads, where it reads others than it writes
    mark: ClassVar[re.Pattern[str] | None] = None  # found near the top of a file of this format, and hardly in others

    @classmethod
    def readable_suffixes(cls) -> tuple[str, ...]:
        return cls.suffixes or (cls.suffix,)

    @classmethod
    def is_named(cls, path: str) -> bool:
        """Whether a file of this name is of this format and of no other, whatever stands in it."""
        return False

    def __init__(self) -> None:
        self.skipped: Counter[str] = Counter()
        self.notes: Counter[str] = Counter()
        self.faults: Faults = NoPatience()  # an import gathers them instead
        self.embedder = ""  # by whose vectors the memories were found where they come from

    def read(self, source: Any) -> Iterator[Record]:
        raise TransferError(f"The format {self.name} can only be written, not read.", field="format")

    def files(self, records: Iterable[Record], counts: Counts) -> Iterator[tuple[str, bytes]]:
        """The files of a folder, each with its path in it."""
        raise TransferError(f"The format {self.name} is one file, not a folder. Name a file to write.", field="format")

    def write(self, records: Iterable[Record], counts: Counts) -> Iterator[bytes]:
        raise TransferError(f"The format {self.name} can only be read, not written.", field="format")
