"""Decaying scopes with memories in them, and their cycles."""

from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from memories.models import Memory, RetentionCycle, RetentionPolicy, Scope, User
from memories.services.retention import Cycled, run_cycle
from tests.factories import make_memory, make_scope


def make_decaying(*, fill: int = 0, owner: User | None = None, **policy: Any) -> Scope:
    """A decaying scope, with *fill* memories that were used just now."""
    scope = make_scope(owner, retention="decaying")
    if policy:
        RetentionPolicy.objects.create(scope=scope, **policy)
    for _ in range(fill):
        make_memory(scope=scope)
    return scope


def unused_for(days: float, *, scope: Scope, **overrides: Any) -> Memory:
    """A memory that was written and last recalled *days* ago."""
    return make_memory(scope=scope, age_days=days, **overrides)


def cycle(scope: Scope, *, now: datetime | None = None, **told: Any) -> Cycled:
    return run_cycle(scope=scope, trigger=RetentionCycle.Trigger.COMMAND, now=now, **told)


def weight_of(memory: Memory) -> float:
    memory.refresh_from_db()
    return memory.weight


def in_days(days: float) -> datetime:
    return timezone.now() + timedelta(days=days)
