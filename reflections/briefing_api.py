"""REST: what an agent should know before it begins."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import HttpRequest
from ninja import Field, Router, Schema
from pydantic import StrictInt

from memories.api.routes import ERRORS, acting
from memories.api.shapes import Request, Text
from memories.briefing import Briefing, Told
from memories.doubts import open_disputes
from reflections.briefing import brief_agent

router = Router()


class BriefingIn(Request):
    topic: Text = Field("", description="What the work is about; without it, what matters anyway.", max_length=8000)
    scopes: list[Text] | None = Field(None, description="Names of scopes; all of the token's where left out.")
    max_tokens: StrictInt | None = Field(None, description="Of all texts together, at four characters a token.")
    session: Text = Field("", description="Of the agent; names this briefing in its log.", max_length=120)


class RuleTold(Schema):
    id: UUID
    text: str
    layer: str
    pinned: bool


class MemoryTold(Schema):
    id: UUID
    content: str
    truncated: bool
    kind: str
    scope: str
    created_at: datetime
    score: float | None
    disputed: bool
    why: str


class EntityTold(Schema):
    name: str
    types: list[str]
    memories: int


class BriefingOut(Schema):
    """``budget_characters`` bounds all texts together; ``spent_characters`` is their length."""

    rules: list[RuleTold]
    memories: list[MemoryTold]
    linked: list[MemoryTold]
    entities: list[EntityTold]
    recent: list[MemoryTold]
    open_loops: list[MemoryTold]
    open_loops_total: int
    notices: list[str]
    budget_characters: int
    spent_characters: int


@router.post("/briefing", response={200: BriefingOut, **ERRORS}, summary="What to know before beginning")
def briefing(request: HttpRequest, body: BriefingIn) -> Any:
    return briefing_answer(brief_agent(actor=acting(request), **body.dict()))


def briefing_answer(found: Briefing) -> dict[str, Any]:
    doubts = open_disputes([told.memory.pk for told in found.given])
    return {
        "rules": [
            {"id": rule.id, "text": rule.text, "layer": rule.layer, "pinned": rule.pinned} for rule in found.rules
        ],
        "memories": [_told(told, told.memory.pk in doubts) for told in found.memories],
        "linked": [_told(told, told.memory.pk in doubts) for told in found.linked],
        "entities": [
            {"name": entity.name, "types": list(entity.types), "memories": entity.memories} for entity in found.entities
        ],
        "recent": [_told(told, told.memory.pk in doubts) for told in found.recent],
        "open_loops": [_told(told, told.memory.pk in doubts) for told in found.open_loops],
        "open_loops_total": found.open_loops_total,
        "notices": list(found.notices),
        "budget_characters": found.budget,
        "spent_characters": found.spent,
    }


def _told(told: Told, is_disputed: bool) -> dict[str, Any]:
    memory = told.memory
    return {
        "id": memory.pk,
        "content": told.text,
        "truncated": told.truncated,
        "kind": memory.kind,
        "scope": memory.scope.slug,
        "created_at": memory.created_at,
        "score": told.score,
        "disputed": is_disputed,
        "why": told.why,
    }
