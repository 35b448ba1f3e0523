"""Forgetting many memories at once: choose, count, act; and the page from which it is taken back, today or later."""

from __future__ import annotations

import uuid
from datetime import datetime, time
from typing import Any, Final

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from memories.access import Actor, actor_for_request, scope_for
from memories.configuration import ranking_rules
from memories.errors import Conflict, ValidationFailed, ZeroMemoryError
from memories.forms import BulkForm, ReasonForm
from memories.models import AuditEntry, Memory
from memories.presentation import row_of
from memories.querysets import MemoryQuerySet
from memories.selection import SAMPLE, Selection, counted
from memories.services import bulk
from memories.views.sent import whole_number

MOST_NAMED: Final = 200  # of the memories of an act, on its page


@require_http_methods(["GET", "HEAD", "POST"])
def memory_bulk(request: HttpRequest) -> HttpResponse:
    actor = actor_for_request(request)
    if request.method == "POST":
        return _act(request, actor)
    form = BulkForm(request.GET or None, actor=actor)
    return _page(request, actor, form, status=200)


def _page(request: HttpRequest, actor: Actor, form: BulkForm, *, status: int, **more: Any) -> HttpResponse:
    """With what the filter matches now, where there is one."""
    context: dict[str, Any] = {"form": form, "may_write": bool(actor.writable)} | more
    selection = _selection(actor, form) if form.is_bound else None
    if selection:
        context |= _counted(selection) | {"kept": [(name, form[name].data or "") for name in form.fields]}
    return render(request, "memories/bulk.html", context, status=status)


def _selection(actor: Actor, form: BulkForm) -> Selection | None:
    """None where the form does not say which; it says why."""
    if not form.is_valid():
        return None
    try:
        scope = scope_for(actor, form.cleaned_data["scope"])
        return Selection(form.choice(scope), before=form.before_moment())
    except ZeroMemoryError as error:
        form.add_error(error.field if error.field in ("scope", "before", "kind") else None, error.message)
        return None


def _counted(selection: Selection) -> dict[str, Any]:
    found = counted(selection)
    named = selection.forgettable() if found.count else Memory.objects.none()
    return {"found": found, "scope": selection.scope} | _named(named, found.count)


def _named(memories: MemoryQuerySet, count: int) -> dict[str, Any]:
    """The newest as lines of a list, the first of them in sight and the rest behind a fold, and how many are in
    neither."""
    rules, now = ranking_rules(), timezone.now()
    rows = [row_of(memory, rules, now) for memory in memories.for_list().order_by("-created_at", "-pk")[:MOST_NAMED]]
    return {"rows": rows[:SAMPLE], "folded": rows[SAMPLE:], "unnamed": max(count - MOST_NAMED, 0)}


def _act(request: HttpRequest, actor: Actor) -> HttpResponse:
    form, reason = BulkForm(request.POST, actor=actor), ReasonForm(request.POST)
    selection = _selection(actor, form)
    if selection is None or not reason.is_valid():
        return _page(request, actor, form, status=422, refused=reason.errors.get("reason"))
    try:
        done = bulk.forget_many(
            actor=actor, selection=selection, expected=_expected(request), reason=reason.cleaned_data["reason"]
        )
    except (Conflict, ValidationFailed) as error:
        return _page(request, actor, form, status=error.status, refused=[error.message])
    return redirect("memory_bulk_done", operation_id=done.operation)


def _expected(request: HttpRequest) -> int:
    """The count on the screen; -1, which is never true, where none was sent."""
    return whole_number(request.POST.get("expected", ""), otherwise=-1)


# What was done, and back -----------------------------------------------------------------------


@require_safe
def memory_bulk_done(request: HttpRequest, operation_id: uuid.UUID) -> HttpResponse:
    actor = actor_for_request(request)
    entry = bulk.operation_for(actor, operation_id)
    retired = bulk.still_retired(entry)
    count = retired.count()
    context = {
        "entry": entry,
        "operation_id": operation_id,
        "facts": _facts(entry),
        "count": count,
        "may_undo": entry.scope_id in actor.writable,
    } | _named(retired, count)
    return render(request, "memories/bulk_done.html", context)


def _facts(entry: AuditEntry) -> list[dict[str, Any]]:
    words = {name: value for name, value in entry.detail["filter"].items() if name not in ("before", "kinds")}
    before = parse_datetime(entry.detail["filter"].get("before", ""))
    facts: list[dict[str, Any]] = [
        {"label": "Scope", "text": entry.scope.slug if entry.scope else None},
        {"label": "When", "when": entry.at},
        {"label": "By", "text": entry.actor},
        {"label": "Learned before", "text": _in_words(before)},
        {"label": "Kinds", "text": ", ".join(entry.detail["filter"].get("kinds", []))},
        *({"label": name.capitalize(), "text": value} for name, value in words.items()),
        {"label": "Reason", "text": entry.reason},
    ]
    return [fact for fact in facts if fact.get("text") or fact.get("when")]


def _in_words(moment: datetime | None) -> str:
    """The day, where it begins; otherwise to the minute, in the person's zone."""
    if moment is None:
        return ""
    here = timezone.localtime(moment)
    return f"{here:%Y-%m-%d}" if here.time() == time.min else f"{here:%Y-%m-%d %H:%M}"


@require_POST
def memory_bulk_undo(request: HttpRequest, operation_id: uuid.UUID) -> HttpResponse:
    try:
        done = bulk.take_back_many(actor=actor_for_request(request), operation=operation_id)
    except Conflict as error:
        messages.warning(request, error.message)
    else:
        left = f" {done.left:,} stay forgotten: a live memory says the same by now, or somebody changes them."
        messages.success(request, f"Brought back {done.count:,}.{left if done.left else ''}")
    return redirect("memory_bulk_done", operation_id=operation_id)
