"""The REST operations of insights."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from django.http import HttpRequest
from django.utils import timezone
from ninja import Query, Router, Schema

from insights import queries, recall_quality
from insights.activity import answer, lines_of, named
from memories.access import readable_scopes, scope_for
from memories.api.routes import ERRORS, PAGE_SIZE, acting
from memories.api.shapes import Text
from memories.paging import page_of
from memories.presentation import scope_names

router = Router()


@router.get(
    "/insights/ageing",
    response={200: queries.Ageing, **ERRORS},
    summary="How the live corpus ages",
    description="Faded memories are older than the half-life of their kind. Buckets count exact days and sum to "
    "`live`. Medians and shares are null where nothing is live; a share is between 0 and 1.",
)
def ageing(request: HttpRequest, scope: Text | None = None) -> queries.Ageing:
    actor = acting(request)
    chosen = scope_for(actor, scope) if scope is not None else None
    return queries.ageing(actor=actor, scope=chosen, now=timezone.now())


@router.get(
    "/insights/recall",
    response={200: recall_quality.RecallQuality, **ERRORS},
    summary="Whether recall is useful",
    description="`usefulness` is `useful` ÷ `surfaced`, distinct memories given in the period, whoever asked; "
    "`precision` is `relevant` ÷ `judged`, and null below `judged_needed`. What was asked is counted for the token's "
    "person, of the last 30 days at most. Days are in UTC, and today is one of them.",
)
def recall_usefulness(
    request: HttpRequest,
    scope: Text | None = None,
    days: Annotated[int, Query(ge=1, le=recall_quality.LONGEST)] = recall_quality.DAYS,
) -> recall_quality.RecallQuality:
    actor = acting(request)
    chosen = scope_for(actor, scope) if scope is not None else None
    return recall_quality.recall_quality(actor=actor, scope=chosen, days=days, now=timezone.now())


class AskedOut(Schema):
    id: UUID
    at: datetime
    sort: Literal["recall", "briefing"]
    agent: str
    session: str
    query: str
    scopes: list[str]
    k: int
    outcome: Literal["hits", "empty", "error"]
    error: str
    words_only: bool
    took_ms: float
    hits: int
    reinforced: int
    median_age_days: float | None
    memories: list[UUID]


class ActivityPage(Schema):
    recalls: list[AskedOut]
    next_cursor: str | None


@router.get(
    "/activity",
    response={200: ActivityPage, **ERRORS},
    summary="What agents asked in the last 30 days, newest first",
    description="Recalls with this token, and those with other tokens of its person that searched only where this one "
    "may read. `hits` counts what was given; `memories` names those of them that may be read now.",
)
def list_activity(request: HttpRequest, cursor: str | None = None) -> Any:
    actor = acting(request)
    page, next_cursor = page_of(lines_of(actor, timezone.now()), cursor=cursor, size=PAGE_SIZE, by="at")
    names, scopes = named(actor, page), scope_names(readable_scopes(actor))
    return {"recalls": [answer(line, names, scopes) for line in page], "next_cursor": next_cursor}
