"""One question, three ways of remembering side by side: nothing, by time alone, and beside the code as it is now."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from memories.access import Actor, actor_for_request
from memories.anchors import told_of
from memories.configuration import ranking_rules
from memories.errors import ValidationFailed
from memories.models import Memory, Repository
from memories.presentation import result_row
from memories.recall import Recall, Result, recall
from memories.transfer.demo import story

SHOWN: Final = 5
LOOKED_THROUGH: Final = 20  # results in which a memory of the other order is looked for
ASKED: Final = ("q", "scope", "kind")
BY_TIME: Final = frozenset({"structural", "reinforcement"})


@require_safe
def memory_compare(request: HttpRequest) -> HttpResponse:
    actor = actor_for_request(request)
    asked = {name: request.GET.get(name, "").replace("\0", "").strip() for name in ASKED}
    context: dict[str, Any] = {"asked": asked}
    try:
        context |= _compared(actor, asked) if asked["q"] else {"story": _story(actor)}
    except ValidationFailed as error:
        context["problem"] = error.message
    return render(request, "memories/compare.html", context, status=400 if "problem" in context else 200)


def _compared(actor: Actor, asked: dict[str, str]) -> dict[str, Any]:
    by_time = _recalled(actor, asked, BY_TIME)
    ours = _recalled(actor, asked, frozenset())
    places = {result.memory.pk: place for place, result in enumerate(by_time.results, 1)}
    return {
        "compared": True,
        "told": _told(by_time.results, ours.results),
        "by_time": _rows(by_time.results),
        "ours": [
            row | {"moved": _moved(place, places.get(row["id"]))} for place, row in enumerate(_rows(ours.results), 1)
        ],
        "notices": by_time.notices,  # what became of the code is told already
        "play": _play(actor, ours.results[:SHOWN]),
    }


def _recalled(actor: Actor, asked: dict[str, str], ignore: frozenset[str]) -> Recall:
    return recall(
        actor=actor,
        query=asked["q"],
        scopes=[asked["scope"]] if asked["scope"] else None,
        kinds=[asked["kind"]] if asked["kind"] else None,
        k=LOOKED_THROUGH,
        ignore=ignore,
        rows=Memory.objects.for_list(),
    )


def _rows(results: list[Result]) -> list[dict[str, Any]]:
    rules, now = ranking_rules(), timezone.now()
    return [
        result_row(result, place, results[0].score, rules, now) for place, result in enumerate(results[:SHOWN], start=1)
    ]


def _moved(place: int, before: int | None) -> str:
    if before is None:
        return "not found by time alone"
    if before == place:
        return ""
    return f"{'up' if place < before else 'down'} from place {before}"


def _told(by_time: list[Result], ours: list[Result]) -> str:
    """In a sentence, what the difference comes to."""
    if not ours:
        return "None of the memories you may read answers this, so all three say nothing."
    if by_time[0].memory.pk == ours[0].memory.pk:
        lowered = sum(result.factors.structural < 1 for result in ours)
        return "Both orders begin with the same memory." + (
            " Further down, the code counts." if lowered else " No code that these memories name has changed."
        )
    first = next((result for result in ours if result.memory.pk == by_time[0].memory.pk), None)
    if first is None or first.factors.structural == 1:
        return "The two orders begin with different memories, because of what use they were."
    return f"Time alone begins with a memory that stopped applying: {told_of(first.anchors)}."


def _story(actor: Actor) -> str:
    """The address of the story of the demonstration, where it was told."""
    if not Repository.objects.visible_to(actor).filter(name=story.REPOSITORY).exists():
        return ""
    return f"{reverse('memory_compare')}?{urlencode({'q': story.QUESTION})}"


def _play(actor: Actor, results: list[Result]) -> dict[str, str] | None:
    """Where the story of the demonstration is played; for those who may know folders of the server."""
    named = {now.anchor.repository for result in results for now in result.anchors}
    if story.REPOSITORY not in named or not actor.user.is_staff:
        return None
    path = Repository.objects.visible_to(actor).filter(name=story.REPOSITORY).values_list("path", flat=True).first()
    return {"folder": path, "file": str(Path(path) / story.FILE), "symbol": story.SYMBOL} if path else None
