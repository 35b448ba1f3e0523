"""The vectors of memories that still wait for them: live rows not yet embedded by the embedder in use.

During a change of embedder a memory gets the vectors of the answering one first, then those of the coming one. Vectors
of former ones are kept, so that going back to one costs no work.
"""

import logging
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db import IntegrityError, connection, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Greatest, Least
from django.dispatch import Signal

from memories.embedder_in_use import InUse, in_use
from memories.models import EmbedderChange, Embedding, Memory, Window
from memories.querysets import MemoryQuerySet
from memories.services.reembedding import finish_if_complete, keep_up
from memories.sql import load
from memories.vector_index import ensure_index
from memories.windows import write_windows
from zeromemory.embedding import Embedder, EmbedderError, Vectors

logger = logging.getLogger(__name__)

# Sent with ``memories``, ids, when they have vectors for the first time and are not marked as embedded yet: a worker
# that is lost meanwhile loses its claim, and whoever takes it up sends it again. What a receiver raises is logged.
first_embedded: Final = Signal()

# A worker that died loses its claim by itself; a memory that failed alone is tried again no sooner than this.
CLAIM_MINUTES: Final = 10
MEMORIES_A_CLAIM: Final = 256
WINDOWS_A_BATCH: Final = 64
# A text of thousands of windows is done in slices: other memories and other tasks must not wait for the whole of it.
BATCHES_A_SLICE: Final = 4
PARTS_OF_A_FAILED_CLAIM: Final = 16
SWEEP_MEMORIES: Final = 2000
SWEEP_SECONDS: Final = 50.0
_SWEEP: Final = "hashtextextended('embed_pending', 0)"
NO_BOUND: Final = 1_000_000_000
BELL_SECONDS: Final = 5.0
FAILURES_IN_A_ROW: Final = 3

# Not "<>": an index serves only ranges. Least and greatest, because text is ordered as the database orders it.
_LACKING: Final = (
    "(embedded_with < least(%(stamp)s, %(beside)s) OR embedded_with > greatest(%(stamp)s, %(beside)s) "
    "OR (embedded_with > least(%(stamp)s, %(beside)s) AND embedded_with < greatest(%(stamp)s, %(beside)s)))"
)
_ANSWERED_BUT_NOT_PREPARED: Final = "embedded_with = %(beside)s"


@dataclass(frozen=True, slots=True)
class Work:
    """What to embed with *embedder*: the memories that meet the condition *which*."""

    embedder: Embedder
    which: str
    beside: str


def stamp_of(model: str, model_version: str) -> str:
    return f"{model} {model_version}"


def not_embedded_with(stamp: str, beside: str = "") -> Q:
    """Rows that bear neither stamp. Ranges, as in the claim."""
    if not beside:  # bounds that the planner can look up in its statistics
        return Q(embedded_with__lt=stamp) | Q(embedded_with__gt=stamp)
    low, high = Least(Value(stamp), Value(beside)), Greatest(Value(stamp), Value(beside))
    return Q(embedded_with__lt=low) | Q(embedded_with__gt=high) | Q(embedded_with__gt=low, embedded_with__lt=high)


def without_vectors() -> Q:
    """Rows without vectors of the embedder in use; without any vectors where none is in use or it cannot be told."""
    stamps = stamps_in_use()
    return not_embedded_with(*stamps) if stamps else Q(embedded_at__isnull=True)


def stamps_in_use() -> tuple[str, ...]:
    """A memory that bears one of them is found by meaning. Empty where no embedder is in use or it cannot be told."""
    try:
        return in_use().stamps
    except EmbedderError:
        return ()


def is_embedded(memory: Memory, stamps: Sequence[str]) -> bool:
    """Whether *memory* is found by meaning; *stamps* from ``stamps_in_use()``. The counterpart of without_vectors()."""
    return memory.embedded_with in stamps if stamps else memory.embedded_at is not None


def embedded_by(stamp: str) -> Q:
    """Rows with all vectors of *stamp*."""
    stamps = stamps_in_use()
    return Q(embedded_with__in=stamps if stamp in stamps[:1] else (stamp,))


def waiting(rows: MemoryQuerySet) -> MemoryQuerySet:
    """Of *rows*, the live ones that are found by their words only until they are embedded."""
    return rows.filter(without_vectors(), invalidated_at__isnull=True)


def embed_one(memory_id: UUID | str) -> bool:
    """Embed one waiting memory. False when there is nothing to do, another worker is at it, or it failed for now."""
    for work in _works(keep_up()):
        claimed = _claim(work, most=1, only=UUID(str(memory_id)))
        if claimed:
            return _embed(claimed, work.embedder)
    return False


