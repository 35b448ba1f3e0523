"""What an agent would be told of a topic, for people to look at: nothing is counted and nothing is logged."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from memories.access import actor_for_request, readable_scopes
from memories.briefing import MOST_TOKENS, USUAL_TOKENS, Briefing, Told
from memories.errors import ValidationFailed, ZeroMemoryError
from memories.packing import CHARACTERS_A_TOKEN
from memories.presentation import scope_names
from reflections.briefing import brief


@require_safe
def briefing_page(request: HttpRequest) -> HttpResponse:
    actor = actor_for_request(request)
    asked = {name: request.GET.get(name, "").replace("\x00", "").strip() for name in ("topic", "scope", "max_tokens")}
    context: dict[str, Any] = {
        "asked": asked,
        "scopes": sorted(scope_names(readable_scopes(actor)).values()),
        "usual": USUAL_TOKENS,
    }
    try:
        found = brief(
            actor=actor,
            topic=asked["topic"],
            scopes=[asked["scope"]] if asked["scope"] else None,
            max_tokens=_number(asked["max_tokens"]),
        )
    except ZeroMemoryError as error:
        return render(request, "reflections/briefing.html", context | {"problem": error.message}, status=error.status)
    return render(request, "reflections/briefing.html", context | _shown(found))


def _number(given: str) -> int | None:
    if not given:
        return None
    if not given.isascii() or not given.isdecimal() or len(given) > len(str(MOST_TOKENS)):
        raise ValidationFailed(f"The budget is a whole number of tokens up to {MOST_TOKENS:,}.", field="max_tokens")
    return int(given)


def _shown(found: Briefing) -> dict[str, Any]:
    loops_more = found.open_loops_total - len(found.open_loops)
    return {
        "found": found,
        "parts": [
            _part("memories", "What the topic brings up" if found.topic else "What matters anyway", found.memories),
            _part("open-loops", "What is still open", found.open_loops, f"and {loops_more} more" if loops_more else ""),
            _part("linked", "What hangs together with it", found.linked),
            _part("recent", "What is new", found.recent),
        ],
        "spent": -(-found.spent // CHARACTERS_A_TOKEN),
        "budget": found.budget // CHARACTERS_A_TOKEN,
    }


def _part(key: str, title: str, told: Any, more: str = "") -> dict[str, Any]:
    rows: list[Told] = list(told)
    return {"key": key, "title": title, "rows": rows, "more": more}
