"""A retrieval set as memories, in a scratch database beside the owner's: never among the owner's memories."""

from __future__ import annotations

import hashlib
import inspect
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import batched
from typing import Any, Final, cast
from uuid import UUID

from django.contrib.contenttypes.models import ContentType
from django.db import DEFAULT_DB_ALIAS, ProgrammingError, connection, connections
from django.db.migrations.loader import MigrationLoader
from django.db.models import Max

from insights.quality.datasets import Dataset, Document
from memories import embedding_queue, windows
from memories.access import Actor, actor_for_user
from memories.embedding_queue import embed_waiting, stamp_of, waiting
from memories.models import Memory, Scope, User
from memories.transfer import rows
from memories.transfer.records import EntityRecord, MemoryRecord
from memories.words import UNSTORABLE
from zeromemory import database
from zeromemory.embedding import get_embedder

UNDATED: Final = datetime(2025, 1, 1, tzinfo=UTC)
TURN: Final = timedelta(seconds=30)  # between what is said one after the other; the sets date whole sessions only
MARK: Final = "zeromemory evaluation "  # begins the comment on a database of ours; its fingerprint follows
LONGEST_NAME: Final = 63  # bytes, in PostgreSQL
MEMORIES_A_BATCH: Final = 250
MEMORIES_A_STEP: Final = 500  # embedded between two reports of progress
ONE_DAY: Final = timedelta(days=1)


class CorpusError(Exception):
    """The scratch database cannot be made or used; the message says what to do."""


type Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Corpus:
    """A stored set: the scope of each corpus, the document behind each memory, and when each corpus is asked."""

    dataset: Dataset
    scopes: Mapping[str, int]
    documents: Mapping[UUID, str]
    asked_at: Mapping[str, datetime]


def stamp_in_use() -> str:
    """Name and version of the embedder in use; empty where there is none."""
    embedder = get_embedder()
    return stamp_of(embedder.name, embedder.version) if embedder else ""


@contextmanager
def opened(
    dataset: Dataset, *, kind: str = "fact", rebuild: bool = False, tell: Tell = lambda _: None
) -> Iterator[Corpus]:
    """While it lasts, the default connection of this thread leads to the scratch database that holds *dataset*.

    What somebody said becomes a memory that names them, as an agent would write it down: ``Cook: The oven runs hot.``
    See ``Dataset.without_speakers`` for the words alone.
    The database is kept and used again until the documents, the embedder or the rules that cut and store them change.
    Raises CorpusError; EmbedderError where the embedder cannot be loaded.
    """
    name, wanted = database_name(dataset.name), fingerprint(dataset)
    with _alone(name) as keeper:
        found = _comment(keeper, name)
        if rebuild or found != MARK + wanted:
            _make_anew(keeper, name, found)
        with _default_connection(name):
            database.migrate()
            if rebuild or found != MARK + wanted:
                _fill(dataset, tell)
                _describe(keeper, name, MARK + wanted)
            _store_as(kind, dataset)
            yield _stored(dataset)


def drop(dataset_name: str) -> bool:
    """Remove the scratch database of a set; False where there is none."""
    name = database_name(dataset_name)
    with _alone(name) as keeper:
        found = _comment(keeper, name)
        if found is not None:
            _drop(keeper, name, found)
        return found is not None


def database_name(dataset_name: str) -> str:
    """``<database>_evaluation_<set>``, as short as PostgreSQL wants it."""
    whole = f"{connection.settings_dict['NAME']}_evaluation_{re.sub(r'[^a-z0-9]+', '_', dataset_name.lower())}"
    if len(whole.encode()) <= LONGEST_NAME:
        return whole
    return f"zeromemory_evaluation_{hashlib.sha256(whole.encode()).hexdigest()[:32]}"


def fingerprint(dataset: Dataset) -> str:
    """SHA-256 of all that decides what is stored for *dataset*."""
    migrations = MigrationLoader(None).disk_migrations or {}
    parts = {
        "documents": dataset.digest,
        "embedder": stamp_in_use(),
        "migrations": sorted(name for app, name in migrations if app == "memories"),
        "rules": [inspect.getsource(module) for module in (windows, embedding_queue, rows)]
        + [inspect.getsource(part) for part in (_row, _text, created_at)],
    }
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


# Databases -----------------------------------------------------------------------------------


def _connection_to(name: str) -> Any:
    """Without the pool: pools are kept by alias, so the scratch database would get connections to the owner's."""
    given = connections[DEFAULT_DB_ALIAS].settings_dict
    options = {key: value for key, value in given["OPTIONS"].items() if key != "pool"}
    return type(connections[DEFAULT_DB_ALIAS])(given | {"NAME": name, "OPTIONS": options}, DEFAULT_DB_ALIAS)


@contextmanager
def _alone(name: str) -> Iterator[Any]:
    """A connection of its own to the owner's database, from where *name* is made and dropped; one process at a time."""
    keeper = _connection_to(connection.settings_dict["NAME"])
    try:
        if not _asked(keeper, "SELECT pg_try_advisory_lock(hashtext(%s))", name):
            raise CorpusError(
                f"Another evaluation uses the database {name} at this moment. Wait until it has finished."
            )
        yield keeper
    finally:
        keeper.close()


