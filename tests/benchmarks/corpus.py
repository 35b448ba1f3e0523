"""Many memories with little embedding: some thousand texts are embedded, the others vary them."""

import hashlib
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import batched
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import numpy as np
from pgvector import Vector
from pgvector.psycopg import register_vector

from memories.models import Kind, Scope, User
from memories.models.memory import content_hash
from memories.services import people
from tests.benchmarks import databases, texts
from tests.benchmarks.texts import Text, Writer
from zeromemory.embedding import Embedder

TEXTS: Final = 2000
SEED: Final = 20260101
SMALL_SCOPES: Final = 300
SHARE_OF_SMALL_SCOPES: Final = 0.15
SHARE_WITH_ENTITY: Final = 0.3
SHARE_REINFORCED: Final = 0.02
NAMES: Final = 400
LARGE: Final = "large"
# A variation lies between the text it varies and some of that text's nearest, and strays a little by chance: with a
# like direction for none, the true nearest would be a matter of chance, and no index finds those well.
NEIGHBOURS: Final = 12
LEANS: Final = 3
NOISE: Final = 0.1
NEWEST: Final = datetime(2026, 1, 1, tzinfo=UTC)
OLDEST_DAYS: Final = 730
KINDS: Final = (Kind.FACT, Kind.EPISODE, Kind.DECISION, Kind.CONVENTION, Kind.PREFERENCE, Kind.GOTCHA, Kind.REFERENCE)
ROWS_A_BATCH: Final = 10_000
BUILD_SETTINGS: Final = {"maintenance_work_mem": "2GB", "max_parallel_maintenance_workers": "2"}
INDEXES: Final = ("window_live_document", "embedding_live_hnsw_384")

MEMORY_COLUMNS: Final = (
    "id, scope_id, kind, content, content_sha256, provenance, author_kind, agent, session, source, verbatim, "
    "created_at, recorded_at, updated_at, version, invalidated_actor, invalidation_reason, pinned, accessed_at, "
    "access_count, weight, external_id, idempotency_key, embedded_at, embedded_with, embedding_error"
)

type Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Corpus:
    database: str
    rows: int
    texts: Sequence[Text]
    connection: Any


@dataclass(frozen=True, slots=True)
class Row:
    id: UUID
    number: int
    scope: int
    kind: str
    content: str
    at: datetime
    vector: np.ndarray


@contextmanager
def opened(rows: int, embedder: Embedder, folder: Path, tell: Tell, *, kept_as: str = "") -> Iterator[Corpus]:
    """A database with *rows* embedded memories, kept for the next run. *folder* keeps the vectors of the texts."""
    name, wanted = databases.name_of(kept_as or str(rows)), fingerprint(embedder)
    if databases.contents(name) != wanted:
        databases.drop(name)
    with databases.opened(name) as connection:
        base = Writer(SEED).texts(TEXTS)
        if databases.contents(name) != wanted:
            tell(f"Storing {rows:,} memories; they are kept for the next run.")
            _fill(connection, rows, base, base_vectors(base, embedder, folder), embedder)
            databases.describe(connection, name, wanted)
        yield Corpus(name, rows, base, connection)


def fingerprint(embedder: Embedder) -> str:
    rules = [inspect.getsource(module) for module in (texts, sys.modules[__name__])]
    return hashlib.sha256("\n".join([embedder.stamp, databases.migrations(), *rules]).encode()).hexdigest()


def base_vectors(base: Sequence[Text], embedder: Embedder, folder: Path) -> np.ndarray:
    """From *folder* where they were kept for these texts and this embedder."""
    written = [str(text) for text in base]
    digest = hashlib.sha256("\n".join([embedder.stamp, *written]).encode()).hexdigest()[:16]
    kept = folder / f"vectors-{digest}.npy"
    if not kept.exists():
        folder.mkdir(parents=True, exist_ok=True)
        np.save(kept, embedder.encode_documents(written))
    return np.asarray(np.load(kept))


def _fill(connection: Any, rows: int, base: Sequence[Text], vectors: np.ndarray, embedder: Embedder) -> None:
    owner = people.create_owner() or User.objects.get(username=people.OWNER)
    slugs = [LARGE, *(f"small-{number}" for number in range(SMALL_SCOPES))]
    scopes = [Scope.objects.create(owner=owner, slug=slug, name=slug).pk for slug in slugs]
    register_vector(connection.connection)  # before the cursor: it copies what its connection knows
    with connection.cursor() as cursor:
        definitions = _drop_indexes(cursor)
        cursor.execute("SET session_replication_role = replica")  # no triggers: what they would set is set here
        for batch in batched(_rows(rows, base, vectors, scopes), ROWS_A_BATCH):
            _copy(cursor.cursor, batch, embedder)
        _add_entities(cursor, scopes[0])
        cursor.execute("SET session_replication_role = origin")
        _build(cursor, definitions)
        cursor.execute("VACUUM ANALYZE")
        cursor.execute("CHECKPOINT")  # its writes would otherwise fall into the measurement


