"""The first page: what needs a person, what changed, whether everything runs."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

from django.db.models import Count, Min
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from memories import condition
from memories.access import Actor, actor_for_request
from memories.condition import Part
from memories.configuration import ranking_rules
from memories.history import changes_since, memories_of
from memories.models import AuditEntry, Memory
from memories.presentation import action_words, headline, row_of
from memories.services.visits import note_visit
from reflections.models import Candidate

NEWEST: Final = 5
NAMED: Final = 3  # entries named for each kind of change
FIRST_LOOK_BACK: Final = timedelta(days=7)
PAGES: Final = {"memory": "memory_detail", "candidate": "reflection_detail", "scope": "scope_detail"}


@require_safe
def today(request: HttpRequest) -> HttpResponse:
    actor, now = actor_for_request(request), timezone.now()
    previous = note_visit(user=actor.user, now=now)
    visible = Memory.objects.visible_to(actor)
    if not visible.exists():
        return render(request, "insights/today.html", _welcome(actor))
    context = {
        "queues": [_drafts(actor), _waiting(actor)],
        "since": previous,
        "changes": _changes(actor, previous or now - FIRST_LOOK_BACK),
        "health": _health(),
        "newest": _newest(actor, now),
    }
    return render(request, "insights/today.html", context)


def _welcome(actor: Actor) -> dict[str, Any]:
    return {"welcome": True, "may_write": bool(actor.writable), "health": _health()}


def _health() -> list[Part]:
    return [condition.worker(), condition.embedder(), Part("Database", "ok", "answers")]


def _drafts(actor: Actor) -> dict[str, Any]:
    found = Candidate.objects.visible_to(actor).pending().aggregate(count=Count("pk"), oldest=Min("created_at"))
    return found | {
        "label": "draft to review" if found["count"] == 1 else "drafts to review",
        "href": reverse("reflection_list"),
        "hint": "A draft becomes a memory when you approve it.",
    }


def _waiting(actor: Actor) -> dict[str, Any]:
    rows = Memory.objects.live().visible_to(actor).filter(embedded_at__isnull=True)
    found = rows.aggregate(count=Count("pk"), oldest=Min("recorded_at"))
    return found | {
        "label": "memory without embedding" if found["count"] == 1 else "memories without embedding",
        "href": f"{reverse('memory_list')}?state=live&waiting=1",
        "hint": "Found by their words only, until the worker has embedded them.",
    }


def _newest(actor: Actor, now: datetime) -> list[dict[str, Any]]:
    rules, live = ranking_rules(), Memory.objects.live().visible_to(actor)
    return [row_of(memory, rules, now) for memory in live.for_list().order_by("-created_at", "-pk")[:NEWEST]]


def _changes(actor: Actor, since: datetime) -> list[dict[str, Any]]:
    changes = changes_since(actor, since, most=NAMED)
    entries = [entry for change in changes for entry in change.newest]
    names = {key: memory.headline for key, memory in memories_of(actor, entries).items()} | _drafts_of(actor, entries)
    return [
        {
            "words": action_words(change.action),
            "count": change.count,
            "entries": [_entry(entry, names) for entry in change.newest],
            "more": change.count - len(change.newest),
        }
        for change in changes
    ]


def _drafts_of(actor: Actor, entries: list[AuditEntry]) -> dict[str, str]:
    ids = {entry.object_id for entry in entries if entry.object_type == "candidate"}
    drafts = Candidate.objects.visible_to(actor).filter(pk__in=ids).values_list("pk", "draft")
    return {str(key): headline(draft) for key, draft in drafts}


def _entry(entry: AuditEntry, names: dict[str, str]) -> dict[str, Any]:
    name, page = names.get(entry.object_id), PAGES.get(entry.object_type)
    if entry.object_type == "scope" and entry.scope:
        name = entry.scope.slug
    return {
        "text": name or entry.object_type,
        "href": reverse(page, args=[entry.object_id]) if page and name else "",
        "by": entry.actor,
        "at": entry.at,
    }
