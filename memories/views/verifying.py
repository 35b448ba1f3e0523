"""Whether a memory still holds: saying so, and when each world fact was last looked at."""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from django.contrib import messages
from django.db.models.functions import Left
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from memories.access import actor_for_request, writable_memory_for
from memories.errors import Conflict, ValidationFailed
from memories.freshness import FAST_KINDS
from memories.looks import Looked, last_look, ledger, looked_at, looks
from memories.models import Memory, Scope, Verification
from memories.querysets import OPENING, MemoryQuerySet
from memories.services.verification import verify

SHOWN: Final = 50  # world facts in the table of a scope, those due soonest first
METHOD_WORDS: Final = {"person": "a person", "agent": "an agent", "web_search": "a search of the web"}
_ADDRESS: Final = re.compile(r"https?://[^\s<>\"'\\]+")


@require_POST
def memory_verify(request: HttpRequest, memory_id: uuid.UUID) -> HttpResponse:
    actor = actor_for_request(request)
    memory = writable_memory_for(actor, memory_id)
    asked = {name: request.POST.get(name, "").strip() for name in ("note", "source")}
    try:
        verify(actor=actor, memory=memory, **asked)
    except (Conflict, ValidationFailed) as error:
        messages.warning(request, f"Not noted. {error.message}")
    else:
        messages.success(request, "Noted that it was looked at and still holds.")
    return redirect("memory_detail", memory_id=memory.pk)


def address_in(source: str) -> str:
    """The address where *source* is one and nothing else; a browser is led nowhere else."""
    return source if _ADDRESS.fullmatch(source) else ""


def checks_of(memory: Memory) -> dict[str, Any]:
    """The ledger of one memory; ``stale_days`` and ``days_left`` of world facts only."""
    checks, look = ledger(memory), looks([memory], timezone.now()).get(memory.pk)
    return {
        "entries": [_entry(check) for check in checks],
        "newest": checks[0] if checks else None,
        "is_world_fact": look is not None,
        "budget_days": look.budget if look else None,
        "stale_days": look.stale_days if look else None,
        "days_left": look.left if look else None,
    }


def _entry(check: Verification) -> dict[str, Any]:
    sure = f"confidence {check.confidence:.2f}" if check.confidence is not None else ""
    return {
        "title": check.get_verdict_display(),
        "when": check.at,
        "by": check.actor,
        "method": METHOD_WORDS[check.method],
        "sure": sure,
        "note": check.note,
        "source": check.source,
        "address": address_in(check.source),
    }


def world_facts(scope: Scope, now: datetime) -> dict[str, Any] | None:
    """When each was last looked at and by what, those due soonest first; None where the scope is not the core."""
    if not scope.is_core:
        return None
    rows = Memory.objects.live().filter(scope=scope, kind__in=FAST_KINDS).select_related("scope")
    found = looked_at([*_most_due(rows.filter(kind="fact")), *_most_due(rows.filter(kind="reference"))], now)
    found.sort(key=lambda one: (one.look.left, str(one.memory.pk)))
    return {"rows": [_line(one) for one in found[:SHOWN]], "total": rows.count(), "shown": min(len(found), SHOWN)}


def _most_due(rows: MemoryQuerySet) -> Sequence[Memory]:
    """Of one kind all have one budget, so that the oldest look is due soonest."""
    rows = rows.annotate(looked_at=last_look(), opening=Left("content", OPENING)).defer("content", "verbatim")
    return list(rows.order_by("looked_at", "pk")[:SHOWN])


def _line(one: Looked) -> dict[str, Any]:
    check = one.check
    return {
        "headline": one.memory.headline,
        "url": reverse("memory_detail", args=[one.memory.pk]),
        "kind": one.memory.kind,
        "when": check.at if check else None,
        "by": check.actor if check else "",
        "method": METHOD_WORDS[check.method] if check else "",
        "verdict": check.get_verdict_display() if check else "",
        "left": one.look.left,
        "stale_days": one.look.stale_days,
    }
