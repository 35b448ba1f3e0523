"""Background work on memories: ids in, one call, return. Safe to run twice and to lose."""

from datetime import datetime
from functools import partial
from typing import Any, Final
from uuid import UUID

from celery import shared_task
from django.db import transaction
from django.utils import timezone

from memories import embedding_queue
from memories.models import Memory
from memories.services.accesses import forget_old_activity
from memories.services.usage_months import keep_usage_months

ONE_BELL_SECONDS: Final = 5.0  # other tasks wait meanwhile
A_TURN_SECONDS: Final = 15.0
EXPIRES_SECONDS: Final = 60  # by then the clock has rung as well


def ring_for(memory: Memory) -> None:
    """Wake a worker after the commit."""
    transaction.on_commit(partial(_ring, memory.pk, memory.recorded_at), robust=True)


def _ring(memory_id: UUID, written_at: datetime) -> None:
    """Not when a bell is still to be answered: whoever answers it looks for what else waits, and a thousand bells would
    only keep later ones waiting. Not retried: a sweep comes by within a minute, and a person waits."""
    if not embedding_queue.is_worker_called(memory_id, written_at):
        embed_memory.apply_async((str(memory_id),), retry=False)


@shared_task
def embed_memory(memory_id: str) -> None:
    """This one first, because somebody may be about to look for it; then what else waits."""
    if embedding_queue.embed_one(memory_id):
        _go_on(embedding_queue.embed_for(ONE_BELL_SECONDS))


@shared_task
def embed_pending() -> None:
    """One at a time: with several, a large import would keep all the worker's threads from everything else."""
    with embedding_queue.only_sweep() as is_mine:
        has_more = is_mine and embedding_queue.embed_for(A_TURN_SECONDS)
    _go_on(has_more)


def _go_on(has_more: bool) -> None:
    """Behind the tasks that wait by now, not in front of them."""
    if has_more:
        embed_pending.apply_async(retry=False, expires=EXPIRES_SECONDS)


@shared_task
def forget_activity() -> None:
    forget_old_activity()


@shared_task
def compare_with_archive(scopes: list[int], archives: list[int], **asked: Any) -> None:
    # A recall rings for this, so what recalls knows this module.
    from memories.services import regrets

    regrets.compare(scopes=scopes, archives=archives, **asked)


@shared_task
def make_months() -> None:
    """Whether or not anybody runs the hygiene cycle, whose roll-up does so too."""
    keep_usage_months(now=timezone.now())


@shared_task
def work_on_import(import_id: str) -> None:
    # An import rings for vectors, so its module knows this one.
    from memories.transfer import background

    background.work_on(import_id)


@shared_task
def sweep_imports() -> None:
    from memories.services import transfers

    transfers.sweep()
