"""REST over the ledger of checks."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Field, Router

from memories.access import memory_for, writable_memory_for
from memories.api import answers, shapes
from memories.api.routes import ERRORS, acting
from memories.services.verification import verify

router = Router()


class VerifyIn(shapes.ReasonIn):
    evidence: shapes.Text = Field(
        default="", max_length=2000, description="Where it is said: an address, or a sentence."
    )


@router.post(
    "/memories/{memory_id}/verify",
    response={200: shapes.MemoryWhole, **ERRORS},
    summary="Say that a memory still holds; neither its version nor its score moves",
)
def verify_memory(request: HttpRequest, memory_id: str, body: VerifyIn | None = None) -> Any:
    actor, said = acting(request), body or VerifyIn()
    verify(actor=actor, memory=writable_memory_for(actor, memory_id), note=said.reason, source=said.evidence)
    return answers.whole_answer(memory_for(actor, memory_id), actor)
