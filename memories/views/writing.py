"""What a person may do to a memory: write, edit, forget, restore, pin."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from memories import services
from memories.access import Actor, actor_for_request, memory_for, scope_for, writable_memory_for
from memories.controls import notices_of
from memories.differences import difference
from memories.entities import specs_of
from memories.errors import Conflict, ZeroMemoryError
from memories.forms import MemoryForm, MomentField, NewMemoryForm, ReasonForm, line_of
from memories.history import versions
from memories.models import Memory

FORM_METHODS = ["GET", "HEAD", "POST"]


@require_http_methods(FORM_METHODS)
def memory_new(request: HttpRequest) -> HttpResponse:
    actor = actor_for_request(request)
    sent = request.POST if request.method == "POST" else None
    form = NewMemoryForm(sent, actor=actor, initial={"scope": _asked_scope(request, actor)})
    if form.is_bound and form.is_valid():
        try:
            done = _remember(actor, form.cleaned_data)
        except ZeroMemoryError as error:
            _blame(form, error)
        else:
            messages.success(request, "That was known already." if done.deduplicated else "Remembered.")
            _tell(request, notices_of(form.cleaned_data))
            return redirect("memory_detail", memory_id=done.memory.pk)
    context = {"form": form, "can_write": bool(actor.writable)}
    return render(request, "memories/form.html", context, status=422 if form.is_bound else 200)


def _asked_scope(request: HttpRequest, actor: Actor) -> int | None:
    name = request.GET.get("scope", "").replace("\x00", "").strip()
    return scope_for(actor, name).pk if name else None


def _remember(actor: Actor, wanted: dict[str, Any]) -> services.Remembered:
    asked = {
        name: wanted[name]
        for name in ("scope", "content", "kind", "source", "entities", "confidence", "valid_from", "valid_until")
    }
    return services.remember(actor=actor, **asked)


@require_http_methods(FORM_METHODS)
def memory_edit(request: HttpRequest, memory_id: uuid.UUID) -> HttpResponse:
    actor = actor_for_request(request)
    memory = writable_memory_for(actor, memory_id)
    if request.method != "POST":
        return _edit_page(request, memory) if memory.invalidated_at is None else _cannot_edit(request, memory)
    form = _edit_form(memory, request.POST)
    if not form.is_valid():
        return _edit_page(request, memory, form)
    try:
        kept = services.edit(
            actor=actor, memory=memory, expected_version=form.cleaned_data["version"], **form.changes()
        )
    except Conflict as error:
        return _too_late(request, actor, memory, form, error)
    except ZeroMemoryError as error:
        _blame(form, error)
        return _edit_page(request, memory, form)
    messages.success(request, "Saved." if kept.version != memory.version else "Nothing was changed.")
    _tell(request, notices_of(form.changes()))
    return redirect("memory_detail", memory_id=kept.pk)


def _tell(request: HttpRequest, notices: tuple[str, ...]) -> None:
    for notice in notices:
        messages.info(request, notice)


def _edit_form(memory: Memory, sent: Any = None) -> MemoryForm:
    named = specs_of(memory)
    initial = {
        "content": memory.content,
        "kind": memory.kind,
        "source": memory.source,
        "confidence": memory.confidence,
        "entities": "\n".join(line_of(entity) for entity in named),
        "valid_from": MomentField.typed(memory.valid_from),
        "valid_until": MomentField.typed(memory.valid_until),
        "version": memory.version,
    }
    return MemoryForm(sent, initial=initial, named=named)


def _edit_page(request: HttpRequest, memory: Memory, form: MemoryForm | None = None, **more: Any) -> HttpResponse:
    context = {"form": form or _edit_form(memory), "memory": memory, "can_write": True} | more
    status = 409 if "overtaken" in more else 422 if form else 200
    return render(request, "memories/form.html", context, status=status)


def _cannot_edit(request: HttpRequest, memory: Memory) -> HttpResponse:
    messages.warning(request, "A retired memory cannot be edited. Restore it first, or edit the newest version.")
    return redirect("memory_detail", memory_id=memory.pk)


def _too_late(request: HttpRequest, actor: Actor, memory: Memory, form: MemoryForm, error: Conflict) -> HttpResponse:
    """What was typed is kept, beside what the memory says now; saving again then replaces that knowingly."""
    newest = memory_for(actor, versions(memory, actor)[0].pk)
    overtaken = newest.invalidated_at is None and (newest.pk, newest.version) != (
        memory.pk,
        form.cleaned_data["version"],
    )
    if not overtaken:
        _blame(form, error)
        return _edit_page(request, memory, form)
    now, mine = dict(_edit_form(newest).initial), form.changes()
    sent = now | {name: form.typed(name) for name in mine}
    form.data = sent
    return _edit_page(request, newest, form, overtaken=_clashes(now, mine, sent))


def _clashes(now: dict[str, Any], mine: dict[str, Any], sent: Any) -> list[dict[str, Any]]:
    """Each field that both people touched, with what leads from theirs to mine."""
    return [
        {"label": name.replace("_", " "), "diff": difference(now[name], sent[name])}
        for name in mine
        if now[name] != sent[name]
    ]


def _blame(form: MemoryForm, error: ZeroMemoryError) -> None:
    """Beside the field that is shown, or above all; a hidden field has no place for words."""
    shown = {field.name for field in form.visible_fields()}
    form.add_error(error.field if error.field in shown else None, error.message)


@require_POST
def memory_forget(request: HttpRequest, memory_id: uuid.UUID) -> HttpResponse:
    form = ReasonForm(request.POST)
    if not form.is_valid():
        messages.error(request, f"Not forgotten. The reason: {form['reason'].errors.as_text()}")
        return redirect("memory_detail", memory_id=memory_id)
    reason = form.cleaned_data["reason"]
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
