"""REST over disputes: raise one, read them, and settle them with a token that was made for it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpRequest
from ninja import Router

from memories.access import Actor, memory_for, read_targets
from memories.api.routes import ERRORS, acting
from memories.api.shapes import Text
from memories.errors import ValidationFailed
from reflections import dispute_shapes as shapes
from reflections.access import dispute_for
from reflections.models import Dispute
from reflections.services import disputes as services
from reflections.services.disputes import Ask

router = Router()
PAGE_SIZE = 50


@router.post(
    "/memories/{memory_id}/challenge",
    response={200: shapes.ChallengeOut, **ERRORS},
    summary="Say that a memory misled; it stays, flagged until somebody settles it, and lower unless it is upheld",
)
def challenge_memory(request: HttpRequest, memory_id: str, body: shapes.ChallengeIn | None = None) -> Any:
    actor = acting(request)
    asked = body.dict() if body else {}
    dispute, already_pending = services.challenge(actor=actor, memory=memory_for(actor, memory_id), **asked)
    return {"dispute_id": dispute.pk, "already_pending": already_pending}


@router.get("/disputes", response={200: shapes.DisputePage, **ERRORS}, summary="Doubts about memories, oldest first")
def list_disputes(
    request: HttpRequest,
    status: shapes.Status = "pending",
    type: shapes.Type | None = None,
    scope: Text | None = None,
    cursor: str | None = None,
) -> Any:
    return page_of_disputes(acting(request), status=status, type=type, scope=scope, cursor=cursor)


def page_of_disputes(
    actor: Actor,
    *,
    status: str = "pending",
    type: str | None = None,
    scope: str | None = None,
    cursor: str | None = None,
    size: int | None = None,
) -> dict[str, Any]:
    """As ``DisputePage``. Raises NotFound for a scope that is not there and ValidationFailed for a bad cursor."""
    size = size or PAGE_SIZE
    scopes = read_targets(actor, None if scope is None else [scope])
    rows = Dispute.objects.filter(scope_id__in=scopes).in_status(status)
    if type:
        rows = rows.filter(type=type)
    if cursor:
        rows = rows.after(_place(cursor))
    page = list(rows.opening().oldest_first()[: size + 1])
    next_cursor = str(page[size - 1].pk) if len(page) > size else None
    return {"disputes": [shapes.listed(dispute) for dispute in page[:size]], "next_cursor": next_cursor}


def _place(cursor: str) -> UUID:
    try:
        return UUID(cursor)
    except ValueError as error:
        raise ValidationFailed("This cursor is not one of ours; start again without it.", field="cursor") from error


# Before the calls with an id, which would take the word for one.
@router.post(
    "/disputes/resolve",
    response={200: shapes.BulkOut, **ERRORS},
    summary="Settle up to 100 disputes, each for itself; one that fails stops no other",
)
def resolve_disputes(request: HttpRequest, body: shapes.BulkIn) -> Any:
    asked = body.dict(exclude={"resolutions"})
    settled = services.resolve_many(
        actor=acting(request), resolutions=[Ask(**ask.dict()) for ask in body.resolutions], **asked
    )
    return shapes.bulk_answer(settled)


@router.get("/disputes/{dispute_id}", response={200: shapes.DisputeWhole, **ERRORS}, summary="One dispute, whole")
def read_dispute(request: HttpRequest, dispute_id: str) -> Any:
    return shapes.answer(dispute_for(acting(request), dispute_id))


@router.post(
    "/disputes/{dispute_id}/resolve",
    response={200: shapes.DisputeWhole, **ERRORS},
    summary="Settle a dispute; the token must have been created for it",
)
def resolve_dispute(request: HttpRequest, dispute_id: str, body: shapes.ResolveIn) -> Any:
    actor = acting(request)
    services.resolve(actor=actor, dispute=dispute_for(actor, dispute_id), **body.dict())
    return shapes.answer(dispute_for(actor, dispute_id))
