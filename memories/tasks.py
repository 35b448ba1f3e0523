"""Background work on memories: ids in, one call, return. Safe to run twice and to lose."""

from celery import shared_task

from memories import embedding_queue
from memories.models import Memory


def ring_for(memory: Memory) -> None:
    """Wake a worker after the commit. Not retried: a sweep comes by within a minute, and a person waits."""
    embed_memory.apply_async_on_commit((str(memory.pk),), retry=False)


@shared_task
def embed_memory(memory_id: str) -> None:
    embedding_queue.embed_one(memory_id)


@shared_task
def embed_pending() -> None:
    embedding_queue.embed_waiting()
