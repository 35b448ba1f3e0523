"""Keyset pages: deep pages cost what the first one costs, and rows written meanwhile shift nothing."""

from __future__ import annotations

import base64
import binascii
import json
from datetime import UTC, datetime
from uuid import UUID

from django.db.models import Q

from memories.errors import ValidationFailed
from memories.models import Memory
from memories.moments import is_within_reach
from memories.querysets import MemoryQuerySet


def page_of(queryset: MemoryQuerySet, *, cursor: str | None, size: int) -> tuple[list[Memory], str | None]:
    """*size* rows, newest first, after *cursor*; and the cursor of the next page, None on the last."""
    if cursor:
        created_at, memory_id = _read(cursor)
        queryset = queryset.filter(Q(created_at__lt=created_at) | Q(created_at=created_at, pk__lt=memory_id))
    rows = list(queryset.order_by("-created_at", "-pk")[: size + 1])
    return rows[:size], (_write(rows[size - 1]) if len(rows) > size else None)


def _write(memory: Memory) -> str:
    text = json.dumps([memory.created_at.isoformat(), str(memory.pk)])
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _read(cursor: str) -> tuple[datetime, UUID]:
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        moment, memory_id = json.loads(base64.urlsafe_b64decode(padded.encode("ascii")))
        created_at = datetime.fromisoformat(moment)
        if created_at.tzinfo is None or not is_within_reach(created_at):
            raise ValueError("no time zone")
        return created_at.astimezone(UTC), UUID(memory_id)
    except (ValueError, TypeError, AttributeError, OverflowError, binascii.Error, RecursionError) as error:
        raise ValidationFailed("This cursor is not one of ours; start again without it.", field="cursor") from error
