"""What a decaying scope keeps and lets go: its weights, what leaves next, its cycles and its archive."""

from __future__ import annotations

import uuid
from typing import Any, Final
from urllib.parse import urlencode

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from insights.keeping import LARGE_SCOPE, REGRET_LINE, SOON_DAYS, Keeping, asked_for, keeping, leaving_soon
from insights.keeping_charts import weights
from insights.views import as_csv
from memories.access import Actor, actor_for_request, readable_scopes
from memories.decaying import days_left
from memories.errors import NotFound, ZeroMemoryError
from memories.models import Memory, RetentionCycle, RetentionPolicy, Scope
from memories.presentation import scope_names
from memories.services.keeping import keep_many, take_back_keep
from memories.services.retention import bring_back, brought_back_by
from memories.views.access import readable_scope
from reflections.consolidation import start

SHOWN: Final = 50
CYCLES: Final = 10
MISSED_SHOWN: Final = 3


@require_safe
def scope_keeping(request: HttpRequest, scope_id: int) -> HttpResponse:
    actor, now = actor_for_request(request), timezone.now()
    scope = readable_scope(actor, scope_id)
    kept = keeping(scope, now)
    name = scope_names(readable_scopes(actor))[scope.pk]
    page = Paginator(leaving_soon(scope, kept.rule, now), SHOWN).get_page(request.GET.get("page"))
    context = {
        "scope": scope,
        "name": name,
        "decays": scope.retention == Scope.Retention.DECAYING,
        "kept": kept,
        "rule": kept.rule,
        "policy": RetentionPolicy.of(scope),
        "counts": kept.statistics,
        "chart": weights(kept),
        "csv": reverse("scope_weights_csv", args=[scope.pk]),
        "page": page,
        "rows": [_leaving(memory, kept, now) for memory in page.object_list],
        "soon_days": SOON_DAYS,
        "cycles": [_cycle(cycle) for cycle in _last_cycles(scope)],
        "regret_line": REGRET_LINE,
        "large_scope": LARGE_SCOPE,
        "asked_for": asked_for(scope, most=MISSED_SHOWN),
        "archive": reverse("scope_archive", args=[scope.pk]),
        "export": f"{reverse('transfer_page')}?{urlencode({'format': 'jsonl', 'scope': scope.pk})}",
        "live": f"{reverse('memory_list')}?{urlencode({'scope': name, 'state': 'live'})}",
        "may_write": scope.pk in actor.writable,
        "administered": scope.pk in actor.administered,
        "undo": _undoable(request),
    }
    return render(request, "insights/keeping.html", context)


@require_safe
def weights_csv(request: HttpRequest, scope_id: int) -> HttpResponse:
    scope = readable_scope(actor_for_request(request), scope_id)
    return as_csv("weights", weights(keeping(scope, timezone.now())).table)


def _leaving(memory: Memory, kept: Keeping, now: Any) -> dict[str, Any]:
    return {"memory": memory, "weight": memory.weight_now, "days": days_left(memory, kept.rule, now)}  # type: ignore[attr-defined]  # annotated


def _last_cycles(scope: Scope) -> list[RetentionCycle]:
    return list(RetentionCycle.objects.filter(scope=scope).order_by("-started_at")[:CYCLES])


def _cycle(cycle: RetentionCycle) -> dict[str, Any]:
    return {"cycle": cycle, "back": brought_back_by(cycle).count() if cycle.archived else 0}


def _undoable(request: HttpRequest) -> str:
    """The operation that was just done here, if the address names one."""
    try:
        return str(uuid.UUID(request.GET.get("kept", "")))
    except ValueError:
        return ""


# Acts ------------------------------------------------------------------------------------------


@require_POST
def scope_keep(request: HttpRequest, scope_id: int) -> HttpResponse:
    actor = actor_for_request(request)
    scope, pin = readable_scope(actor, scope_id), request.POST.get("act") == "pin"
    address = reverse("scope_keeping", args=[scope.pk])
    try:
        done = keep_many(actor=actor, scope=scope, memories=chosen_of(request), pin=pin)
    except ZeroMemoryError as error:
        return refused(request, address, error)
    left = f" {done.left} could not be: retired, pinned or being changed meanwhile." if done.left else ""
    word = "Pinned" if pin else "Kept"
    messages.success(request, f"{word} {done.count}: full weight again, as if just asked for.{left}")
    return redirect(f"{address}?kept={done.operation}")


def chosen_of(request: HttpRequest) -> list[uuid.UUID]:
    """Raises NotFound for what is no id."""
    try:
        return [uuid.UUID(one) for one in request.POST.getlist("memory")]
    except ValueError as error:
        raise NotFound("There is no such memory here. Check the id.") from error


def refused(request: HttpRequest, address: str, error: ZeroMemoryError) -> HttpResponse:
    """Not there or not allowed is an answer of its own; all else is said on the page."""
    if error.status in (403, 404):
        raise error
    messages.warning(request, error.message)
    return redirect(address)


@require_POST
def scope_keep_undo(request: HttpRequest, scope_id: int, operation_id: uuid.UUID) -> HttpResponse:
    actor = actor_for_request(request)
    address = reverse("scope_keeping", args=[readable_scope(actor, scope_id).pk])
    try:
        count = take_back_keep(actor=actor, operation=operation_id)
    except ZeroMemoryError as error:
        return refused(request, address, error)
    messages.success(request, f"Taken back: {count} weigh{'s' if count == 1 else ''} what {_they(count)} did before.")
    return redirect(address)


def _they(count: int) -> str:
    return "it" if count == 1 else "they"


@require_POST
def scope_cycle(request: HttpRequest, scope_id: int) -> HttpResponse:
    actor = actor_for_request(request)
    scope = readable_scope(actor, scope_id)
    address = reverse("scope_keeping", args=[scope.pk])
    try:
        asked = start(actor=actor, scope=scope, trigger=RetentionCycle.Trigger.BUTTON)
    except ZeroMemoryError as error:
        return refused(request, address, error)
    (messages.success if asked.is_started else messages.warning)(request, asked.said)
    return redirect(f"{address}#cycles")


@require_POST
def scope_bring_back(request: HttpRequest, scope_id: int, cycle_id: uuid.UUID) -> HttpResponse:
    actor = actor_for_request(request)
    cycle = _cycle_of(actor, scope_id, cycle_id)
    address = reverse("scope_keeping", args=[scope_id])
    try:
        count = bring_back(actor=actor, cycle=cycle)
    except ZeroMemoryError as error:
        return refused(request, address, error)
    messages.success(request, f"Brought back {count}: full weight again, as if just asked for.")
    return redirect(f"{address}#cycles")


def _cycle_of(actor: Actor, scope_id: int, cycle_id: uuid.UUID) -> RetentionCycle:
    scope = readable_scope(actor, scope_id)
    cycle = RetentionCycle.objects.filter(pk=cycle_id, scope=scope).select_related("scope").first()
    if cycle is None:
        raise NotFound("There is no such cycle here. Check the address.")
    return cycle
