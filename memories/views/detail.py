"""One memory: what it says, where it comes from, what became of it, and the acts a person may do."""

from __future__ import annotations

import uuid
from itertools import pairwise
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from memories import services
from memories.access import actor_for_request, memory_for, writable_memory_for
from memories.configuration import ranking_rules
from memories.differences import difference
from memories.entities import specs_of
from memories.errors import Conflict, ZeroMemoryError
from memories.forms import MemoryForm, NewMemoryForm, ReasonForm, line_of
from memories.history import Tie, ties, trail, versions
from memories.models import Memory
from memories.presentation import AUTHOR_WORDS, PROVENANCE_WORDS, freshness, headline


def memory_detail(request: HttpRequest, memory_id: uuid.UUID) -> HttpResponse:
    actor = actor_for_request(request)
    memory = memory_for(actor, memory_id)
    factor, faded = freshness(memory, ranking_rules(), timezone.now())
    history = versions(memory, actor)
    context = {
        "memory": memory,
        "headline": headline(memory.content),
        "age_factor": factor,
        "faded": faded,
        "facts": _facts(memory),
        "entities": memory.entities.order_by("canonical"),
        "ties": [_tie(tie) for tie in ties(memory, actor) if tie.type != "supersedes"],
        "history": _history(history, memory) if len(history) > 1 else [],
        "trail": trail(memory),
        "may_write": memory.scope_id in actor.writable,
        "newest": history[0] if history and history[0].pk != memory.pk else None,
    }
    return render(request, "memories/detail.html", context)


def _facts(memory: Memory) -> list[dict[str, Any]]:
    reinforcement = getattr(memory, "reinforcement", None)
    facts: list[dict[str, Any]] = [
        {"label": "Scope", "text": memory.scope.name},
        {"label": "Learned", "when": memory.created_at},
        {"label": "Newest source", "when": memory.newest_source_at},
        {"label": "Last changed", "when": memory.updated_at},
        {"label": "Valid from", "when": memory.valid_from},
        {"label": "Valid until", "when": memory.valid_until},
        {"label": "Written by", "text": AUTHOR_WORDS[memory.author_kind]},
        {"label": "Author", "text": memory.author.get_username() if memory.author else None},
        {"label": "Agent", "text": memory.agent},
        {"label": "Session", "text": memory.session},
        {"label": "Source", "text": memory.source},
        {"label": "Provenance", "text": PROVENANCE_WORDS[memory.provenance]},
        {"label": "Reinforcement", "text": f"× {reinforcement.multiplier:.2f}" if reinforcement else "× 1, no signals"},
        {"label": "Found by meaning", "when": memory.embedded_at} if memory.embedded_at else _waiting(memory),
        {"label": "Version", "text": str(memory.version)},
        {"label": "Id", "text": str(memory.pk)},
    ]
    optional = {"Newest source", "Valid from", "Valid until", "Agent", "Session", "Source"}
    return [fact for fact in facts if fact["label"] not in optional or fact.get("text") or fact.get("when")]


def _waiting(memory: Memory) -> dict[str, Any]:
    text = f"not yet: {memory.embedding_error}" if memory.embedding_error else "not yet, found by words only"
    return {"label": "Found by meaning", "text": text}


def _tie(tie: Tie) -> dict[str, Any]:
    words = {
        ("relates_to", "out"): "Relates to",
        ("relates_to", "in"): "Related from",
        ("contradicts", "out"): "Contradicts",
        ("contradicts", "in"): "Contradicted by",
        ("derived_from", "out"): "Derived from",
        ("derived_from", "in"): "Distilled into",
    }
    return {
        "words": words[tie.type, tie.direction],
        "memory": tie.memory,
        "headline": headline(tie.memory.content),
        "url": reverse("memory_detail", args=[tie.memory.pk]),
    }


def _history(history: list[Memory], current: Memory) -> list[dict[str, Any]]:
    older = {new.pk: old for new, old in pairwise(history)}
    return [_version(version, older.get(version.pk), current) for version in history]


