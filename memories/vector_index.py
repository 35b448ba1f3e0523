"""The index of the vector leg, one for each dimension in use. The migrations make that of the default embedder."""

from collections.abc import Sequence
from functools import cache
from typing import Final

from django.db import connection

MOST_DIMENSIONS: Final = 4000  # what HNSW takes of half-precision vectors; larger ones are compared one by one
_TURN: Final = "hashtextextended('vector_index', 0)"


@cache
def ensure_index(dimensions: int) -> None:
    """Make the index for vectors of *dimensions* unless it is there. Quick: it is called before the first of them."""
    if not 0 < dimensions <= MOST_DIMENSIONS or _is_there(dimensions):
        return
    if connection.in_atomic_block:
        _execute("SET CONSTRAINTS ALL IMMEDIATE")  # rows of this transaction still to be checked would forbid it
        _execute(_creation(dimensions, ""))
        _execute("SET CONSTRAINTS ALL DEFERRED")
    else:
        _create_beside_writers(dimensions)


def _create_beside_writers(dimensions: int) -> None:
    """Concurrently, because a plain one waits for all writers and lets none pass: some of them would deadlock.

    A worker that comes meanwhile does not wait either: the vectors it stores are taken up by the one that builds.
    """
    if not _execute(f"SELECT pg_try_advisory_lock({_TURN})"):
        return
    try:
        if not _is_there(dimensions):
            _execute(f"DROP INDEX CONCURRENTLY IF EXISTS {_name(dimensions)}")  # left half made by one that was killed
            _execute(_creation(dimensions, "CONCURRENTLY"))
    finally:
        _execute(f"SELECT pg_advisory_unlock({_TURN})")


def _is_there(dimensions: int) -> bool:
    return _execute("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)", [_name(dimensions)])


def _name(dimensions: int) -> str:
    return f"embedding_live_hnsw_{int(dimensions)}"


def _creation(dimensions: int, concurrently: str) -> str:
    return (
        f"CREATE INDEX {concurrently} {_name(dimensions)} ON memory_embedding USING hnsw "
        f"((vector::halfvec({int(dimensions)})) halfvec_cosine_ops) WHERE live AND dimensions = {int(dimensions)}"
    )


def _execute(statement: str, wanted: Sequence[str] | None = None) -> bool:
    """The truth of the first column, where there is one."""
    with connection.cursor() as cursor:
        cursor.execute(statement, wanted)
        row = cursor.fetchone() if cursor.description else None
        return bool(row and row[0])
