"""The first page: what needs a person, what changed, whether everything runs."""

from __future__ import annotations

import shlex
from datetime import datetime, timedelta
from typing import Any, Final

from django.contrib import messages
from django.db.models import Count, Min
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_POST, require_safe

from insights.activity import lately
from insights.tasks import prepare_demo
from insights.words import count
from memories import condition, embedding_queue
from memories.access import Actor, actor_for_request
from memories.condition import Part
from memories.configuration import ranking_rules
from memories.errors import Forbidden
from memories.headlines import headline
from memories.history import Change, changes_since, memories_of
from memories.models import AuditEntry, Memory, Scope
from memories.presentation import ACTION_WORDS, action_words, counted_words, row_of, scope_names
from memories.services.visits import note_visit
from memories.transfer import demo
from memories.views.fragments import is_fragment
from reflections.models import Candidate, Dispute, StandingRule
from zeromemory.lib.counting import counted

NEWEST: Final = 5
NAMED: Final = 3  # entries named for each kind of change
FIRST_LOOK_BACK: Final = timedelta(days=7)
# So long after a write its vector is made and it may have become part of a draft: until then the page looks again.
SETTLED_AFTER: Final = timedelta(minutes=2)
PAGES: Final = {"memory": "memory_detail", "candidate": "reflection_detail", "scope": "scope_detail"}


@require_safe
def today(request: HttpRequest) -> HttpResponse:
    actor, now = actor_for_request(request), timezone.now()
    context = _needs(actor, now)
    if is_fragment(request):
        response = render(request, "insights/needs.html", context)
    else:
        context |= _whole(actor, now, note_visit(user=actor.user, now=now))
        response = render(request, "insights/today.html", context)
    patch_vary_headers(response, ["HX-Request"])
    return response


def _whole(actor: Actor, now: datetime, previous: datetime | None) -> dict[str, Any]:
    if not Memory.objects.visible_to(actor).exists():
        return _welcome(actor)
    return {
        "since": previous,
        "changes": _changes(actor, previous or now - FIRST_LOOK_BACK),
        "health": _health(),
        "newest": _newest(actor, now),
        "asked": lately(actor, now),
    }


@require_POST
def load_demo(request: HttpRequest) -> HttpResponse:
    """The rows at once; their vectors and the drafts from them follow in the worker."""
    actor = actor_for_request(request)
    if not actor.user.is_staff:
        raise Forbidden("Only staff may load the demo corpus.")
    report = demo.load(actor=actor, now=timezone.now())
    prepare_demo.delay_on_commit(actor.user.get_username())
    names = " and ".join(demo.SCOPES)
    messages.success(
        request,
        f"Loaded {counted(report.written, 'memory', 'memories')} into {names}. Drafts from them follow in a minute.",
    )
    return redirect("today")


def _welcome(actor: Actor) -> dict[str, Any]:
    writable = scope_names(Scope.objects.filter(pk__in=actor.writable).select_related("owner").order_by("pk"))
    return {
        "welcome": True,
        "scope": shlex.quote(next(iter(writable.values()), "SCOPE")),
        "may_write": bool(actor.writable),
        "may_load": actor.user.is_staff,
        "health": _health(),
    }


def _needs(actor: Actor, now: datetime) -> dict[str, Any]:
    queues = [_drafts(actor), _doubts(actor), _rules(actor), _waiting(actor)]
    arriving = Memory.objects.visible_to(actor).filter(recorded_at__gt=now - SETTLED_AFTER)
    return {"queues": queues, "unsettled": arriving.exists()}


def _health() -> list[Part]:
    return [condition.worker(), condition.embedder(), Part("Database", "ok", "answers")]


def _drafts(actor: Actor) -> dict[str, Any]:
    found = Candidate.objects.visible_to(actor).pending().aggregate(count=Count("pk"), oldest=Min("created_at"))
    return found | {
        "label": "draft to review" if found["count"] == 1 else "drafts to review",
        "href": reverse("reflection_list"),
        "hint": "A draft becomes a memory when you approve it." if found["count"] else "",
    }