def _version(version: Memory, before: Memory | None, current: Memory) -> dict[str, Any]:
    return {
        "memory": version,
        "is_current": version.pk == current.pk,
        "url": reverse("memory_detail", args=[version.pk]),
        "diff": difference(before.content, version.content) if before else [],
    }


def memory_new(request: HttpRequest) -> HttpResponse:
    actor = actor_for_request(request)
    form = NewMemoryForm(request.POST or None, actor=actor)
    if request.method == "POST" and form.is_valid():
        wanted = form.cleaned_data
        try:
            done = services.remember(
                actor=actor,
                scope=wanted["scope"],
                content=wanted["content"],
                kind=wanted["kind"],
                source=wanted["source"],
                entities=wanted["entities"],
            )
        except ZeroMemoryError as error:
            _blame(form, error)
        else:
            messages.success(request, "That was known already." if done.deduplicated else "Remembered.")
            return redirect("memory_detail", memory_id=done.memory.pk)
    return render(request, "memories/form.html", {"form": form, "can_write": bool(actor.writable)})


def memory_edit(request: HttpRequest, memory_id: uuid.UUID) -> HttpResponse:
    actor = actor_for_request(request)
    memory = writable_memory_for(actor, memory_id)
    form = MemoryForm(request.POST or None, initial=_initial(memory))
    if request.method == "POST" and form.is_valid():
        try:
            kept = services.edit(actor=actor, memory=memory, **_changes(form))
        except ZeroMemoryError as error:
            _blame(form, error)
        else:
            messages.success(request, f"Saved as version {kept.version}.")
            return redirect("memory_detail", memory_id=kept.pk)
    return render(request, "memories/form.html", {"form": form, "memory": memory, "can_write": True})


def _initial(memory: Memory) -> dict[str, Any]:
    return {
        "content": memory.content,
        "kind": memory.kind,
        "source": memory.source,
        "entities": "\n".join(line_of(entity) for entity in specs_of(memory)),
        "version": memory.version,
    }


def _changes(form: MemoryForm) -> dict[str, Any]:
    """Only what was changed in the form, so that editing the text touches nothing else."""
    wanted = form.cleaned_data
    changes: dict[str, Any] = {"expected_version": wanted["version"]}
    fields = ("content", "kind", "source", "entities")
    return changes | {name: wanted[name] for name in fields if name in form.changed_data}


def _blame(form: MemoryForm, error: ZeroMemoryError) -> None:
    message = error.message
    if isinstance(error, Conflict):
        message += " Your text is kept below; open the memory in another tab to compare."
    form.add_error(error.field if error.field in form.fields else None, message)


@require_POST
def memory_forget(request: HttpRequest, memory_id: uuid.UUID) -> HttpResponse:
    form = ReasonForm(request.POST)
    reason = form.cleaned_data["reason"] if form.is_valid() else ""
    return _act(request, memory_id, services.forget, "Forgotten. It can be restored.", undo="restore", reason=reason)


@require_POST
def memory_restore(request: HttpRequest, memory_id: uuid.UUID) -> HttpResponse:
    return _act(request, memory_id, services.restore, "Restored.", undo="forget")


@require_POST
def memory_pin(request: HttpRequest, memory_id: uuid.UUID) -> HttpResponse:
    return _act(request, memory_id, services.pin, "Pinned.", undo="unpin")


@require_POST
def memory_unpin(request: HttpRequest, memory_id: uuid.UUID) -> HttpResponse:
    return _act(request, memory_id, services.unpin, "Unpinned.", undo="pin")


def _act(request: HttpRequest, memory_id: uuid.UUID, act: Any, done: str, *, undo: str, **more: str) -> HttpResponse:
    actor = actor_for_request(request)
    memory = writable_memory_for(actor, memory_id)
    try:
        act(actor=actor, memory=memory, **more)
    except Conflict as error:
        messages.warning(request, error.message)
    else:
        messages.success(request, done, extra_tags=reverse(f"memory_{undo}", args=[memory.pk]))
    return redirect("memory_detail", memory_id=memory.pk)
