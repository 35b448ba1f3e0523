"""How the recall tests search: with a pinned query vector, so that cosines are what the test says they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from memories.candidates import Filters, Found, Meaning, Search, candidates
from memories.models import Memory, Scope
from memories.recall import Result, find
from memories.words import words_of
from tests.factories import MODEL, MODEL_VERSION, at_cosine, make_memory, unit

QUERY = "alpha beta"


def meaning(vector: np.ndarray | None = None) -> Meaning:
    return Meaning(unit(1) if vector is None else vector, MODEL, MODEL_VERSION)


def find_in(scope: Scope, query: str = QUERY, *, vector: np.ndarray | None = None, k: int = 10, **more: Any):
    ignore = more.pop("ignore", frozenset())
    filters = Filters(scopes={scope.pk}, **more)
    return find(query=query, meaning=meaning(vector), filters=filters, k=k, ignore=ignore)


def by_words(scope: Scope, query: str, **more: Any) -> list[Result]:
    return find(query=query, meaning=None, filters=Filters(scopes={scope.pk}), **more)


def legs(scope: Scope, query: str = QUERY, **more: Any) -> list[Found]:
    """The candidates themselves, before ranking. *more* are fields of Search and of Filters."""
    filters = {name: more.pop(name) for name in list(more) if name in Filters.__dataclass_fields__}
    return candidates(Search(Filters(scopes={scope.pk}, **filters), words_of(query), meaning(), **more)).found


def ids(results: list[Result]) -> list:
    return [result.memory.pk for result in results]


def first_by_meaning(scope: Scope, content: str = "alpha in the first place by meaning", **overrides: Any) -> Memory:
    return make_memory(content, scope=scope, vector=at_cosine(0.9), **overrides)


def first_by_words(scope: Scope, content: str = "alpha beta", **overrides: Any) -> Memory:
    return make_memory(content, scope=scope, vector=at_cosine(0.8), **overrides)


def equally_relevant(scope: Scope, first: dict[str, Any], second: dict[str, Any]) -> tuple[Memory, Memory]:
    """Two memories that match the query alike, so that their relevance is the same; of one text there is one result."""
    return first_by_words(scope, "alpha beta one", **first), first_by_words(scope, "alpha beta two", **second)
