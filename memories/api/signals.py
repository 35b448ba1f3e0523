"""REST over what became of a memory: whether it was of use, as the agent that had it says."""

from __future__ import annotations

from typing import Any, Self

from django.http import HttpRequest
from ninja import Router, Schema
from pydantic import Field, StrictBool, model_validator

from memories.access import memory_for
from memories.api.routes import ERRORS, acting
from memories.api.shapes import Request, Text
from memories.services.signals import mark_used

router = Router()


class UsedIn(Request):
    useful: StrictBool | None = Field(default=None, description="False takes back what the session said before.")
    misled: StrictBool | None = Field(default=None, description="It was wrong, and somebody went by it.")
    session: Text = Field(default="", max_length=120, description="A session counts once, by its latest word.")

    @model_validator(mode="after")
    def says_something(self) -> Self:
        if self.useful is None and self.misled is None:
            raise ValueError("say useful or misled")
        return self


class UsedOut(Schema):
    multiplier: float = Field(description="Of the memory's score, from now on; 1 is neutral.")
    useful: float = Field(description="U: what counts for it within the window.")
    misled: float = Field(description="M: what counts against it within the window.")


@router.post(
    "/memories/{memory_id}/used",
    response={200: UsedOut, **ERRORS},
    summary="Say that a memory was of use, or that it misled",
)
def mark_memory_used(request: HttpRequest, memory_id: str, body: UsedIn) -> Any:
    actor = acting(request)
    return mark_used(
        actor=actor,
        memory=memory_for(actor, memory_id),
        useful=bool(body.useful),
        misled=bool(body.misled),
        session=body.session,
    )
