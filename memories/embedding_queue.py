"""The vectors of memories that still wait for them: live rows not yet embedded by the embedder in use.

Vectors of another model are kept, so that going back to it costs no work.
"""

import logging
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Final
from uuid import UUID

from django.db import IntegrityError, connection, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from memories.models import Embedding, Memory, Window
from memories.querysets import MemoryQuerySet
from memories.sql import load
from memories.vector_index import ensure_index
from memories.windows import write_windows
from zeromemory.embedding import Embedder, EmbedderError, Vectors, get_embedder

logger = logging.getLogger(__name__)

# A worker that died loses its claim by itself; a memory that failed alone is tried again no sooner than this.
CLAIM_MINUTES: Final = 10
MEMORIES_A_CLAIM: Final = 32
WINDOWS_A_BATCH: Final = 32
# A text of thousands of windows is done in slices: other memories and other tasks must not wait for the whole of it.
BATCHES_A_SLICE: Final = 8
SWEEP_MEMORIES: Final = 2000
SWEEP_SECONDS: Final = 50.0
FAILURES_IN_A_ROW: Final = 3


def stamp_of(model: str, model_version: str) -> str:
    return f"{model} {model_version}"


def not_embedded_with(stamp: str) -> Q:
    # Not "<>": an index serves only the two halves.
    return Q(embedded_with__lt=stamp) | Q(embedded_with__gt=stamp)


def without_vectors() -> Q:
    """Rows without vectors of the embedder in use; without any vectors where none is in use or it cannot be told."""
    try:
        stamp = _stamp(get_embedder())
    except EmbedderError:
        stamp = ""
    return not_embedded_with(stamp) if stamp else Q(embedded_at__isnull=True)


def waiting(rows: MemoryQuerySet) -> MemoryQuerySet:
    """Of *rows*, the live ones that are found by their words only until they are embedded."""
    return rows.filter(without_vectors(), invalidated_at__isnull=True)


def _stamp(embedder: Embedder | None) -> str:
    return stamp_of(embedder.name, embedder.version) if embedder else ""


def embed_one(memory_id: UUID | str) -> bool:
    """Embed one waiting memory. False when there is nothing to do, another worker is at it, or it failed for now."""
    if get_embedder() is None:
        return False
    claimed = _claim(most=1, only=UUID(str(memory_id)))
    return bool(claimed) and _embed(claimed)


def embed_waiting(*, seconds: float = SWEEP_SECONDS, most: int = SWEEP_MEMORIES) -> int:
    """Embed waiting memories, those never tried first, then the oldest; the number taken up.

    Stops at the bounds, and when the embedder fails for everything it is given.
    """
    if get_embedder() is None:
        return 0
    deadline, taken = time.monotonic() + seconds, 0
    while taken < most and time.monotonic() < deadline:
        claimed = _claim(most=min(MEMORIES_A_CLAIM, most - taken))
        taken += len(claimed)
        if not claimed or not _embed(claimed):
            break
    return taken


def _claim(*, most: int, only: UUID | None = None) -> list[UUID]:
    wanted = {"most": most, "only": only, "minutes": CLAIM_MINUTES, "stamp": _stamp(get_embedder())}
    with connection.cursor() as cursor:
        cursor.execute(load("claim_waiting"), wanted)
        return [row[0] for row in cursor.fetchall()]


def _embed(claimed: Sequence[UUID]) -> bool:
    """False when the embedder failed for all of them."""
    try:
        _encode(claimed)
    except EmbedderError as error:
        # One text that the embedder cannot take must not keep the others waiting.
        return _one_by_one(claimed) if len(claimed) > 1 else _failed(claimed, error)
    return True


def _one_by_one(claimed: Sequence[UUID]) -> bool:
    failures = 0
    for place, memory_id in enumerate(claimed):
        failures = 0 if _embed([memory_id]) else failures + 1
        if failures == FAILURES_IN_A_ROW:
            Memory.objects.filter(pk__in=claimed[place + 1 :]).update(embedding_claimed_at=None)
            return False
    return failures < len(claimed)


def _failed(claimed: Sequence[UUID], error: EmbedderError) -> bool:
    logger.warning("Embedding failed for memory %s: %s", claimed[0], error)
    Memory.objects.filter(pk__in=claimed).update(embedding_error=str(error)[:500])
    return False


def _encode(claimed: Sequence[UUID]) -> None:
    embedder = get_embedder()
    if embedder is None:
        return
    for memory in Memory.objects.filter(pk__in=claimed, windows__isnull=True):
        write_windows(memory)
    for _ in range(BATCHES_A_SLICE):
        batch = list(_missing(embedder).filter(memory__in=claimed).order_by("position", "pk")[:WINDOWS_A_BATCH])
        if not batch:
            break
        _store(batch, embedder.encode_documents([window.text for window in batch]), embedder)
        _mark_finished(claimed, embedder)
    _mark_finished(claimed, embedder)
    _give_back(claimed, embedder)


def _give_back(claimed: Sequence[UUID], embedder: Embedder) -> None:
    """What is left of a long text may be taken up at once, after all that was never tried."""
    lapsed = timezone.now() - timedelta(minutes=2 * CLAIM_MINUTES)
    unfinished = Memory.objects.filter(pk__in=claimed).filter(not_embedded_with(_stamp(embedder)))
    unfinished.update(embedding_claimed_at=lapsed)


def _missing(embedder: Embedder) -> QuerySet[Window]:
    made = Embedding.objects.filter(window=OuterRef("pk"), model=embedder.name, model_version=embedder.version)
    return Window.objects.filter(~Exists(made))


def _store(batch: Sequence[Window], vectors: Vectors, embedder: Embedder) -> None:
    ensure_index(vectors.shape[1])
    rows = [
        Embedding(
            window=window,
            memory_id=window.memory_id,
            model=embedder.name,
            model_version=embedder.version,
            dimensions=len(vector),
            vector=vector,
        )
        for window, vector in zip(batch, vectors, strict=True)
    ]
    try:
        with transaction.atomic():
            Embedding.objects.bulk_create(rows, ignore_conflicts=True)
    except IntegrityError:
        # Erased while it was being encoded: there is nothing left to do for it.
        if Window.objects.filter(pk__in=[window.pk for window in batch]).count() == len(batch):
            raise


def _mark_finished(claimed: Sequence[UUID], embedder: Embedder) -> None:
    """Not through save(): being embedded is no change by anybody, so ``updated_at`` stays."""
    now, stamp = timezone.now(), _stamp(embedder)
    working = Memory.objects.filter(pk__in=claimed).filter(not_embedded_with(stamp))
    unfinished = _missing(embedder).filter(memory=OuterRef("pk"))
    working.filter(~Exists(unfinished)).update(
        embedded_at=now, embedded_with=stamp, embedding_error="", embedding_claimed_at=None
    )
    working.filter(Exists(unfinished)).update(embedding_claimed_at=now)
