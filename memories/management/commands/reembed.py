"""Embed what the embedder in use has not embedded yet, and steer a change from one embedder to another."""

import time
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from memories import embedding_queue
from memories.embedder_in_use import newest_change
from memories.embedder_progress import progress_of
from memories.errors import Conflict, NotFound
from memories.models import EmbedderChange, Memory
from memories.querysets import MemoryQuerySet
from memories.services import reembedding
from zeromemory.embedding import Embedder, EmbedderError, get_embedder
from zeromemory.lib.counting import counted

PASS_SECONDS = 5.0
PATIENCE_SECONDS = 60.0
PAUSE_SECONDS = 1.0
FRUITLESS_PASSES = 3


class Command(BaseCommand):
    help = (
        "Embed all memories that the configured embedder has not embedded yet, such as after a change of embedder, and "
        "show how far it is. Until all are done the former embedder answers searches. Stop it at any time; it goes on "
        "from there. Vectors of former embedders are kept."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        acts = parser.add_mutually_exclusive_group()
        acts.add_argument("--status", action="store_true", help="Say how far the change is, and do nothing.")
        acts.add_argument("--pause", action="store_true", help="Stop making new vectors; those made are kept.")
        acts.add_argument("--resume", action="store_true", help="Go on after a pause or a rollback.")
        acts.add_argument("--rollback", action="store_true", help="Let the former embedder answer again, at once.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            self._act(options)
        except (EmbedderError, Conflict, NotFound) as error:
            raise CommandError(str(error)) from error

    def _act(self, options: dict[str, Any]) -> None:
        stamp = _embedder().stamp
        reembedding.keep_up()
        if options["pause"]:
            reembedding.pause()
        if options["rollback"]:
            reembedding.roll_back()
        if options["resume"]:
            reembedding.resume()
        if options["status"] or options["pause"] or options["rollback"]:
            return self._tell()
        return self._embed_all(stamp)

    def _tell(self) -> None:
        change = newest_change()
        if change is None or not change.former_stamp:
            self.stdout.write(f"No change of embedder. In use: {change.stamp if change else 'none yet'}.")
            return
        self.stdout.write(f"{change.get_state_display()}: from {change.former_stamp} to {change.stamp}.")
        self.stdout.write(f"Searches use {change.answering_stamp}.")
        progress = progress_of(change)
        self.stdout.write(f"{progress.done:,} of {progress.total:,} memories have the new vectors, {progress.share}.")

    def _embed_all(self, stamp: str) -> None:
        _refuse_closed()
        before = _waiting(stamp).count()
        self.stdout.write(f"{counted(before, 'memory', 'memories')} to embed with {stamp}.")
        self._embed(before, stamp)
        _refuse_unless_done(stamp)
        reembedding.finish_if_complete()
        self.stdout.write(f"Done: all {counted(_in_use().count(), 'memory', 'memories')} are embedded with {stamp}.")

    def _embed(self, before: int, stamp: str) -> None:
        # What failed before is tried again at once: whoever runs this has mended something.
        embedding_queue.try_again(_waiting(stamp))
        left, moved_at, fruitless = before, time.monotonic(), 0
        while left and fruitless < FRUITLESS_PASSES and time.monotonic() < moved_at + PATIENCE_SECONDS:
            taken, still = embedding_queue.embed_waiting(seconds=PASS_SECONDS), _waiting(stamp).count()
            if still < left:
                left, moved_at, fruitless = still, time.monotonic(), 0
                self.stdout.write(f"{before - left:,} of {before:,} embedded.")
            elif taken:
                fruitless += 1
            elif not _waiting(stamp).filter(embedding_error="").exists():
                return
            else:
                time.sleep(PAUSE_SECONDS)  # a worker has taken up the rest


def _embedder() -> Embedder:
    embedder = get_embedder()
    if embedder is None:
        raise CommandError("No embedder is configured: set ZEROMEMORY_EMBEDDER first.")
    return embedder


def _refuse_closed() -> None:
    change = newest_change()
    stopped = {EmbedderChange.State.PAUSED.value: "paused", EmbedderChange.State.ROLLED_BACK.value: "rolled back"}
    if change and change.stamp == _embedder().stamp and change.state in stopped:
        raise CommandError(f"The change to {change.stamp} is {stopped[change.state]}. Go on with: reembed --resume.")


def _in_use() -> MemoryQuerySet:
    return Memory.objects.filter(invalidated_at__isnull=True)


def _waiting(stamp: str) -> MemoryQuerySet:
    return _in_use().filter(embedding_queue.not_embedded_with(stamp))


def _refuse_unless_done(stamp: str) -> None:
    total, done = _in_use().count(), _in_use().filter(embedded_with=stamp).count()
    if done == total:
        return
    reasons = _waiting(stamp).exclude(embedding_error="").values_list("embedding_error", flat=True)
    why = reasons.first() or "A worker has taken them up and has not finished."
    raise CommandError(f"Not done: {done:,} of {total:,} memories are embedded with {stamp}. {why}")