def _doubts(actor: Actor) -> dict[str, Any]:
    rows = Dispute.objects.visible_to(actor).in_status("pending")
    found = rows.aggregate(count=Count("pk"), oldest=Min("opened_at"))
    return found | {
        "label": "doubt to settle" if found["count"] == 1 else "doubts to settle",
        "href": reverse("inbox"),
        "hint": "Memories that contradict or repeat each other, misled somebody, or whose code changed."
        if found["count"]
        else "",
    }


def _rules(actor: Actor) -> dict[str, Any]:
    rows = StandingRule.objects.visible_to(actor).in_state("proposed")
    found = rows.aggregate(count=Count("pk"), oldest=Min("proposed_at"))
    return found | {
        "label": "rule to decide about" if found["count"] == 1 else "rules to decide about",
        "href": f"{reverse('inbox')}?type=rule",
        "hint": "A memory that several sessions found useful is told to all of them." if found["count"] else "",
    }


def _waiting(actor: Actor) -> dict[str, Any]:
    rows = embedding_queue.waiting(Memory.objects.live().visible_to(actor))
    found = rows.aggregate(count=Count("pk"), oldest=Min("recorded_at"))
    return found | {
        "label": "memory without embedding" if found["count"] == 1 else "memories without embedding",
        "href": f"{reverse('memory_list')}?state=live&waiting=1",
        "hint": "Found by their words only, until the worker has embedded them." if found["count"] else "",
    }


def _newest(actor: Actor, now: datetime) -> list[dict[str, Any]]:
    rules, live = ranking_rules(), Memory.objects.live().visible_to(actor)
    return [row_of(memory, rules, now) for memory in live.for_list().order_by("-created_at", "-pk")[:NEWEST]]


def _changes(actor: Actor, since: datetime) -> list[dict[str, Any]]:
    changes = changes_since(actor, since, most=NAMED)
    entries = [entry for change in changes for entry in change.newest]
    names = {key: memory.headline for key, memory in memories_of(actor, entries).items()}
    names |= _drafts_of(actor, entries) | _rules_of(actor, entries)
    return [
        {
            "title": _title(change),
            "entries": [_entry(entry, names) for entry in change.newest],
            "more": change.count - len(change.newest),
        }
        for change in changes
    ]


def _title(change: Change) -> str:
    """``6 drafts proposed``, ``1,200 memories imported``"""
    if change.written:
        return f"{count(change.written, 'memory')} imported"
    if change.action not in ACTION_WORDS:
        return f"{action_words(change.action).capitalize()} {change.count:,}"
    noun, done = counted_words(change.action)
    return f"{count(change.count, noun)} {done}"


def _drafts_of(actor: Actor, entries: list[AuditEntry]) -> dict[str, str]:
    ids = {entry.object_id for entry in entries if entry.object_type == "candidate"}
    drafts = Candidate.objects.visible_to(actor).filter(pk__in=ids).values_list("pk", "draft")
    return {str(key): headline(draft) for key, draft in drafts}


def _rules_of(actor: Actor, entries: list[AuditEntry]) -> dict[str, str]:
    ids = {entry.object_id for entry in entries if entry.object_type == "standingrule"}
    rules = StandingRule.objects.visible_to(actor).filter(pk__in=ids).values_list("pk", "text")
    return {str(key): headline(text) for key, text in rules}


def _entry(entry: AuditEntry, names: dict[str, str]) -> dict[str, Any]:
    name, page = names.get(entry.object_id), PAGES.get(entry.object_type)
    if entry.object_type == "scope" and entry.scope:
        name = entry.scope.slug
    if entry.action == "import" and name:
        name = f"{count(int(entry.detail.get('written') or 0), 'memory')} into {name}"
    return {
        "text": name or entry.object_type,
        "href": reverse(page, args=[entry.object_id]) if page and name else "",
        "by": entry.actor,
        "at": entry.at,
    }
