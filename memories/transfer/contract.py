"""What a format promises, whichever it is."""

from abc import ABC
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from memories.transfer.errors import TransferError
from memories.transfer.records import Counts, Record


class Format(ABC):
    """One reading or one writing. Both stream: neither ever holds the whole corpus.

    ``skipped`` counts what a reading left out by intent, by reason. Whatever cannot be read raises TransferError.
    """

    name: ClassVar[str]

    def __init__(self) -> None:
        self.skipped: Counter[str] = Counter()
        self.notes: Counter[str] = Counter()
        self.embedder = ""  # by whose vectors the memories were found where they come from

    def read(self, source: Any) -> Iterator[Record]:
        raise TransferError(f"The format {self.name} can only be written, not read.", field="format")

    def write(self, records: Iterable[Record], counts: Counts) -> Iterator[bytes]:
        raise TransferError(f"The format {self.name} can only be read, not written.", field="format")
