"""REST over memories. Each operation is a few lines over the services the pages use too."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any, Literal

from django.http import HttpRequest
from ninja import Header, Query, Router, Status

from memories import configuration, services
from memories.access import Actor, memory_for, read_targets, writable_memory_for, write_target
from memories.agent_recall import recall_for_agent
from memories.anchors import seen_as
from memories.api import answers, shapes
from memories.controls import notices_of
from memories.errors import ValidationFailed
from memories.models import Kind, Memory
from memories.paging import page_of
from memories.querysets import MemoryQuerySet
from memories.services import AnchorSpec, EntitySpec, LinkSpec

router = Router()
ERRORS = dict.fromkeys((400, 401, 403, 404, 409, 413, 500, 503), shapes.ErrorOut)
PAGE_SIZE = 50
WithWords = Annotated[shapes.Text | None, Query(description="Only memories that hold all of these words.")]
IfMatch = Annotated[str | None, Header(description='The version you read, for example "3".')]


def acting(request: HttpRequest) -> Actor:
    return request.auth  # type: ignore[attr-defined,no-any-return]  # set by the bearer check


@router.post("/memories", response={201: shapes.RememberOut, **ERRORS}, summary="Remember something")
def create_memory(request: HttpRequest, body: shapes.RememberIn) -> Any:
    actor = acting(request)
    remembered = services.remember(
        actor=actor,
        scope=write_target(actor, body.scope),
        entities=[EntitySpec(entity.name, entity.type) for entity in body.entities],
        links=[LinkSpec(link.type, link.target) for link in body.links],
        anchors=[AnchorSpec(**anchor.dict()) for anchor in body.anchors],
        **body.dict(exclude={"scope", "entities", "links", "anchors"}),
    )
    return Status(201, answers.remember_answer(remembered, actor))


@router.get("/memories", response={200: shapes.MemoryPage, **ERRORS}, summary="List memories, newest first")
def list_memories(
    request: HttpRequest,
    scope: shapes.Text | None = None,
    kind: shapes.Text | None = None,
    state: Literal["live", "superseded", "invalidated", "archived", "all"] = "live",
    q: WithWords = None,
    cursor: str | None = None,
) -> Any:
    actor = acting(request)
    rows = Memory.objects.in_scopes(read_targets(actor, None if scope is None else [scope])).in_state(state)
    rows = _of_kind(rows, kind)
    if q:
        rows = rows.with_words(q)
    page, next_cursor = page_of(rows.for_list(), cursor=cursor, size=PAGE_SIZE)
    return {"memories": answers.listed_answers(page, actor), "next_cursor": next_cursor}


def _of_kind(rows: MemoryQuerySet, kind: str | None) -> MemoryQuerySet:
    if kind is None:
        return rows
    if kind not in Kind.values:
        raise ValidationFailed(f"There is no kind {kind!r}; use one of {', '.join(Kind.values)}.", field="kind")
    return rows.filter(kind=kind)


@router.get("/memories/{memory_id}", response={200: shapes.MemoryWhole, **ERRORS}, summary="One memory, whole")
def read_memory(request: HttpRequest, memory_id: str) -> Any:
    return answers.whole_answer(memory_for(acting(request), memory_id), acting(request))


@router.patch(
    "/memories/{memory_id}",
    response={200: shapes.ChangedOut, **ERRORS},
    summary="Change a memory; a change of content is a new version that supersedes",
)
def change_memory(
    request: HttpRequest,
    memory_id: str,
    body: shapes.EditIn,
    if_match: IfMatch = None,
) -> Any:
    actor = acting(request)
    current = writable_memory_for(actor, memory_id)
    changes = _changes(body)
    memory = services.edit(actor=actor, memory=current, expected_version=_version(if_match), **changes)
    return answers.whole_answer(memory_for(actor, memory.pk), actor) | {"notices": list(notices_of(changes))}


def _changes(body: shapes.EditIn) -> dict[str, Any]:
    changes = body.dict(exclude_unset=True, exclude={"entities"})
    if not changes and body.entities is None:
        raise ValidationFailed("Nothing to change: give at least one of the fields.")
    for name in ("content", "kind", "source", "pinned", "confidence"):
        if name in changes and changes[name] is None:
            raise ValidationFailed(f"{name} cannot be null; leave it out to keep it.", field=name)
    if body.entities is not None:
        changes["entities"] = [EntitySpec(entity.name, entity.type) for entity in body.entities]
    return changes


def _version(if_match: str | None) -> int:
    if if_match is None or if_match.strip() == "*":
        return services.LATEST
    bare = if_match.strip().removeprefix("W/").strip('"')
    if not bare.isascii() or not bare.isdigit() or len(bare) > 9:
        raise ValidationFailed('If-Match takes the version you read, for example "3".', field="If-Match")
    return int(bare)


@router.post("/memories/{memory_id}/forget", response={200: shapes.MemoryWhole, **ERRORS}, summary="Forget, restorable")
def forget_memory(request: HttpRequest, memory_id: str, body: shapes.ReasonIn | None = None) -> Any:
    actor = acting(request)
    reason = body.reason if body else ""
    services.forget(actor=actor, memory=writable_memory_for(actor, memory_id), reason=reason)
    return answers.whole_answer(memory_for(actor, memory_id), actor)


@router.post(
    "/memories/{memory_id}/restore", response={200: shapes.MemoryWhole, **ERRORS}, summary="Bring back to life"
)
def restore_memory(request: HttpRequest, memory_id: str, body: shapes.ReasonIn | None = None) -> Any:
    actor = acting(request)
    reason = body.reason if body else ""
    services.restore(actor=actor, memory=writable_memory_for(actor, memory_id), reason=reason)
    return answers.whole_answer(memory_for(actor, memory_id), actor)


@router.post(
    "/memories/{memory_id}/close",
    response={200: shapes.MemoryWhole, **ERRORS},
    summary="Close an open loop: a task that is done, a question that is answered",
)
def close_memory(request: HttpRequest, memory_id: str, body: shapes.CloseIn | None = None) -> Any:
    actor = acting(request)
    said = body.dict() if body else {}
    services.close(actor=actor, memory=writable_memory_for(actor, memory_id), **said)
    return answers.whole_answer(memory_for(actor, memory_id), actor)


@router.post("/memories/{memory_id}/pin", response={200: shapes.MemoryWhole, **ERRORS}, summary="Pin")
def pin_memory(request: HttpRequest, memory_id: str) -> Any:
    actor = acting(request)
    services.pin(actor=actor, memory=writable_memory_for(actor, memory_id))
    return answers.whole_answer(memory_for(actor, memory_id), actor)


@router.post("/memories/{memory_id}/unpin", response={200: shapes.MemoryWhole, **ERRORS}, summary="Unpin")
def unpin_memory(request: HttpRequest, memory_id: str) -> Any:
    actor = acting(request)
    services.unpin(actor=actor, memory=writable_memory_for(actor, memory_id))
    return answers.whole_answer(memory_for(actor, memory_id), actor)


@router.post(
    "/memories/{memory_id}/reanchor",
    response={200: shapes.MemoryWhole, **ERRORS},
    summary="Say that it still holds for the code as it is now",
)
def reanchor_memory(request: HttpRequest, memory_id: str, body: shapes.ReanchorIn | None = None) -> Any:
    actor = acting(request)
    said = body.dict() if body else {}
    services.reanchor(actor=actor, memory=writable_memory_for(actor, memory_id), **said)
    return answers.whole_answer(memory_for(actor, memory_id), actor)


@router.post("/recall", response={200: shapes.RecallOut, **ERRORS}, summary="Recall, with every factor")
def recall_memories(request: HttpRequest, body: shapes.RecallIn) -> Any:
    actor = acting(request)
    asked = body.dict(exclude={"code_state"}) | {"ignore": frozenset(body.ignore)}
    seen = dict(seen_as(**each.dict()) for each in body.code_state)
    found = recall_for_agent(actor=actor, code_seen=seen, **asked)
    return answers.recall_answer(found, actor)


@router.get("/config", response={200: shapes.ConfigOut, **ERRORS}, summary="Ranking and fusion rows, with versions")
def read_config(request: HttpRequest) -> Any:
    snapshot = configuration.snapshot()
    return dataclasses.asdict(snapshot) if dataclasses.is_dataclass(snapshot) else snapshot
