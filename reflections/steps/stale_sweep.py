"""Dismiss disputes about memories that were retired meanwhile."""

from memories.models import Scope
from reflections.models import Dispute
from reflections.presentation import counted
from reflections.services.disputes import sweep_stale
from reflections.services.progress import Progress


def work(scope: Scope, progress: Progress) -> None:
    swept = sweep_stale([scope])
    progress.count(found=swept, done=swept)


def survey(scope: Scope) -> str:
    stale = Dispute.objects.unsettled().with_dead_side().filter(scope=scope).count()
    return f"would dismiss {counted(stale, 'dispute')} about retired memories"
