"""What tests of the distiller share: answers of the model, and clusters to ask about."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from memories.models import Memory
from reflections.models import Candidate
from reflections.services import find_candidates
from tests.reflections.factories import STAMP, make_episodes
from zeromemory.llm import ModelError


def distillate(**overrides: Any) -> dict[str, Any]:
    """A good answer about three episodes."""
    values: dict[str, Any] = {
        "consolidate": True,
        "content": "The cache is rebuilt after every incident. Operators do it by hand.",
        "kind": "convention",
        "confidence": 0.9,
        "rationale": "all three episodes tell of it",
        "sentences": [
            {"text": "The cache is rebuilt after every incident.", "sources": ["e1", "e3"]},
            {"text": "Operators do it by hand.", "sources": ["e2"]},
        ],
    }
    return values | overrides


def make_clusters(scope: Any, count: int, *, of: int = 3) -> list[list[Memory]]:
    """Clusters that share no entity with each other; the newest one is asked about first."""
    return [
        make_episodes(scope, of, entities=[f"topic {number}"], newest_days=1 + 20 * number) for number in range(count)
    ]


def searched(scope: Any, **wanted: Any) -> list[Candidate]:
    """The candidates of the scope after a search, which may fail with a ModelError."""
    with suppress(ModelError):
        find_candidates(scope=scope, stamp=STAMP, **wanted)
    return list(Candidate.objects.filter(scope=scope).order_by("created_at"))


def rows_of(model: Any) -> list[Mapping[str, Any]]:
    return list(model.objects.order_by("pk").values())
