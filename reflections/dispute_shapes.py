"""What REST takes and gives about disputes."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from ninja import Schema
from pydantic import Field, StrictBool, StrictInt

from memories.api.shapes import Request, Text
from memories.headlines import headline
from memories.models import Memory
from reflections.models import Dispute
from reflections.models.disputes import EVIDENCE_LENGTH
from reflections.services.disputes import Settled
from reflections.services.disputes.bulk import MOST

Status = Literal["pending", "snoozed", "resolved", "dismissed"]
Type = Literal[
    "duplicate", "supersedes", "contradiction", "unjudged", "challenged", "stale_suspect", "outdated", "code_changed",
    "loop_done", "misfiled",
]  # fmt: skip
Resolution = Literal["keep_both", "forget", "supersede", "merge", "uphold", "retire", "refile"]
Policy = Literal["newer", "older", "proposed", "keep_both", "uphold"]


class ChallengeIn(Request):
    reason: Text = Field(default="", max_length=2000, description="What was wrong, in a sentence.")
    evidence: Text = Field(default="", max_length=EVIDENCE_LENGTH, description="What shows it.")
    session: Text = Field(default="", max_length=120)


class ChallengeOut(Schema):
    dispute_id: UUID
    already_pending: bool


class ResolveIn(Request):
    version: StrictInt = Field(ge=1, le=2_000_000_000, description="The version of the dispute that you read.")
    resolution: Resolution
    winner: UUID | None = Field(default=None, description="Of a pair the side that stays: forget and supersede.")
    text: Text | None = Field(default=None, description="What both become: merge.")
    reason: Text = Field(default="", max_length=2000)


class AskIn(ResolveIn):
    dispute: UUID


class BulkIn(Request):
    policy: Policy | None = Field(default=None, description="Settles each of `disputes` the same way.")
    disputes: list[UUID] = Field(default_factory=list, max_length=MOST, description="Ids, with a policy.")
    resolutions: list[AskIn] = Field(default_factory=list, max_length=MOST, description="One by one, no policy.")
    reason: Text = Field(default="", max_length=2000, description="Noted with each dispute that a policy settles.")
    dry_run: StrictBool = Field(default=False, description="Try everything, keep nothing.")


class SideOut(Schema):
    id: UUID
    kind: str
    state: str
    headline: str
    provenance: int
    pinned: bool
    created_at: datetime


class SideWhole(SideOut):
    content: str


class ReportOut(Schema):
    """Of a session that the memory misled."""

    at: datetime
    source: str
    by: str
    session: str
    confidence: float


class DisputeOut(Schema):
    id: UUID
    scope: str
    type: str
    status: str
    version: int
    subject: SideOut
    other: SideOut | None
    proposed_winner: UUID | None
    proposed_kind: str
    confidence: float | None
    rationale: str
    evidence: str
    scanner: str
    model: str
    opened_at: datetime
    opened_by: str
    snoozed_until: datetime | None
    resolution: str
    winner: UUID | None
    merged: UUID | None
    former_kind: str
    decided_at: datetime | None
    decided_by: str
    reason: str


class DisputeWhole(DisputeOut):
    subject: SideWhole
    other: SideWhole | None
    reports: list[ReportOut]


class DisputePage(Schema):
    disputes: list[DisputeOut]
    next_cursor: str | None


class FailureOut(Schema):
    dispute: str
    code: str
    message: str


class BulkOut(Schema):
    resolved: list[DisputeOut]
    skipped: list[str]
    failed: list[FailureOut]


# Rows into answers ---------------------------------------------------------------------------

_AS_STORED = (
    "type", "status", "version", "confidence", "rationale", "evidence", "scanner", "model", "opened_at",
    "snoozed_until", "resolution", "decided_at", "reason", "proposed_kind", "former_kind",
)  # fmt: skip


def answer(dispute: Dispute) -> dict[str, Any]:
    return _row(dispute) | {
        "subject": _whole(dispute.subject),
        "other": _whole(dispute.other) if dispute.other else None,
        "reports": dispute.reports,
    }


def listed(dispute: Dispute) -> dict[str, Any]:
    """Without the texts; of a row from ``opening()``."""
    subject, other = dispute.subject_opening, dispute.other_opening  # type: ignore[attr-defined]  # annotated
    return _row(dispute) | {
        "subject": _side(dispute.subject, subject),
        "other": _side(dispute.other, other) if dispute.other else None,
    }


def _row(dispute: Dispute) -> dict[str, Any]:
    return {name: getattr(dispute, name) for name in _AS_STORED} | {
        "id": dispute.pk,
        "scope": dispute.scope.slug,
        "proposed_winner": dispute.proposed_winner_id,
        "winner": dispute.winner_id,
        "merged": dispute.merged_id,
        "opened_by": dispute.opened_actor,
        "decided_by": dispute.decided_actor,
    }


def _whole(memory: Memory) -> dict[str, Any]:
    return _side(memory, memory.content) | {"content": memory.content}


def _side(memory: Memory, text: str) -> dict[str, Any]:
    return {
        "id": memory.pk,
        "kind": memory.kind,
        "state": memory.state,
        "headline": headline(text),
        "provenance": memory.provenance,
        "pinned": memory.pinned,
        "created_at": memory.created_at,
    }


def bulk_answer(settled: Settled) -> dict[str, Any]:
    return {
        "resolved": [listed(dispute) for dispute in settled.resolved],
        "skipped": settled.skipped,
        "failed": settled.failed,
    }
