"""Text to unit vectors: one contract, and the provider that ``ZEROMEMORY_EMBEDDER`` names."""

from zeromemory.embedding.contract import Embedder, EmbedderError, Vectors
from zeromemory.embedding.registry import get_embedder, reset
from zeromemory.embedding.windows import Window

__all__ = ["Embedder", "EmbedderError", "Vectors", "Window", "get_embedder", "reset"]