def is_worker_called(memory_id: UUID, written_at: datetime) -> bool:
    """Whether another memory was written a moment before this one and no worker has taken it up: its bell is still to
    be answered. After that moment the bell may be lost. Of those that are committed at once the first rings."""
    lately = written_at - timedelta(seconds=BELL_SECONDS)
    earlier = Q(recorded_at__gt=lately, recorded_at__lt=written_at) | Q(recorded_at=written_at, pk__lt=memory_id)
    return Memory.objects.live().filter(earlier, embedded_at=None, embedding_claimed_at=None).exists()


def embed_waiting(*, seconds: float = SWEEP_SECONDS, most: int = SWEEP_MEMORIES) -> int:
    """Embed waiting memories, those never tried first, then the oldest; the number taken up.

    Stops at the bounds, and when the embedder fails for everything it is given.
    """
    return _rounds(seconds, most)[0]


def embed_for(seconds: float) -> bool:
    """``embed_waiting()`` bounded by time alone; True where time ended it, so that there may be more to do."""
    return _rounds(seconds, NO_BOUND)[1]


@contextmanager
def only_sweep() -> Iterator[bool]:
    """True for one at a time on this database. Held by the connection, so a killed worker holds it no longer."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT pg_try_advisory_lock({_SWEEP})")
        (is_mine,) = cursor.fetchone()
    try:
        yield is_mine
    finally:
        if is_mine:
            with connection.cursor() as cursor:
                cursor.execute(f"SELECT pg_advisory_unlock({_SWEEP})")


def _rounds(seconds: float, most: int) -> tuple[int, bool]:
    """How many were taken up, and whether a bound ended it."""
    keep_up()
    deadline, taken, going = time.monotonic() + seconds, 0, True
    while going and taken < most and time.monotonic() < deadline:
        now_taken, going = _round(most - taken)
        taken += now_taken
    finish_if_complete()
    return taken, going


def _round(most: int) -> tuple[int, bool]:
    """How many were taken up, and whether it makes sense to go on."""
    taken = 0
    for work in _works(in_use()):
        claimed = _claim(work, most=min(MEMORIES_A_CLAIM, most))
        taken += len(claimed)
        if claimed and _embed(claimed, work.embedder):
            return taken, True
    return taken, False


def _works(used: InUse) -> list[Work]:
    """In order of urgency: what cannot be found by meaning comes before what will be needed after a change."""
    if used.answering is None:
        return []
    answering = used.answering.stamp
    works = [Work(used.answering, _LACKING, used.coming.stamp if used.coming else answering)]
    if used.coming and used.change and used.change.state == EmbedderChange.State.RUNNING:
        works.append(Work(used.coming, _ANSWERED_BUT_NOT_PREPARED, answering))
    return works


def _claim(work: Work, *, most: int, only: UUID | None = None) -> list[UUID]:
    statement = load("claim_waiting").replace("{which}", work.which)
    wanted = {"most": most, "only": only, "minutes": CLAIM_MINUTES, "stamp": work.embedder.stamp, "beside": work.beside}
    return _ids(statement, wanted)


def _ids(statement: str, wanted: dict[str, Any]) -> list[UUID]:
    with connection.cursor() as cursor:
        cursor.execute(statement, wanted)
        return [row[0] for row in cursor.fetchall()]


def _embed(claimed: Sequence[UUID], embedder: Embedder) -> bool:
    """False when the embedder failed for all of them."""
    try:
        _encode(claimed, embedder)
    except EmbedderError as error:
        # One text that the embedder cannot take must not keep the others waiting.
        return _in_parts(claimed, embedder) if len(claimed) > 1 else _failed(claimed, error)
    return True


def _in_parts(claimed: Sequence[UUID], embedder: Embedder) -> bool:
    size = max(1, len(claimed) // PARTS_OF_A_FAILED_CLAIM)
    failures = done = 0
    for first in range(0, len(claimed), size):
        part = claimed[first : first + size]
        succeeded = _embed(part, embedder)
        failures, done = (0, done + 1) if succeeded else (failures + 1, done)
        if failures == FAILURES_IN_A_ROW or not (succeeded or len(part) == 1):
            _release(claimed[first + size :])
            return False
    return done > 0


def try_again(rows: MemoryQuerySet) -> None:
    """Give up the claims of *rows* that failed, so that the next sweep takes them up."""
    _release(rows.exclude(embedding_error="").values("pk"), embedding_error="")


def _release(claimed: Any, **also: Any) -> None:
    """Those that somebody is changing are left: their claims lapse by themselves."""
    free = Memory.objects.filter(pk__in=claimed).order_by("pk").select_for_update(skip_locked=True, no_key=True)
    with transaction.atomic():
        # A list: in one statement the planner might choose the free ones anew for each row.
        Memory.objects.filter(pk__in=list(free.values_list("pk", flat=True))).update(embedding_claimed_at=None, **also)


def _failed(claimed: Sequence[UUID], error: EmbedderError) -> bool:
    logger.warning("Embedding failed for memory %s: %s", claimed[0], error)
    Memory.objects.filter(pk__in=claimed).update(embedding_error=str(error)[:500])
    return False


def _encode(claimed: Sequence[UUID], embedder: Embedder) -> None:
    write_windows(*Memory.objects.filter(pk__in=claimed, windows__isnull=True))
    missing = _missing(embedder).filter(memory__in=claimed).order_by("position", "pk")
    slice_of = list(missing.only("memory_id", "text")[: BATCHES_A_SLICE * WINDOWS_A_BATCH])
    slice_of.sort(key=lambda window: len(window.text))  # texts of like length are padded least
    batches = [slice_of[first : first + WINDOWS_A_BATCH] for first in range(0, len(slice_of), WINDOWS_A_BATCH)]
    if batches:
        _encode_ahead(batches, embedder)
    if new := _embedded_first(claimed, embedder):
        first_embedded.send_robust(sender=None, memories=new)
    _mark(claimed, embedder)


def _embedded_first(claimed: Sequence[UUID], embedder: Embedder) -> list[UUID]:
    """Those never marked before whose windows all have vectors by now, in the order they were written."""
    rows = Memory.objects.live().filter(pk__in=claimed, embedded_at=None)
    complete = rows.exclude(Exists(_missing(embedder).filter(memory=OuterRef("pk"))))
    return list(complete.order_by("recorded_at", "pk").values_list("pk", flat=True))


def _encode_ahead(batches: Sequence[Sequence[Window]], embedder: Embedder) -> None:
    """While one batch is being stored the next is already with the model."""
    with ThreadPoolExecutor(1, "embedding") as model:
        coming = model.submit(embedder.encode_documents, [window.text for window in batches[0]])
        for place, batch in enumerate(batches):
            vectors = coming.result()
            if place + 1 < len(batches):
                coming = model.submit(embedder.encode_documents, [window.text for window in batches[place + 1]])
            _store(batch, vectors, embedder)


def _missing(embedder: Embedder) -> QuerySet[Window]:
    made = Embedding.objects.filter(window=OuterRef("pk"), model=embedder.name, model_version=embedder.version)
    return Window.objects.filter(~Exists(made))


def _store(batch: Sequence[Window], vectors: Vectors, embedder: Embedder) -> None:
    ensure_index(vectors.shape[1])
    rows = list(zip(batch, vectors, strict=True))
    free = _insert(rows, embedder, skip="SKIP LOCKED")
    for memory_id in {window.memory_id for window in batch} - free:
        _insert([row for row in rows if row[0].memory_id == memory_id], embedder, skip="")


def _insert(rows: Sequence[tuple[Window, Vectors]], embedder: Embedder, *, skip: str) -> set[UUID]:
    """The memories whose vectors were stored."""
    windows = [window.pk for window, _ in rows]
    wanted = {
        "windows": windows,
        "memories": [window.memory_id for window, _ in rows],
        "vectors": [written(vector) for _, vector in rows],
        "model": embedder.name,
        "version": embedder.version,
        "dimensions": len(rows[0][1]),
    }
    try:
        with transaction.atomic():
            return set(_ids(load("insert_vectors").replace("{skip}", skip), wanted))
    except IntegrityError:
        # Erased while it was being encoded: there is nothing left to do for it.
        if Window.objects.filter(pk__in=windows).count() == len(rows):
            raise
        return set()


def written(vector: Vectors) -> str:
    """As pgvector reads it. Nine digits tell any two single-precision numbers apart."""
    return f"[{','.join([f'{value:.9g}' for value in vector.tolist()])}]"


def _mark(claimed: Sequence[UUID], embedder: Embedder) -> None:
    wanted = {
        "claimed": list(claimed),
        "model": embedder.name,
        "version": embedder.version,
        "stamp": embedder.stamp,
        "minutes": CLAIM_MINUTES,
    }
    free = set(_ids(load("mark_embedded").replace("{skip}", "SKIP LOCKED"), wanted))
    for memory_id in set(claimed) - free:
        _ids(load("mark_embedded").replace("{skip}", ""), wanted | {"claimed": [memory_id]})
