"""Background work on memories: ids in, one call, return. Safe to run twice and to lose."""

from typing import Final

from celery import shared_task

from memories import embedding_queue
from memories.models import Memory

ONE_BELL_SECONDS: Final = 5.0  # other tasks wait meanwhile


def ring_for(memory: Memory) -> None:
    """Wake a worker after the commit. Not retried: a sweep comes by within a minute, and a person waits."""
    embed_memory.apply_async_on_commit((str(memory.pk),), retry=False)


@shared_task
def embed_memory(memory_id: str) -> None:
    """This one first, because somebody may be about to look for it; then what else waits, because the bells of a
    thousand memories would otherwise be answered one memory at a time."""
    if embedding_queue.embed_one(memory_id):
        embedding_queue.embed_waiting(seconds=ONE_BELL_SECONDS)


@shared_task
def embed_pending() -> None:
    embedding_queue.embed_waiting()
