"""Keyset pages: deep pages cost what the first one costs, and rows written meanwhile shift nothing."""

from __future__ import annotations

import base64
import binascii
import json
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet

from memories.errors import ValidationFailed
from memories.moments import is_within_reach


def page_of(
    queryset: QuerySet[Any], *, cursor: str | None, size: int, by: str = "created_at"
) -> tuple[list[Any], str | None]:
    """*size* rows, newest first *by* that field, after *cursor*; and the cursor of the next page, None on the last."""
    if cursor:
        moment, key = _read(cursor)
        queryset = queryset.filter(Q(**{f"{by}__lt": moment}) | Q(**{by: moment, "pk__lt": key}))
    rows = list(queryset.order_by(f"-{by}", "-pk")[: size + 1])
    return rows[:size], (_write(getattr(rows[size - 1], by), rows[size - 1].pk) if len(rows) > size else None)


def _write(moment: datetime, key: UUID) -> str:
    text = json.dumps([moment.isoformat(), str(key)])
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
