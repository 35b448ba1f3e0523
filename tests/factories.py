"""Plain functions that make rows for tests. Every one takes overrides."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from django.utils import timezone

from memories.embedding_queue import stamp_of
from memories.models import Embedding, Entity, Membership, Memory, MemoryEntity, Role, Scope, Token, User, Window
from zeromemory.embedding import get_embedder

_counter = itertools.count(1)
PASSWORD = "a long test passphrase"
SECRET = "zm_test_secret_{}"
MODEL, MODEL_VERSION, DIMENSIONS = "test-model", "1", 384


def make_user(**overrides: Any) -> User:
    number = next(_counter)
    values = {"username": f"person{number}", "email": f"person{number}@example.org"} | overrides
    return User.objects.create_user(password=PASSWORD, **values)


def make_scope(owner: User | None = None, **overrides: Any) -> Scope:
    number = next(_counter)
    values = {"slug": f"scope-{number}", "name": f"Scope {number}"} | overrides
    return Scope.objects.create(owner=owner or make_user(), **values)


def make_member(scope: Scope, role: str = Role.READER, user: User | None = None) -> User:
    user = user or make_user()
    Membership.objects.create(scope=scope, user=user, role=role)
    return user


def make_token(user: User, scopes: Iterable[Scope], **overrides: Any) -> tuple[Token, str]:
    """The token's row and its secret."""
    secret = SECRET.format(next(_counter))
    values = {
        "name": "test token",
        "secret_sha256": hashlib.sha256(secret.encode()).hexdigest(),
        "hint": secret[:8],
    } | overrides
    token = Token.objects.create(user=user, **values)
    token.scopes.set(scopes)
    return token, secret


def make_memory(
    content: str | None = None,
    *,
    scope: Scope | None = None,
    age_days: float = 0,
    entities: Sequence[str] = (),
    vector: Sequence[float] | np.ndarray | None = None,
    **overrides: Any,
) -> Memory:
    """A memory with one window, found by words; with *vector*, also by meaning."""
    content = content if content is not None else f"Memory number {next(_counter)}."
    scope = scope or make_scope()
    created: datetime = overrides.pop("created_at", timezone.now() - timedelta(days=age_days))
    values = {
        "kind": "fact",
        "content_sha256": hashlib.sha256(content.encode()).hexdigest(),
        "created_at": created,
        "updated_at": created,
        "accessed_at": created,
        "embedded_at": created if vector is not None else None,
        "embedded_with": stamp_of(MODEL, MODEL_VERSION) if vector is not None else _stamp_in_use(overrides),
    } | overrides
    memory = Memory.objects.create(scope=scope, content=content, **values)
    window = Window.objects.create(memory=memory, position=0, start=0, stop=len(content), text=content)
    for name in entities:
        add_entity(memory, name)
    if vector is not None:
        Embedding.objects.create(
            window=window,
            memory=memory,
            model=MODEL,
            model_version=MODEL_VERSION,
            dimensions=len(vector),
            vector=np.asarray(vector, dtype=np.float32),
        )
    return memory


def _stamp_in_use(overrides: dict[str, Any]) -> str:
    """Of a memory that only says it is embedded: by whatever embedder is in use."""
    embedder = get_embedder()
    return stamp_of(embedder.name, embedder.version) if embedder and overrides.get("embedded_at") else ""


def add_entity(memory: Memory, name: str, type: str = "thing") -> Entity:
    entity, _ = Entity.objects.get_or_create(
        scope=memory.scope, canonical=name.casefold(), type=type, defaults={"name": name}
    )
    MemoryEntity.objects.get_or_create(memory=memory, entity=entity)
    return entity


def unit(*values: float, dimensions: int = DIMENSIONS) -> np.ndarray:
    """A unit vector whose first coordinates are in proportion to *values*."""
    vector = np.zeros(dimensions, dtype=np.float64)
    vector[: len(values)] = values
    return vector / np.linalg.norm(vector)


def at_cosine(cosine: float, axis: int = 1, dimensions: int = DIMENSIONS) -> np.ndarray:
    """A unit vector at exactly *cosine* from the first axis, leaning towards *axis*."""
    vector = np.zeros(dimensions, dtype=np.float64)
    vector[0], vector[axis] = cosine, np.sqrt(1 - cosine**2)
    return vector
