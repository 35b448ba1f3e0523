"""What the database and the embedder take by themselves: no product can be quicker than this."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from pgvector import HalfVector
from pgvector.psycopg import register_vector

from zeromemory.embedding import Embedder

K: Final = 10
RAREST: Final = 3
EF_SEARCH: Final = 200  # as in memories/sql/recall.sql, so that floor and product find equally much
NEAREST: Final = (
    "SELECT memory_id, vector::halfvec(384) <=> %(vector)s AS distance FROM memory_embedding "
    "WHERE live AND dimensions = 384 ORDER BY vector::halfvec(384) <=> %(vector)s LIMIT %(k)s"
)
MATCHING: Final = (
    "SELECT memory_id, ts_rank(document, %(words)s::tsquery, 1) AS density FROM memory_window "
    "WHERE live AND document @@ %(words)s::tsquery ORDER BY density DESC LIMIT %(k)s"
)
SLACK: Final = 0.01
LEXEMES: Final = "SELECT tsvector_to_array(to_tsvector('english', %s))"
FREQUENCIES: Final = "SELECT word, ndoc FROM ts_stat('SELECT document FROM memory_window WHERE live')"


class Floor:
    """Two prepared statements on a connection of psycopg's own, without Django."""

    def __init__(self, connection: Any, embedder: Embedder) -> None:
        register_vector(connection)
        self._connection = connection
        self._embedder = embedder
        connection.execute(f"SET hnsw.ef_search = {EF_SEARCH}")
        self._frequencies: Mapping[str, int] = dict(connection.execute(FREQUENCIES).fetchall())

    def words(self, query: str) -> str:
        """The three lexemes of *query* that the fewest memories hold, joined by "or". Worked out outside the clock."""
        lexemes: Sequence[str] = self._connection.execute(LEXEMES, [query]).fetchone()[0]
        known = sorted((word for word in lexemes if word in self._frequencies), key=self._frequencies.__getitem__)
        return " | ".join(f"'{word.replace(chr(39), chr(39) * 2)}'" for word in known[:RAREST])

    def embed(self, query: str) -> np.ndarray:
        return self._embedder.encode_query(query)

    def nearest(self, vector: np.ndarray) -> list[Any]:
        return list(self._ask(NEAREST, {"vector": HalfVector(vector), "k": K}))

    def matching(self, words: str) -> list[Any]:
        return list(self._ask(MATCHING, {"words": words, "k": K}))

    def as_near_as_exact(self, vectors: Sequence[np.ndarray]) -> float:
        """The share of the ten found that are no further away than the true tenth, or by at most SLACK of its distance.

        By distance, not by name: of dozens that vary one text many are as good as the true tenth.
        """
        return sum(self._share(vector) for vector in vectors) / len(vectors)

    def _share(self, vector: np.ndarray) -> float:
        found = self.nearest(vector)
        with self._connection.transaction():
            self._connection.execute("SET LOCAL enable_indexscan = off")
            furthest = self.nearest(vector)[-1][1]
        return sum(distance <= furthest * (1 + SLACK) for _, distance in found) / K

    def _ask(self, statement: str, wanted: dict[str, Any]) -> list[Any]:
        return list(self._connection.execute(statement, wanted, prepare=True).fetchall())
