"""Recalls and what became of them, made without asking anything."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from memories.models import Memory, RecallActivity, Scope, Surfacing, UsageEvent, User


def make_recall(
    user: User,
    given: Sequence[Memory] = (),
    *,
    scopes: Sequence[Scope] = (),
    days_ago: float = 0,
    reinforced: Sequence[bool] | None = None,
    **overrides: Any,
) -> RecallActivity:
    """A line of the log; the scopes are those of *given* unless named."""
    at: datetime = overrides.pop("at", timezone.now() - timedelta(days=days_ago))
    values = {
        "agent": "builder",
        "query": "harbour light",
        "k": 10,
        "outcome": "hits" if given else "empty",
        "took_ms": 12.5,
        "memories": [memory.pk for memory in given],
        "ages": [max((at - memory.created_at) / timedelta(days=1), 0) for memory in given],
        "reinforced": [False] * len(given) if reinforced is None else list(reinforced),
        "scopes": sorted({scope.pk for scope in scopes} or {memory.scope_id for memory in given}),
    } | overrides
    if values.get("error"):
        values["outcome"] = "error"
    return RecallActivity.objects.create(user=user, at=at, **values)


def make_surfaced(memory: Memory, *, days_ago: int = 0, times: int = 1) -> Surfacing:
    """Agents were given *memory* so often on that day, in UTC."""
    day = (timezone.now() - timedelta(days=days_ago)).date()
    return Surfacing.objects.create(memory=memory, day=day, count=times)


def make_event(memory: Memory, *, days_ago: float = 0, **overrides: Any) -> UsageEvent:
    at: datetime = overrides.pop("at", timezone.now() - timedelta(days=days_ago))
    return UsageEvent.objects.create(memory=memory, at=at, **({"source": "direct"} | overrides))
