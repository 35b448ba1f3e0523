import os
from collections.abc import Callable

import numpy as np
import pytest

from memories.access import Actor, actor_for_user
from memories.models import Embedding, Memory, Scope, User, Window
from memories.models.memory import content_hash
from tests.factories import make_scope, make_user
from zeromemory.embedding import get_embedder

ROWS = int(os.environ.get("ZEROMEMORY_BENCH_ROWS", "10000"))
WORDS = [
    "harbour",
    "light",
    "tide",
    "buoy",
    "anchor",
    "ferry",
    "quay",
    "chart",
    "sail",
    "wind",
    "storm",
    "dock",
    "rope",
    "fog",
    "bell",
    "pilot",
    "crane",
    "mole",
    "lock",
]


@pytest.fixture
def corpus(db: None) -> Actor:
    """ROWS live memories of random words, each with a random unit vector of the default embedder's stamp."""
    owner: User = make_user()
    scope: Scope = make_scope(owner)
    pick = np.random.default_rng(7)
    embedder = get_embedder()
    assert embedder is not None
    for start in range(0, ROWS, 2000):
        size = min(2000, ROWS - start)
        texts = [f"{' '.join(pick.choice(WORDS, 12))} number{start + place}" for place in range(size)]
        memories = Memory.objects.bulk_create(
            Memory(scope=scope, content=text, content_sha256=content_hash(text)) for text in texts
        )
        windows = Window.objects.bulk_create(
            Window(memory=memory, position=0, start=0, stop=len(memory.content), text=memory.content)
            for memory in memories
        )
        vectors = pick.normal(size=(size, embedder.dimensions)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        Embedding.objects.bulk_create(
            Embedding(
                window=window, memory=memory, model=embedder.name, model_version=embedder.version,
                dimensions=embedder.dimensions, vector=vector,
            )
            for window, memory, vector in zip(windows, memories, vectors, strict=True)
        )  # fmt: skip
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("ANALYZE memories, memory_window, memory_embedding")
    return actor_for_user(owner)


@pytest.fixture
def queries() -> Callable[[], str]:
    """A new query each time, so that no cache of query vectors answers."""
    pick, numbers = np.random.default_rng(11), iter(range(10**9))
    return lambda: f"{' '.join(pick.choice(WORDS, 3))} {next(numbers)}"
