"""REST over standing rules: to read. Promoting one is for people, in a browser."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from django.http import HttpRequest
from ninja import Query, Router, Schema

from memories.access import read_targets
from memories.api.routes import ERRORS, acting
from memories.api.shapes import Text
from reflections.delivery import Layer, Ruling, deliverable
from reflections.rule_files import file_of

router = Router()
AsFile = Annotated[
    Literal["json", "claude", "agents", "cursor"],
    Query(description="json, or what is delivered as a block for CLAUDE.md, AGENTS.md or a Cursor rule, as text."),
]


class RuleOut(Schema):
    """``why`` it is not delivered; ``memory`` and ``scope`` are null where the token does not read its scope."""

    id: UUID
    text: str
    layer: str
    delivered: bool
    why: str
    pinned: bool
    promoted_at: datetime
    memory: UUID | None
    memory_changed: bool
    scope: str | None


class LayerOut(Schema):
    name: str
    delivered: int
    of: int


class RulesOut(Schema):
    rules: list[RuleOut]
    layers: list[LayerOut]


@router.get("/rules", response={200: RulesOut, **ERRORS}, summary="Standing rules: what is delivered, and what is not")
def list_rules(request: HttpRequest, scope: Text | None = None, format: AsFile = "json") -> Any:
    actor = acting(request)
    scopes = read_targets(actor, None if scope is None else [scope])
    if format != "json":
        return file_of(actor, scopes, format)
    layers = deliverable(actor, scopes)
    return {
        "rules": [_answer(ruling, layer, actor.readable) for layer in layers for ruling in layer.rulings],
        "layers": [
            {"name": layer.name, "delivered": len(layer.delivered), "of": len(layer.rulings)} for layer in layers
        ],
    }


def _answer(ruling: Ruling, layer: Layer, readable: frozenset[int]) -> dict[str, Any]:
    rule = ruling.rule
    is_readable = rule.scope_id in readable
    return {
        "id": rule.pk,
        "text": rule.text,
        "layer": layer.name,
        "delivered": ruling.is_delivered,
        "why": ruling.why,
        "pinned": rule.pinned,
        "promoted_at": rule.promoted_at,
        "memory": ruling.memory.pk if is_readable else None,
        "memory_changed": ruling.has_changed,
        "scope": rule.scope.slug if is_readable else None,
    }
