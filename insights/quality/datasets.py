"""Retrieval sets: dated documents and questions whose evidence is known. Read from a folder of yours, never shipped."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import IO, Any, Final

FOLDER: Final = "ZEROMEMORY_EVAL_DATA"
HOW_TO: Final = f"Set {FOLDER} to a folder with retrieval sets; docs/evaluation.md says where they come from."
SESSIONS: Final = "-sessions"
WITHOUT_SPEAKERS: Final = "-without-speakers"
_HEAD: Final = 65_536  # characters that tell the shape of a file


class DatasetError(Exception):
    """A retrieval set is missing or cannot be read; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Document:
    """``time`` is None where the set has no dates; ``order`` is the place among documents of the same time. A document
    without a ``kind`` is stored as the kind that the evaluation is told."""

    id: str
    corpus: str
    text: str
    time: datetime | None = None
    speaker: str = ""
    session: str = ""
    order: int = 0
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Query:
    """Asked of its own corpus; ``gold`` are the ids of the documents that answer it, never none."""

    id: str
    corpus: str
    text: str
    gold: frozenset[str]
    category: str = ""


@dataclass(frozen=True, slots=True)
class Dataset:
    name: str
    documents: tuple[Document, ...]
    queries: tuple[Query, ...]

    @property
    def corpora(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(document.corpus for document in self.documents))

    @property
    def digest(self) -> str:
        """SHA-256 of the documents: what a stored corpus is made of."""
        said = hashlib.sha256()
        for document in self.documents:
            said.update(repr(document).encode("utf-8", "surrogatepass"))
        return said.hexdigest()

    def without_speakers(self) -> Dataset:
        """The words alone, as a set of another name: who said them is left out."""
        bare = tuple(replace(document, speaker="") for document in self.documents)
        return replace(self, name=f"{self.name}{WITHOUT_SPEAKERS}", documents=bare)

    def limited(self, most: int | None) -> Dataset:
        """At most *most* questions, taken evenly over the whole set; every document stays."""
        if not most or most >= len(self.queries):
            return self
        step = len(self.queries) / most
        return replace(self, queries=tuple(self.queries[int(place * step)] for place in range(most)))


type Loader = Callable[[], Dataset]


def available() -> dict[str, Loader]:
    """The sets in the folder by name, each with what loads it; none where no folder is named.

    Raises DatasetError for a folder that is not there.
    """
    given = os.environ.get(FOLDER, "").strip()
    if not given:
        return {}
    folder = Path(given).expanduser()
    if not folder.is_dir():
        raise DatasetError(f"{FOLDER} names {folder}, which is no folder. {HOW_TO}")
    return {name: loader for path in sorted(folder.iterdir()) for name, loader in _in_file(path)}


def load(name: str) -> Dataset:
    loaders = available()
    if name in loaders:
        return loaders[name]()
    if not loaders:
        raise DatasetError(f"There is no set named {name!r}: no retrieval sets were found. {HOW_TO}")
    raise DatasetError(f"There is no set named {name!r}. Choose from {', '.join(loaders)}.")


def checked(name: str, documents: Iterable[Document], queries: Iterable[Query]) -> Dataset:
    """The set without questions that have no evidence. Raises DatasetError where the rest does not fit together."""
    kept = tuple(documents)
    asked = tuple(query for query in queries if query.gold)
    known = {(document.corpus, document.id) for document in kept}
    if not asked:
        raise DatasetError(f"The set {name} holds no question with evidence.")
    if len(known) != len(kept):
        raise DatasetError(f"The set {name} names two documents of one corpus by the same id.")
    for query in asked:
        if missing := {gold for gold in query.gold if (query.corpus, gold) not in known}:
            raise DatasetError(f"In the set {name} the question {query.id} names {min(missing)}, which is not there.")
    return Dataset(name, kept, asked)


def as_utc(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _in_file(path: Path) -> Iterator[tuple[str, Loader]]:
    plain_name = path.name.removesuffix(".gz")
    stem = plain_name.rpartition(".")[0]
    if plain_name.endswith(".jsonl"):
        yield stem, partial(_plain, path, stem)
    if plain_name.endswith(".json"):
        yield from _original(path, stem)


def _original(path: Path, stem: str) -> Iterator[tuple[str, Loader]]:
    from insights.quality import originals  # here, because it builds on the types above

    with opened(path) as file:
        head = file.read(_HEAD)
    for shape in originals.SHAPES:
        if not all(f'"{key}"' in head for key in shape.keys):
            continue
        yield stem, partial(shape.read, path, stem, sessions=False)
        if shape.has_sessions:
            yield stem + SESSIONS, partial(shape.read, path, stem + SESSIONS, sessions=True)
        return


@contextmanager
def opened(path: Path) -> Iterator[IO[str]]:
    """The file as text, unpacked where its name ends in .gz; what cannot be read raises DatasetError."""
    try:
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
            yield file
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise DatasetError(f"{path.name} cannot be read: {error}.") from error


def _plain(path: Path, name: str) -> Dataset:
    documents: list[Document] = []
    queries: list[Query] = []
    with opened(path) as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                _take(line, f"{path.name}, line {number}", documents, queries)
    return checked(name, documents, queries)


def _take(line: str, where: str, documents: list[Document], queries: list[Query]) -> None:
    try:
        row = json.loads(line)
        if row["type"] == "doc":
            documents.append(_document(row))
        elif row["type"] == "query":
            queries.append(_query(row))
        else:
            raise ValueError(f"its type is {row['type']!r}, neither doc nor query")
    except KeyError as error:
        raise DatasetError(f"{where}: {error} is missing.") from error
    except (ValueError, TypeError, AttributeError) as error:
        raise DatasetError(f"{where} does not fit the shape in docs/evaluation.md: {error}.") from error


def _document(row: dict[str, Any]) -> Document:
    return Document(
        id=str(row["id"]),
        corpus=str(row["corpus"]),
        text=row["text"],
        time=as_utc(datetime.fromisoformat(row["time"])) if row.get("time") else None,
        speaker=row.get("speaker") or "",
        session=row.get("session") or "",
        order=int(row.get("order") or 0),
    )


def _query(row: dict[str, Any]) -> Query:
    return Query(
        id=str(row["id"]),
        corpus=str(row["corpus"]),
        text=row["text"],
        gold=frozenset(map(str, row["gold"])),
        category=row.get("category") or "",
    )
