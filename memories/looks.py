"""When facts about the world were last looked at. Of everything outside the fast layer nothing is read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db.models import Exists, F, Max, OuterRef, Q, Subquery
from django.db.models.functions import Coalesce, Greatest

from memories.freshness import FAST_KINDS, Budgets, Look, look_of
from memories.models import FreshnessConfig, Memory, Verification
from memories.models.scopes import CORE
from memories.querysets import STATES

FAST: Final = Q(scope__slug=CORE, kind__in=FAST_KINDS)


@dataclass(frozen=True, slots=True)
class Looked:
    """A world fact with its newest check; None where it was never checked."""

    memory: Memory
    look: Look
    check: Verification | None


def config() -> FreshnessConfig:
    return FreshnessConfig.current()


def budgets(row: FreshnessConfig | None = None) -> Budgets:
    row = row or config()
    return Budgets(fact=row.fact_days, reference=row.reference_days)


def is_fast(memory: Memory) -> bool:
    return memory.scope.is_core and memory.kind in FAST_KINDS


def looks(memories: Iterable[Memory], now: datetime) -> dict[UUID, Look]:
    """Of those of the fast layer, as it was *now*. No query where there is none; else two, whatever their number."""
    fast = [memory for memory in memories if is_fast(memory)]
    if not fast:
        return {}
    within, checked = budgets(), _newest_dates([memory.pk for memory in fast], now)
    found = {memory.pk: _look(memory, checked.get(memory.pk), now, within) for memory in fast}
    return {pk: look for pk, look in found.items() if look}


def stale_days(memories: Iterable[Memory], now: datetime) -> dict[UUID, int | None]:
    return {pk: look.stale_days for pk, look in looks(memories, now).items()}


def _newest_dates(ids: Sequence[UUID], now: datetime) -> dict[UUID, datetime]:
    checks = Verification.objects.standing().filter(memory__in=ids, at__lte=now)
    return dict(checks.order_by().values_list("memory").annotate(newest=Max("at")))


def _look(memory: Memory, checked_at: datetime | None, now: datetime, within: Budgets) -> Look | None:
    return look_of(
        memory.kind,
        is_core=memory.scope.is_core,
        created_at=memory.created_at,
        checked_at=checked_at,
        now=now,
        budgets=within,
    )


def is_stale(within: Budgets, now: datetime) -> Q:
    """Live, and past its budget: the same as ``Look.stale_days``, for the database."""
    past = Q()
    for kind in FAST_KINDS:
        day = now - timedelta(days=(within.of(kind, is_core=True) or 0) + 1)
        since = Verification.objects.standing().filter(memory=OuterRef("pk"), at__gt=day, at__lte=now)
        past |= Q(kind=kind, created_at__lte=day) & ~Q(Exists(since))
    return STATES["live"] & Q(scope__slug=CORE) & past


def last_look() -> Greatest:
    """The newest check, or the creation of what was never checked."""
    newest = Verification.objects.standing().filter(memory=OuterRef("pk")).order_by("-at").values("at")[:1]
    return Greatest(Coalesce(Subquery(newest), F("created_at")), F("created_at"))


def ledger(memory: Memory) -> list[Verification]:
    """The looks that stand, newest first; the audit trail has those that were taken back."""
    return list(memory.verifications.standing().select_related("user").order_by("-at", "-pk"))


def looked_at(memories: Sequence[Memory], now: datetime) -> list[Looked]:
    """Each of the fast layer with its newest check, in the order given; in two queries. Load them with their scope."""
    ids = [memory.pk for memory in memories]
    standing = Verification.objects.standing().filter(memory__in=ids)
    newest = standing.order_by("memory", "-at", "-pk").distinct("memory")
    checks, within = {check.memory_id: check for check in newest}, budgets()
    found = []
    for memory in memories:
        check = checks.get(memory.pk)
        if look := _look(memory, check.at if check else None, now, within):
            found.append(Looked(memory, look, check))
    return found
