"""REST over drafts: to read. Deciding about them is for people, in a browser."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from django.http import HttpRequest
from ninja import Router, Schema

from memories.access import read_targets
from memories.api.routes import ERRORS, acting
from memories.api.shapes import Text
from reflections.briefing_api import router as briefing_router
from reflections.dispute_api import router as dispute_router
from reflections.hygiene_api import router as hygiene_router
from reflections.models import Candidate
from reflections.retention_api import router as retention_router
from reflections.rules_api import router as rules_router
from reflections.usefulness_api import router as usefulness_router

router = Router()
router.add_router("", briefing_router)
router.add_router("", dispute_router)
router.add_router("", hygiene_router)
router.add_router("", retention_router)
router.add_router("", rules_router)
router.add_router("", usefulness_router)
MOST = 100


class SourceOut(Schema):
    id: UUID
    created_at: datetime


class CandidateOut(Schema):
    id: UUID
    scope: str
    purpose: str
    state: str
    kind: str
    draft: str
    origin: str
    confidence: float | None
    similarity: float | None
    rationale: str
    created_at: datetime
    snoozed_until: datetime | None
    decided_at: datetime | None
    decided_by: str | None
    memory: UUID | None
    sources: list[SourceOut]


class QueueOut(Schema):
    candidates: list[CandidateOut]
    total: int


@router.get(
    "/reflections", response={200: QueueOut, **ERRORS}, summary="Drafts that wait for a person, or were decided"
)
def list_reflections(
    request: HttpRequest,
    state: Literal["pending", "snoozed", "approved", "dismissed"] = "pending",
    scope: Text | None = None,
) -> Any:
    scopes = read_targets(acting(request), None if scope is None else [scope])
    queue = Candidate.objects.filter(scope_id__in=scopes).in_tab(state)
    return {"candidates": [_answer(candidate) for candidate in queue.for_queue()[:MOST]], "total": queue.count()}


def _answer(candidate: Candidate) -> dict[str, Any]:
    return {
        "id": candidate.pk,
        "scope": candidate.scope.slug,
        "purpose": candidate.purpose,
        "state": candidate.state,
        "kind": candidate.kind,
        "draft": candidate.draft,
        "origin": candidate.origin,
        "confidence": candidate.confidence,
        "similarity": candidate.similarity,
        "rationale": candidate.rationale,
        "created_at": candidate.created_at,
        "snoozed_until": candidate.snoozed_until,
        "decided_at": candidate.decided_at,
        "decided_by": candidate.decided_by.get_username() if candidate.decided_by else None,
        "memory": candidate.memory_id,
        "sources": [
            {"id": member.memory_id, "created_at": member.memory.created_at} for member in candidate.members.all()
        ],
    }
