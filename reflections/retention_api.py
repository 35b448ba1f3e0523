"""REST over decaying scopes: what one keeps and will let go, and a cycle of it."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.http import HttpRequest
from ninja import Query, Router, Schema, Status

from memories.access import scope_for
from memories.api.routes import ERRORS, acting
from memories.api.shapes import Text
from memories.decaying import statistics
from memories.models import Memory, RetentionCycle, RetentionPolicy, Scope
from memories.services.retention import is_running, preview
from reflections.consolidation import start

router = Router()
LEAVING: Final = 20  # memories that are named
OWNER: Final = Query(None, description="Username of its owner, where several people have a scope of this name.")


class StartedOut(Schema):
    """``started`` is false where the cycle was dropped; ``message`` says why, or what comes next."""

    scope: str
    started: bool
    message: str


class PolicyOut(Schema):
    half_life_hours: float
    floor: float
    threshold: int
    top_k: int
    prune_action: str
    summaries: str
    confidence_weight: float


class CycleOut(Schema):
    id: UUID
    trigger: str
    actor: str
    started_at: datetime
    finished_at: datetime
    counted: int
    decayed: int
    summarised: int
    archived: int
    deleted: int
    note: str


class LeavingOut(Schema):
    id: UUID
    kind: str
    headline: str
    weight: float
    accessed_at: datetime


class RetentionOut(Schema):
    """Of a scope that ages the policy says how it would decay, and nothing leaves."""

    scope: str
    retention: str
    policy: PolicyOut
    running: bool
    all: int
    live: int
    tombstones: int
    kept: int
    archived: int
    regretted: int
    average_weight: float | None
    recalls: int
    last_cycle: CycleOut | None
    would_leave: int
    leaving: list[LeavingOut]


@router.post(
    "/scopes/{scope}/consolidate",
    response={202: StartedOut, **ERRORS},
    summary="Start a cycle of a decaying scope: decay, summarise, prune. Dropped, not queued, where one runs",
)
def consolidate_scope(request: HttpRequest, scope: Text, owner: Text | None = OWNER) -> Any:
    actor = acting(request)
    found = scope_for(actor, _name(scope, owner))
    asked = start(actor=actor, scope=found, trigger=RetentionCycle.Trigger.AGENT)
    return Status(202, {"scope": found.slug, "started": asked.is_started, "message": asked.said})


@router.get(
    "/scopes/{scope}/retention",
    response={200: RetentionOut, **ERRORS},
    summary="What a scope keeps, by which policy, and what its next cycle would let go",
)
def read_retention(request: HttpRequest, scope: Text, owner: Text | None = OWNER) -> Any:
    return retention_answer(scope_for(acting(request), _name(scope, owner)))


def _name(slug: str, owner: str | None) -> str:
    return f"{owner}/{slug}" if owner else slug


def retention_answer(scope: Scope) -> dict[str, Any]:
    rule, told = RetentionPolicy.of(scope).rule, statistics(scope)
    leaving = preview(scope, rule=rule) if scope.retention == Scope.Retention.DECAYING else Memory.objects.none()
    first = leaving.for_list().order_by("accessed_at", "pk")[:LEAVING]
    counts = ("all", "live", "tombstones", "kept", "archived", "regretted", "average_weight", "recalls", "last_cycle")
    return {
        "scope": scope.slug,
        "retention": scope.retention,
        "policy": rule,
        "running": is_running(scope),
        **{name: getattr(told, name) for name in counts},
        "would_leave": leaving.count(),
        "leaving": list(first),
    }
