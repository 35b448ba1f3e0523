"""The index of the vector leg, one for each dimension in use. The migrations make that of the default embedder."""

from functools import cache
from typing import Final

from django.db import connection, transaction

MOST_DIMENSIONS: Final = 4000  # what HNSW takes of half-precision vectors; larger ones are compared one by one


@cache
def ensure_index(dimensions: int) -> None:
    """Make the index for vectors of *dimensions* unless it is there. Quick: it is called before the first of them."""
    if not 0 < dimensions <= MOST_DIMENSIONS:
        return
    name = f"embedding_live_hnsw_{int(dimensions)}"
    with transaction.atomic(), connection.cursor() as cursor:
        # One worker after the other: two that come at once would both find it missing.
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended('vector_index', 0))")
        cursor.execute("SELECT to_regclass(%s) IS NOT NULL", [name])
        if cursor.fetchone()[0]:
            return
        cursor.execute(
            f"CREATE INDEX {name} ON memory_embedding USING hnsw "
            f"((vector::halfvec({int(dimensions)})) halfvec_cosine_ops) WHERE live AND dimensions = {int(dimensions)}"
        )
