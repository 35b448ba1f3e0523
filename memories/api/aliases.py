"""REST over the aliases of a scope."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import HttpRequest
from ninja import Router, Schema, Status
from pydantic import Field

from memories.access import scope_for, write_target
from memories.api.routes import ERRORS, acting
from memories.api.shapes import Request, Text
from memories.services import aliases
from memories.vocabulary import LONGEST

router = Router()


class AliasIn(Request):
    term: Text = Field(max_length=LONGEST)
    alias: Text = Field(max_length=LONGEST, description="What is as good as the term, in either direction.")


class AliasOut(Schema):
    id: UUID
    term: str
    alias: str
    created_at: datetime
    created_by: str
    retired_at: datetime | None


class AliasesOut(Schema):
    aliases: list[AliasOut]


@router.get(
    "/scopes/{path:scope}/aliases",
    response={200: AliasesOut, **ERRORS},
    summary="Words that stand for each other in a scope",
)
def list_aliases(request: HttpRequest, scope: str) -> Any:
    return {"aliases": list(aliases.standing(scope_for(acting(request), scope)))}


@router.post(
    "/scopes/{path:scope}/aliases",
    response={201: AliasOut, **ERRORS},
    summary="Let two words stand for each other; who asks for one is also searched the other",
)
def add_alias(request: HttpRequest, scope: str, body: AliasIn) -> Any:
    actor = acting(request)
    return Status(201, aliases.add_alias(actor=actor, scope=write_target(actor, scope), **body.dict()))


@router.post(
    "/scopes/{path:scope}/aliases/{alias_id}/retire",
    response={200: AliasOut, **ERRORS},
    summary="Let an alias widen nothing any more",
)
def retire_alias(request: HttpRequest, scope: str, alias_id: str) -> Any:
    actor = acting(request)
    found = aliases.alias_for(actor, write_target(actor, scope), alias_id)
    return aliases.retire_alias(actor=actor, alias=found)
