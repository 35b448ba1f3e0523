"""What an embedder promises, whoever provides it."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from zeromemory.embedding.cache import QueryCache

type Vectors = NDArray[np.float32]


class EmbedderError(Exception):
    """Embedding did not happen; the message tells a person what to do.

    ``retryable`` is true when the same call may succeed later with nothing changed.
    """

    def __init__(self, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.retryable = retryable


class Embedder(ABC):
    """Every member except ``name`` and ``max_tokens`` may raise EmbedderError: models load on first use.

    Vectors of different ``name``, ``version`` or ``dimensions`` cannot be compared with each other.
    """

    name: str
    max_tokens: int

    def __init__(self) -> None:
        self._queries = QueryCache()

    @property
    def stamp(self) -> str:
        """Name and version, as they stand in ``Memory.embedded_with``."""
        return f"{self.name} {self.version}"

    @property
    def resting(self) -> bool:
        """True for some seconds after it kept a query waiting in vain: queries are then refused at once."""
        return False

    @property
    @abstractmethod
    def version(self) -> str: ...

    @property
    @abstractmethod
    def dimensions(self) -> int: ...

    @abstractmethod
    def encode_documents(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors in the order of the texts, shape (n, dimensions). Text beyond ``max_tokens`` is ignored."""

    def encode_query(self, text: str) -> Vectors:
        """Unit vector of shape (dimensions,). Read-only: callers share it through the cache."""
        return self._queries.get(text, self._encode_query)

    @abstractmethod
    def _encode_query(self, text: str) -> Vectors: ...


def normalised(vectors: NDArray[np.floating], source: str) -> Vectors:
    """Rows scaled to length 1. Raises EmbedderError when a row has no direction."""
    wide = np.asarray(vectors, dtype=np.float64)
    norms = np.linalg.norm(wide, axis=1, keepdims=True)
    if not np.isfinite(norms).all() or not norms.all():
        raise EmbedderError(f"{source} returned a vector that is zero or not finite. Check that the model is intact.")
    return (wide / norms).astype(np.float32)