def _drop_indexes(cursor: Any) -> list[str]:
    cursor.execute(
        "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = current_schema() AND indexname = ANY (%s)",
        [list(INDEXES)],
    )
    found = cursor.fetchall()
    for name, _ in found:
        cursor.execute(f"DROP INDEX {name}")
    return [definition for _, definition in found]


def _build(cursor: Any, definitions: Sequence[str]) -> None:
    for name, value in BUILD_SETTINGS.items():
        cursor.execute(f"SET {name} = '{value}'")
    for definition in definitions:
        cursor.execute(definition)


def _rows(rows: int, base: Sequence[Text], vectors: np.ndarray, scopes: Sequence[int]) -> Iterator[Row]:
    draw, writer, neighbours = np.random.default_rng(SEED), Writer(SEED + 1), _neighbours(vectors)
    for number in range(1, rows + 1):
        which, place = int(draw.integers(len(base))), int(draw.integers(1, len(scopes)))
        vector = _varied(vectors[which], vectors[neighbours[which]], draw)
        yield Row(
            id=UUID(bytes=draw.bytes(16), version=4),
            number=number,
            scope=scopes[place] if draw.random() < SHARE_OF_SMALL_SCOPES else scopes[0],
            kind=KINDS[int(draw.integers(len(KINDS)))],
            content=writer.variation(base[which], number),
            at=NEWEST - timedelta(days=float(draw.random()) * OLDEST_DAYS),
            vector=vector,
        )


def _neighbours(vectors: np.ndarray) -> np.ndarray:
    return np.argsort(-(vectors @ vectors.T), axis=1)[:, 1 : NEIGHBOURS + 1]


def _varied(vector: np.ndarray, neighbours: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    leaning = neighbours[draw.integers(len(neighbours), size=LEANS)]
    noise = draw.normal(size=len(vector))
    varied = vector + draw.random(LEANS) @ leaning + NOISE * noise / np.linalg.norm(noise)
    return np.asarray(varied / np.linalg.norm(varied), dtype=np.float32)


def _copy(cursor: Any, rows: Sequence[Row], embedder: Embedder) -> None:
    with cursor.copy(f"COPY memories ({MEMORY_COLUMNS}) FROM STDIN") as copy:
        for row in rows:
            copy.write_row(_memory(row, embedder.stamp))
    with cursor.copy("COPY memory_window (id, memory_id, position, start, stop, text, live) FROM STDIN") as copy:
        for row in rows:
            copy.write_row((row.number, row.id, 0, 0, len(row.content), row.content, True))
    _copy_vectors(cursor, rows, embedder)
    for table in ("memory_window", "memory_embedding"):
        cursor.execute(f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), {rows[-1].number})")


def _memory(row: Row, stamp: str) -> tuple[Any, ...]:
    digest, at = content_hash(row.content), row.at
    written = (
        row.id,
        row.scope,
        row.kind,
        row.content,
        digest,
        1,
        "agent",
        "agent",
        f"session-{row.number // 40}",
        "",
        "",
    )
    dated = (at, at, at, 1, "", "", row.number % 500 == 0, at, 0, 1.0)
    return (*written, *dated, "", "", at, stamp, "")


def _copy_vectors(cursor: Any, rows: Sequence[Row], embedder: Embedder) -> None:
    columns = "id, window_id, memory_id, model, model_version, dimensions, vector, live, created_at"
    with cursor.copy(f"COPY memory_embedding ({columns}) FROM STDIN (FORMAT BINARY)") as copy:
        copy.set_types(["int8", "int8", "uuid", "varchar", "varchar", "int2", "vector", "bool", "timestamptz"])
        for row in rows:
            stamp = (embedder.name, embedder.version, len(row.vector))
            copy.write_row((row.number, row.number, row.id, *stamp, Vector(row.vector), True, row.at))


def _add_entities(cursor: Any, scope: int) -> None:
    """Names in the large scope, each on its share of the memories; and what use has made of a few memories."""
    cursor.execute(
        "INSERT INTO memories_entity (scope_id, name, canonical, type) "
        "SELECT %s, initcap(word), word, 'person' FROM unnest(%s::text[]) AS word",
        [scope, list(texts.vocabulary()[1000 : 1000 + NAMES])],
    )
    cursor.execute(
        "INSERT INTO memories_memoryentity (memory_id, entity_id) "
        "SELECT m.id, e.id FROM memories m JOIN memories_entity e "
        "ON e.scope_id = m.scope_id AND e.canonical = lower(split_part(m.content, ' ', 1)) "
        "WHERE hashtext(m.id::text) %% 100 < %s",
        [SHARE_WITH_ENTITY * 100],
    )
    cursor.execute(
        "INSERT INTO memory_reinforcement (memory_id, multiplier, useful, misled, promoted, computed_at) "
        "SELECT id, 1.1, 1, 0, false, now() FROM memories WHERE hashtext(id::text) %% 100 < %s",
        [SHARE_REINFORCED * 100],
    )
