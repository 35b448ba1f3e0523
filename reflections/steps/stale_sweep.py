"""Dismiss disputes about memories that were retired meanwhile."""

from memories.models import Scope
from reflections.models import Dispute
from reflections.presentation import counted
from reflections.querysets import DisputeQuerySet
from reflections.services.disputes import sweep_stale
from reflections.services.progress import Progress


def work(scope: Scope, progress: Progress) -> None:
    swept = sweep_stale([scope]) if _stale(scope).exists() else 0
    progress.count(found=swept, done=swept)


def survey(scope: Scope) -> str:
    return f"would dismiss {counted(_stale(scope).count(), 'dispute')} about retired memories"


def _stale(scope: Scope) -> DisputeQuerySet:
    return Dispute.objects.unsettled().with_dead_side().filter(scope=scope)
