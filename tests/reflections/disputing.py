"""Plain functions that make disputes for tests."""

from __future__ import annotations

from typing import Any

from memories.models import Memory, Scope
from reflections.models import Dispute
from reflections.services import disputes
from tests.factories import make_memory

OLD, NEW = "The API listens on port 8080.", "The API listens on port 9090."


def make_pair(scope: Scope, type: str = "duplicate", **overrides: Any) -> Dispute:
    """A pending pair, the older one a day older; ``old`` and ``new`` are overrides of its sides."""
    old = make_memory(OLD, scope=scope, age_days=2, **overrides.pop("old", {}))
    new = make_memory(NEW, scope=scope, age_days=1, **overrides.pop("new", {}))
    return queued(old, new, type=type, **overrides)


def queued(one: Memory, another: Memory, **overrides: Any) -> Dispute:
    values = {"type": "duplicate", "scanner": "pair scan"} | overrides
    dispute = disputes.open_pair(one=one, another=another, **values)
    assert dispute is not None
    return dispute


def make_single(scope: Scope, type: str = "stale_suspect", **overrides: Any) -> Dispute:
    memory = overrides.pop("memory", None) or make_memory(OLD, scope=scope, age_days=2)
    dispute = disputes.open_single(memory=memory, type=type, scanner="stale suspects", **overrides)
    assert dispute is not None
    return dispute


def states(*memories: Memory) -> list[str]:
    return [Memory.objects.get(pk=memory.pk).state for memory in memories]
