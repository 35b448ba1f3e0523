"""What agents asked: a person's own log of thirty days, newest first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from insights.activity import OUTCOMES, Choice, Named, agents_of, lines_of, named, narrowed
from insights.words import count
from memories.access import Actor, actor_for_request, readable_scopes, scope_for
from memories.errors import ValidationFailed
from memories.models import RecallActivity
from memories.paging import page_of
from memories.presentation import scope_names
from memories.views.fragments import is_fragment, page_or_part

PAGE: Final = 40
SHOWN_AT_ONCE: Final = 3
PARAMETERS: Final = ("agent", "outcome", "scope", "q")
NO_AGENT: Final = "without a name"
ERROR_WORDS: Final = {
    "not_found": "Failed: it asked for a scope that is not there",
    "conflict": "Failed: several scopes have the name it asked for",
    "forbidden": "Failed: it was not allowed to",
    "unavailable": "Failed: the database was busy or away",
}


@require_safe
def activity(request: HttpRequest) -> HttpResponse:
    actor = actor_for_request(request)
    asked = _asked(request.GET)
    context: dict[str, Any] = {"asked": asked, "kept": [pair for pair in asked.items() if pair[0] != "q"]}
    try:
        context |= _page(actor, asked, request)
    except ValidationFailed as error:
        context |= {"problem": error.message, "rows": []}
    status = 400 if "problem" in context else 200
    return page_or_part(request, "insights/activity.html", "rows", context, status=status)


def _asked(query: QueryDict) -> dict[str, str]:
    values = {name: query.get(name, "").replace("\x00", "").strip() for name in PARAMETERS}
    return {name: value for name, value in values.items() if value}


def _page(actor: Actor, asked: dict[str, str], request: HttpRequest) -> dict[str, Any]:
    cursor, every = request.GET.get("cursor"), lines_of(actor, timezone.now())
    lines = narrowed(every, _choice(actor, asked))
    page, following = page_of(lines, cursor=cursor, size=PAGE, by="at")
    names = scope_names(readable_scopes(actor))
    memories = named(actor, page)
    return {
        "rows": [_row(line, memories, names) for line in page],
        "next_url": _link(asked, cursor=following) if following else None,
        "total": None if cursor else count(lines.count(), "request"),
        "filters": [] if is_fragment(request) else _filters(asked, every, names.values()),
    }


def _choice(actor: Actor, asked: dict[str, str]) -> Choice:
    agent = asked.get("agent")
    return Choice(
        agent="" if agent == NO_AGENT else agent,
        outcome=asked.get("outcome"),
        scope=scope_for(actor, asked["scope"]) if "scope" in asked else None,
        text=asked.get("q", ""),
    )


def _row(line: RecallActivity, memories: Mapping[UUID, Named], scopes: Mapping[int, str]) -> dict[str, Any]:
    given = [memories.get(memory) or Named(memory) for memory in line.memories]
    return {
        "line": line,
        "said": _said(line),
        "scopes": ", ".join(sorted(scopes[scope] for scope in line.scopes if scope in scopes)),
        "reinforced": sum(line.reinforced),
        "first": given[:SHOWN_AT_ONCE],
        "more": given[SHOWN_AT_ONCE:],
    }


def _said(line: RecallActivity) -> str:
    if line.outcome == RecallActivity.Outcome.ERROR:
        return ERROR_WORDS.get(line.error, "Failed: the server's log has the details")
    return count(line.hits, "memory") if line.hits else "Nothing found"


def _filters(asked: dict[str, str], lines: QuerySet[RecallActivity], scopes: Iterable[str]) -> list[dict[str, Any]]:
    agents = [agent or NO_AGENT for agent in agents_of(lines)]
    outcomes = [(name, label) for name, (label, _) in OUTCOMES.items()]
    return [
        _group(asked, "Agent", "agent", [("", "All"), *((agent, agent) for agent in agents)]),
        _group(asked, "Result", "outcome", [("", "All"), *outcomes]),
        _group(asked, "Scope", "scope", [("", "All"), *((name, name) for name in scopes)]),
    ]


def _group(asked: dict[str, str], name: str, parameter: str, values: list[tuple[str, str]]) -> dict[str, Any]:
    return {
        "name": name,
        "options": [
            {
                "label": label,
                "href": _link(asked, **{parameter: value or None}),
                "selected": asked.get(parameter, "") == value,
            }
            for value, label in values
        ],
    }


def _link(asked: dict[str, str], **changed: str | None) -> str:
    kept = {name: value for name, value in {**asked, **changed}.items() if value}
    return f"{reverse('activity')}?{urlencode(kept)}" if kept else reverse("activity")
