"""Which memory took the place of which: retiring with a successor, in bulk."""

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import batched

from django.db.models import QuerySet

from memories.access import Actor
from memories.models import Memory
from memories.services import audit
from memories.transfer.errors import Place, TransferError

_BATCH = 500


@dataclass(frozen=True, slots=True)
class Succession:
    """``by_link``: said by a ``supersedes`` link of the successor, which counts only while the memory is live."""

    line: Place | None
    memory: uuid.UUID
    successor: uuid.UUID
    by_link: bool = False


def apply(actor: Actor, successions: Iterable[Succession]) -> None:
    """Raises TransferError when two name different successors, when they close a circle, or in a foreign scope."""
    chosen: dict[uuid.UUID, Succession] = {}
    for found in sorted(successions, key=lambda one: one.by_link):
        chosen.setdefault(found.memory, found)
    for some in batched(chosen.values(), _BATCH):
        retired = _retired(one.memory for one in some)
        for one in some:
            if one.by_link and one.memory in retired:
                del chosen[one.memory]
    _refuse_circles(chosen)
    for some in batched(chosen.values(), _BATCH):
        _retire(actor, some)


def _retired(ids: Iterable[uuid.UUID]) -> set[uuid.UUID]:
    rows = Memory.objects.filter(pk__in=list(ids), invalidated_at__isnull=False)
    return set(rows.values_list("pk", flat=True))


def _refuse_circles(chosen: dict[uuid.UUID, Succession]) -> None:
    after = {one.memory: one.successor for one in chosen.values()} | _stored_after(chosen)
    finished: set[uuid.UUID] = set()
    for start in chosen:
        path: dict[uuid.UUID, None] = {}
        at: uuid.UUID | None = start
        while at and at not in finished and at not in path:
            path[at] = None
            at = after.get(at)
        if at in path:
            raise TransferError(
                "Its successors lead back to itself. One of them must be live, or retired without a successor.",
                line=chosen[start].line,
                field="superseded_by",
            )
        finished.update(path)


def _stored_after(chosen: dict[uuid.UUID, Succession]) -> dict[uuid.UUID, uuid.UUID]:
    """The chains that go on from here in what is stored already."""
    after: dict[uuid.UUID, uuid.UUID] = {}
    ends = {one.successor for one in chosen.values()} - chosen.keys()
    while ends:
        rows = Memory.objects.filter(pk__in=ends, superseded_by__isnull=False).values_list("pk", "superseded_by_id")
        after.update(rows)
        ends = {successor for _, successor in rows} - after.keys() - chosen.keys()
    return after


def _retire(actor: Actor, successions: Sequence[Succession]) -> None:
    rows = _light(one.memory for one in successions).in_bulk()
    learned: dict[uuid.UUID, datetime] = dict(
        Memory.objects.filter(pk__in=[one.successor for one in successions]).values_list("pk", "created_at")
    )
    retired = []
    for one in successions:
        row = rows[one.memory]
        if row.scope_id not in actor.writable:
            raise TransferError(
                "is in a scope you may only read, so it cannot be superseded from here.", line=one.line, field="links"
            )
        row.superseded_by_id = one.successor
        if row.invalidated_at is None:
            row.invalidated_at = max(learned[one.successor], row.created_at)
            row.invalidated_by, row.invalidated_actor = actor.user, actor.label[:200]
            retired.append((row, {"by": str(one.successor)}))
    Memory.objects.bulk_update(
        rows.values(), ["superseded_by", "invalidated_at", "invalidated_by", "invalidated_actor"]
    )
    audit.record_each(actor=actor, action="supersede", subjects=retired, reason="Imported")


def _light(ids: Iterable[uuid.UUID]) -> QuerySet[Memory]:
    fields = ("scope_id", "created_at", "superseded_by_id", "invalidated_at", "invalidated_by_id", "invalidated_actor")
    return Memory.objects.filter(pk__in=list(ids)).only(*fields)
