"""Embed what the embedder in use has not embedded yet, such as after a change of model."""

import time
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from memories import embedding_queue
from memories.models import Memory
from memories.querysets import MemoryQuerySet
from zeromemory.embedding import Embedder, EmbedderError, get_embedder

PASS_SECONDS = 5.0
PATIENCE_SECONDS = 60.0
PAUSE_SECONDS = 1.0
FRUITLESS_PASSES = 3


class Command(BaseCommand):
    help = (
        "Embed all memories that the embedder in use has not embedded yet, such as after a change of model. "
        "Vectors of other models are kept. Stop it at any time; it goes on from there."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            embedder = _embedder()
            stamp = embedding_queue.stamp_of(embedder.name, embedder.version)
            before = _waiting().count()
            self.stdout.write(f"{before:,} memories to embed with {stamp}.")
            self._embed(before)
        except EmbedderError as error:
            raise CommandError(str(error)) from error
        _refuse_unless_done(stamp)
        self.stdout.write(f"Done: all {_in_use().count():,} memories are embedded with {stamp}.")

    def _embed(self, before: int) -> None:
        # What failed before is tried again at once: whoever runs this has mended something.
        _waiting().exclude(embedding_error="").update(embedding_claimed_at=None, embedding_error="")
        left, moved_at, fruitless = before, time.monotonic(), 0
        while left and fruitless < FRUITLESS_PASSES and time.monotonic() < moved_at + PATIENCE_SECONDS:
            taken, still = embedding_queue.embed_waiting(seconds=PASS_SECONDS), _waiting().count()
            if still < left:
                left, moved_at, fruitless = still, time.monotonic(), 0
                self.stdout.write(f"{before - left:,} of {before:,} embedded.")
            elif taken:
                fruitless += 1
            elif not _waiting().filter(embedding_error="").exists():
                return
            else:
                time.sleep(PAUSE_SECONDS)  # a worker has taken up the rest


def _embedder() -> Embedder:
    embedder = get_embedder()
    if embedder is None:
        raise CommandError("No embedder is configured: set ZEROMEMORY_EMBEDDER first.")
    return embedder


def _in_use() -> MemoryQuerySet:
    return Memory.objects.filter(invalidated_at__isnull=True)


def _waiting() -> MemoryQuerySet:
    return embedding_queue.waiting(Memory.objects.all())


def _refuse_unless_done(stamp: str) -> None:
    total, done = _in_use().count(), _in_use().filter(embedded_with=stamp).count()
    if done == total:
        return
    reasons = _waiting().exclude(embedding_error="").values_list("embedding_error", flat=True)
    why = reasons.first() or "A worker has taken them up and has not finished."
    raise CommandError(f"Not done: {done:,} of {total:,} memories are embedded with {stamp}. {why}")
