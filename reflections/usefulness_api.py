"""REST over the judge of usefulness: hand in a conversation, and see what it made of the memories in it."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from django.http import HttpRequest
from ninja import Router, Schema, Status
from pydantic import Field

from memories.api.routes import ERRORS, acting
from memories.api.shapes import Request, Text
from reflections.access import transcript_for
from reflections.models import Transcript
from reflections.models.transcripts import SESSION_LENGTH
from reflections.services import transcripts
from reflections.services.transcripts import MOST_BYTES

router = Router()


class TranscriptIn(Request):
    session: Text = Field(min_length=1, max_length=SESSION_LENGTH, description="Of the agent, as in its recalls.")
    transcript: Text = Field(
        min_length=1, description=f"What was said, up to {MOST_BYTES // 1000} kB. Kept only until it is read."
    )
    shown: list[UUID] | None = Field(
        default=None,
        max_length=1000,
        description="Memories to judge; all that this session was given unless named. Only what was given counts.",
    )


class VerdictOut(Schema):
    id: UUID
    useful: bool
    relevant: bool
    misled: bool
    confidence: float


class TranscriptOut(Schema):
    id: UUID
    session: str
    state: Literal["queued", "running", "done", "skipped", "failed"]
    shown: list[UUID]
    verdicts: list[VerdictOut]
    questions: int
    asked: int
    note: str
    attempts: int
    requested_at: datetime
    due_at: datetime
    finished_at: datetime | None


@router.post(
    "/usefulness/transcripts",
    response={202: TranscriptOut, **ERRORS},
    summary="Hand in a conversation, to judge how the memories did that were shown in it",
)
def hand_in(request: HttpRequest, body: TranscriptIn) -> Any:
    return Status(202, _answer(transcripts.hand_in(actor=acting(request), **body.dict())))


@router.get(
    "/usefulness/transcripts/{transcript_id}",
    response={200: TranscriptOut, **ERRORS},
    summary="What became of a conversation that this token handed in",
)
def read_transcript(request: HttpRequest, transcript_id: str) -> Any:
    return _answer(transcript_for(acting(request), transcript_id))


def _answer(row: Transcript) -> dict[str, Any]:
    names = [name for name in TranscriptOut.model_fields if name != "verdicts"]
    return {name: getattr(row, name) for name in names} | {"verdicts": row.verdicts if row.has_ended else []}