def _asked(keeper: Any, question: str, *values: object) -> Any:
    with keeper.cursor() as cursor:
        cursor.execute(question, values)
        row = cursor.fetchone()
        return row[0] if row else None


def _comment(keeper: Any, name: str) -> str | None:
    """None where there is no such database."""
    return cast(
        "str | None",
        _asked(
            keeper,
            "SELECT coalesce(shobj_description(oid, 'pg_database'), '') FROM pg_database WHERE datname = %s",
            name,
        ),
    )


def _describe(keeper: Any, name: str, comment: str) -> None:
    with keeper.cursor() as cursor:
        cursor.execute(f"COMMENT ON DATABASE {keeper.ops.quote_name(name)} IS %s", [comment])


def _make_anew(keeper: Any, name: str, found: str | None) -> None:
    if found is not None:
        _drop(keeper, name, found)
    try:
        with keeper.cursor() as cursor:
            cursor.execute(f"CREATE DATABASE {keeper.ops.quote_name(name)}")
    except ProgrammingError as error:
        raise CorpusError(
            f"The scratch database {name} could not be made ({str(error).strip()}). Let the user of DATABASE_URL "
            "create databases: ALTER ROLE <user> CREATEDB;"
        ) from error
    _describe(keeper, name, MARK)


def _drop(keeper: Any, name: str, found: str) -> None:
    if not found.startswith(MARK):
        raise CorpusError(f"There is a database {name} that no evaluation made. Rename it or drop it yourself.")
    with keeper.cursor() as cursor:
        cursor.execute(f"DROP DATABASE {keeper.ops.quote_name(name)} WITH (FORCE)")


@contextmanager
def _default_connection(name: str) -> Iterator[None]:
    owners = connections[DEFAULT_DB_ALIAS]
    scratch = connections[DEFAULT_DB_ALIAS] = _connection_to(name)
    ContentType.objects.clear_cache()  # kept by alias too
    try:
        yield
    finally:
        scratch.close()
        connections[DEFAULT_DB_ALIAS] = owners
        ContentType.objects.clear_cache()


# Memories ------------------------------------------------------------------------------------


def _fill(dataset: Dataset, tell: Tell) -> None:
    tell(f"Storing {len(dataset.documents):,} documents of {dataset.name} in a scratch database.")
    user = User.objects.create(username="evaluation", is_active=False)
    scopes = {
        corpus: Scope.objects.create(owner=user, slug=f"corpus-{number}", name=corpus[:120])
        for number, corpus in enumerate(dataset.corpora, 1)
    }
    actor, people = actor_for_user(user), rows.People()
    for batch in batched(dataset.documents, MEMORIES_A_BATCH):
        rows.insert(
            [_row(document, scopes[document.corpus].pk, actor, people) for document in _storable(batch)], people
        )
    _embed(tell)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")  # what autovacuum has done by the time somebody asks


def _storable(documents: Iterable[Document]) -> Iterator[Document]:
    """A memory cannot be empty; a document that is cannot be found either way."""
    return (document for document in documents if _text(document))


def _text(document: Document) -> str:
    text = UNSTORABLE.sub(" ", document.text).strip()
    return f"{_speaker(document)}: {text}" if text and _speaker(document) else text


def _speaker(document: Document) -> str:
    return UNSTORABLE.sub(" ", document.speaker).strip()


def _row(document: Document, scope_id: int, actor: Actor, people: rows.People) -> rows.Row:
    record = MemoryRecord(
        content=_text(document),
        kind=document.kind or "fact",
        created_at=created_at(document),
        session=document.session[:120],
        entities=(EntityRecord(_speaker(document), "person"),) if _speaker(document) else (),
    )
    memory = rows.build(record, id=None, external_id=document.id, scope_id=scope_id, actor=actor, people=people)
    return record, memory


def created_at(document: Document) -> datetime:
    return document.time + document.order * TURN if document.time else UNDATED


def _embed(tell: Tell) -> None:
    if get_embedder() is None:
        return
    left = waiting(Memory.objects.all()).count()
    while left:
        tell(f"{left:,} documents left to embed.")
        embed_waiting(most=MEMORIES_A_STEP)
        before, left = left, waiting(Memory.objects.all()).count()
        if left >= before:
            said = Memory.objects.exclude(embedding_error="").values_list("embedding_error", flat=True).first()
            raise CorpusError(f"{left:,} documents could not be embedded: {said or 'the embedder gave no reason'}")


def _store_as(kind: str, dataset: Dataset) -> None:
    """Every memory of *kind*, but those whose document names its own."""
    own = {document.id for document in dataset.documents if document.kind}
    Memory.objects.exclude(kind=kind).exclude(external_id__in=own).update(kind=kind)


def _stored(dataset: Dataset) -> Corpus:
    scopes = {scope.name: scope for scope in Scope.objects.annotate(newest=Max("memories__created_at"))}
    named = {corpus: scopes[corpus[:120]] for corpus in dataset.corpora}
    return Corpus(
        dataset=dataset,
        scopes={corpus: scope.pk for corpus, scope in named.items()},
        documents=dict(Memory.objects.values_list("pk", "external_id")),
        asked_at={corpus: (scope.newest or UNDATED) + ONE_DAY for corpus, scope in named.items()},
    )
