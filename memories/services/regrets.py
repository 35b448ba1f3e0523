"""Counts of what the archive would have given. Like accesses they are measured, not done, and leave no audit entry."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import connection
from django.utils import timezone

from memories.models import Memory, Scope
from memories.regrets import missed
from memories.services.writing import writing
from memories.sql import load

LONGEST: Final = "10s"  # a comparison that takes longer is given up and counted as none


def compare(*, archives: Collection[int], now: datetime | None = None, **asked: Any) -> Mapping[UUID, int]:
    """Compare one recall with the *archives* of some scopes, and count it; what it missed, by scope.

    *asked* as in ``regrets.missed``. Archives of scopes that no longer decay, or were removed meanwhile, are passed
    over.
    """
    there = Scope.objects.filter(pk__in=archives, retention=Scope.Retention.DECAYING)
    compared = sorted(there.values_list("pk", flat=True))
    if not compared:
        return {}
    with writing():
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config('statement_timeout', %s, true)", [LONGEST])
        found = missed(archives=compared, **asked)
        _count(compared, found, now or timezone.now())
    return found


def _count(scopes: Collection[int], found: Mapping[UUID, int], now: datetime) -> None:
    with_archive = set(
        Memory.objects.in_scopes(scopes).filter(archived_at__isnull=False).values_list("scope_id", flat=True).distinct()
    )
    compared = sorted(with_archive | set(found.values()))
    told: dict[str, Any] = {
        "scopes": compared,
        "regretted": [int(scope in found.values()) for scope in compared],
        "memories": sorted(found),
        "day": now.date(),
        "now": now,
    }
    with connection.cursor() as cursor:
        cursor.execute(load("note_regret"), told)
