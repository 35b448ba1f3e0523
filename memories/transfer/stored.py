"""What of a batch is in the database already."""

import uuid
from collections.abc import Sequence
from typing import Any, NamedTuple

from django.db.models import Q, QuerySet

from memories.models import Memory
from memories.models.memory import content_hash
from memories.transfer.errors import TransferError
from memories.transfer.records import MemoryRecord

type Placed = tuple[MemoryRecord, int]
"""A record and the scope it goes into."""


class StoredMemory(NamedTuple):
    pk: uuid.UUID
    scope_id: int
    external_id: str
    idempotency_key: str
    kind: str
    content_sha256: str
    retired: bool


class Stored:
    """Finds the row of a record by id, by external id, or by the id it had where it was copied from."""

    def __init__(self, batch: Sequence[Placed]) -> None:
        rows = [_row(values) for values in _matching(batch).values_list(*_COLUMNS)]
        self._by_id = {row.pk: row for row in rows}
        self._by_external_id = {(row.scope_id, row.external_id): row for row in rows if row.external_id}
        self._by_key = {(row.scope_id, row.idempotency_key): row for row in rows if row.idempotency_key}
        self._live = {(row.scope_id, row.kind, row.content_sha256): row for row in rows if not row.retired}

    def of(self, record: MemoryRecord, scope_id: int) -> StoredMemory | None:
        same_id = self._by_id.get(record.id) if record.id else None
        if same_id and same_id.scope_id == scope_id:
            return same_id
        names = (record.external_id, str(record.id or ""))
        return next(filter(None, (self._by_external_id.get((scope_id, name)) for name in names)), None)

    def twin_of(self, record: MemoryRecord, scope_id: int) -> StoredMemory | None:
        """A live memory of the same kind that says exactly the same."""
        return self._live.get((scope_id, record.kind, content_hash(record.content)))

    def is_taken(self, id: uuid.UUID | None) -> bool:
        return id in self._by_id

    def refuse_used_key(self, record: MemoryRecord, scope_id: int) -> None:
        if record.idempotency_key and (scope_id, record.idempotency_key) in self._by_key:
            raise TransferError(
                "belongs to another memory here. Leave it out, or give the line that memory's external_id.",
                line=record.line,
                field="idempotency_key",
            )


_COLUMNS = ("pk", "scope_id", "external_id", "idempotency_key", "kind", "content_sha256", "invalidated_at")


def _row(values: tuple[Any, ...]) -> StoredMemory:
    *kept, invalidated_at = values
    return StoredMemory._make([*kept, invalidated_at is not None])


def _matching(batch: Sequence[Placed]) -> QuerySet[Memory]:
    records = [record for record, _ in batch]
    external_ids = {record.external_id for record in records} | {str(record.id) for record in records if record.id}
    keys = {record.idempotency_key for record in records}
    here = Q(scope_id__in={scope_id for _, scope_id in batch})
    nameless = [content_hash(record.content) for record in records if is_nameless(record)]
    return Memory.objects.filter(
        Q(pk__in=[record.id for record in records if record.id])
        | (here & Q(external_id__in=external_ids - {""}))
        | (here & Q(idempotency_key__in=keys - {""}))
        | (here & Q(content_sha256__in=nameless, invalidated_at__isnull=True))
    )


def is_nameless(record: MemoryRecord) -> bool:
    return not record.id and not record.external_id
