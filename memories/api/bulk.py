"""REST over bulk acts: counted first, done when the number still holds, taken back by the operation's id."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from django.http import HttpRequest
from ninja import Router, Schema
from pydantic import Field, StrictBool, StrictInt

from memories.access import Actor, require_write, scope_for
from memories.api.routes import ERRORS, acting
from memories.api.shapes import Request, Text
from memories.errors import ValidationFailed
from memories.facets import Choice
from memories.selection import Selection, counted
from memories.services import bulk

router = Router()


class ForgetManyIn(Request):
    action: Literal["forget"]
    scope: Text = Field(min_length=1, description="Slug, or owner/slug. One scope; there is no way to say all.")
    before: datetime = Field(description="Only what was learned before this moment.")
    kinds: list[Text] = Field(default_factory=list, max_length=20, description="Only of these kinds; any if left out.")
    dry_run: StrictBool = Field(default=True, description="Count and change nothing.")
    expected_count: StrictInt | None = Field(default=None, description="The count you saw. Required to act.")
    reason: Text = Field(default="", max_length=2000)


class SampleOut(Schema):
    id: UUID
    kind: str
    created_at: datetime
    headline: str


class LeftAloneOut(Schema):
    pinned: int
    protected: int
    busy: int


class ForgetManyOut(Schema):
    action: str
    dry_run: bool
    scope: str
    count: int
    sample: list[SampleOut]
    left_alone: LeftAloneOut
    operation: UUID | None


class BulkUndoneOut(Schema):
    operation: UUID
    count: int
    left: int


@router.post(
    "/memories/bulk",
    response={200: ForgetManyOut, **ERRORS},
    summary="Forget many memories of one scope, restorable: counted first, then done",
)
def forget_many(request: HttpRequest, body: ForgetManyIn) -> Any:
    actor = acting(request)
    selection = _selection(actor, body)
    found = counted(selection)
    answer: dict[str, Any] = {
        "action": body.action,
        "dry_run": body.dry_run,
        "scope": selection.scope.slug,
        "count": found.count,
        "sample": found.sample,
        "left_alone": {"pinned": found.pinned, "protected": found.protected, "busy": 0},
        "operation": None,
    }
    if body.dry_run:
        return answer
    if body.expected_count is None:
        raise ValidationFailed("Send expected_count: the count that the dry run gave.", field="expected_count")
    done = bulk.forget_many(actor=actor, selection=selection, expected=body.expected_count, reason=body.reason)
    answer["left_alone"]["busy"] = done.left
    return answer | {"count": done.count, "operation": done.operation}


def _selection(actor: Actor, body: ForgetManyIn) -> Selection:
    scope = scope_for(actor, body.scope)
    require_write(actor, scope.pk)
    kinds = body.kinds if "kinds" in body.model_fields_set else None
    return Selection(Choice(scope=scope), before=body.before, kinds=kinds)


@router.post(
    "/memories/bulk/{operation}/undo",
    response={200: BulkUndoneOut, **ERRORS},
    summary="Bring back what a bulk act retired, and nothing else",
)
def take_back_many(request: HttpRequest, operation: UUID) -> Any:
    done = bulk.take_back_many(actor=acting(request), operation=operation)
    return {"operation": done.operation, "count": done.count, "left": done.left}
