"""Text to unit vectors: one contract, and the provider that ``ZEROMEMORY_EMBEDDER`` names."""

from zeromemory.embedding.contract import Embedder, EmbedderError, Vectors
from zeromemory.embedding.registry import Choice, configured, embedder_of, get_embedder, reset

__all__ = ["Choice", "Embedder", "EmbedderError", "Vectors", "configured", "embedder_of", "get_embedder", "reset"]
