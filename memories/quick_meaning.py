"""The vector of a text for an answer that somebody waits for: soon, or not at all."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Final

from memories.candidates import Meaning
from memories.embedder_in_use import query_embedder
from zeromemory.embedding import Embedder, EmbedderError

SECONDS: Final = 0.5
# One after another: many at once would only be slower each. What comes too late is kept by the embedder's cache.
_encoder: Final = ThreadPoolExecutor(1, "meaning")


def meaning_of(text: str, seconds: float | None = None) -> Meaning | None:
    """None where no embedder is configured. Raises EmbedderError, with a sentence for a notice, when it fails or does
    not answer within SECONDS."""
    embedder = query_embedder()
    if embedder is None:
        return None
    coming = _encoder.submit(_encoded, embedder, text)
    try:
        return coming.result(timeout=SECONDS if seconds is None else seconds)
    except TimeoutError as error:
        coming.cancel()
        raise EmbedderError("the embedder takes too long at the moment.", retryable=True) from error


def _encoded(embedder: Embedder, text: str) -> Meaning:
    return Meaning(embedder.encode_query(text), embedder.name, embedder.version)
