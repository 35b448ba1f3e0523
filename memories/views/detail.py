"""One memory: what it says, where it comes from, and what became of it."""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.timezone import localtime
from django.views.decorators.http import require_safe

from memories.access import Actor, actor_for_request, memory_for, readable_scopes
from memories.configuration import ranking_rules, reinforcement_rule
from memories.differences import difference
from memories.doubts import open_disputes
from memories.embedding_queue import is_embedded, stamps_in_use
from memories.headlines import headline
from memories.history import Tie, contents, ties, trail, versions
from memories.models import AuditEntry, Memory
from memories.presentation import AUTHOR_WORDS, PROVENANCE_WORDS, action_words, freshness, scope_names
from memories.staying import kept_for, unpinned_warning
from memories.usage import given_lately, said_of
from memories.views.anchoring import code_of
from memories.views.used import use_of
from memories.views.verifying import checks_of

COMPARED: Final = 5  # the newest versions, each with the one before; older ones show their difference on their own page
TIE_WORDS: Final = {
    ("relates_to", "out"): "Relates to",
    ("relates_to", "in"): "Related from",
    ("contradicts", "out"): "Contradicts",
    ("contradicts", "in"): "Contradicted by",
    ("derived_from", "out"): "Derived from",
    ("derived_from", "in"): "Distilled into",
}


@require_safe
def memory_detail(request: HttpRequest, memory_id: uuid.UUID) -> HttpResponse:
    actor = actor_for_request(request)
    memory = memory_for(actor, memory_id)
    factor, faded = freshness(memory, ranking_rules(), timezone.now())
    history = versions(memory, actor)
    acts = [_act(entry) for entry in trail(memory)]
    title = headline(memory.content)
    context = {
        "memory": memory,
        "headline": title,
        "is_short": title == memory.content,
        "scope_name": scope_names(readable_scopes(actor))[memory.scope_id],
        "age_factor": factor,
        "faded": faded,
        "facts": _facts(memory),
        "entities": memory.memory_entities.select_related("entity").order_by("entity__canonical"),
        "ties": [_tie(tie) for tie in ties(memory, actor) if tie.type != "supersedes"],
        "history": _history(history, memory),
        "trail": acts,
        "automatic": [act for act in acts if act["scanner"]],
        "checks": checks_of(memory),
        "code": code_of(memory),
        **_use(actor, memory),
        "dispute": open_disputes([memory.pk]).get(memory.pk),
        "may_write": memory.scope_id in actor.writable,
        "unpinned": unpinned_warning(memory, timezone.now()),
        "newest": history[0] if history[0].pk != memory.pk else None,
    }
    return render(request, "memories/detail.html", context)


def _use(actor: Actor, memory: Memory) -> dict[str, Any]:
    now, constants = localtime(), reinforcement_rule()
    said = said_of(memory, now=now, constants=constants)
    use = use_of(actor, memory, said, now=now, constants=constants)
    return {"use": use, "given": given_lately(memory, said, now)}


def _facts(memory: Memory) -> list[dict[str, Any]]:
    reinforcement = getattr(memory, "reinforcement", None)
    facts: list[dict[str, Any]] = [
        {"label": "Scope", "text": memory.scope.name},
        {"label": "Learned", "when": memory.created_at},
        {"label": "Newest source", "when": memory.newest_source_at},
        {"label": "Last changed", "when": memory.updated_at},
        _moment("Valid from", memory.valid_from),
        _moment("Valid until", memory.valid_until),
        {"label": "Written by", "text": AUTHOR_WORDS[memory.author_kind]},
        {"label": "Author", "text": memory.author.get_username() if memory.author else None},
        {"label": "Agent", "text": memory.agent},
        {"label": "Session", "text": memory.session},
        {"label": "Source", "text": memory.source},
        {"label": "Provenance", "text": PROVENANCE_WORDS[memory.provenance]},
        {"label": "Confidence", "text": memory.get_confidence_display()},
        {"label": "Retention", "text": kept_for(memory, timezone.now())},
        {"label": "Reinforcement", "text": f"× {reinforcement.multiplier:.2f}" if reinforcement else "× 1, no signals"},
        {"label": "Found by meaning", "when": memory.embedded_at}
        if is_embedded(memory, stamps_in_use())
        else _waiting(memory),
        {"label": "Version", "text": str(memory.version)},
        {"label": "Id", "text": str(memory.pk)},
    ]
    optional = {"Newest source", "Agent", "Session", "Source"}
    return [fact for fact in facts if fact["label"] not in optional or fact.get("text") or fact.get("when")]


def _moment(label: str, when: datetime | None) -> dict[str, Any]:
    return {"label": label, "when": when, "future": when is not None and when > timezone.now()}


def _waiting(memory: Memory) -> dict[str, Any]:
    text = f"not yet: {memory.embedding_error}" if memory.embedding_error else "not yet, found by words only"
    return {"label": "Found by meaning", "text": text}


def _tie(tie: Tie) -> dict[str, Any]:
    return {
        "words": TIE_WORDS[tie.type, tie.direction],
        "memory": tie.memory,
        "url": reverse("memory_detail", args=[tie.memory.pk]),
    }


def _history(history: list[Memory], shown: Memory) -> list[dict[str, Any]]:
    """Nothing where nothing was ever replaced."""
    if len(history) == 1:
        return []
    pairs = list(zip(history, [*history[1:], None], strict=True))
    compared = [pair for place, pair in enumerate(pairs) if place < COMPARED or pair[0].pk == shown.pk]
    texts = contents([version for pair in compared for version in pair if version])
    diffs = {new.pk: difference(texts[old.pk], texts[new.pk]) for new, old in compared if old}
    return [
        {
            "memory": version,
            "is_shown": version.pk == shown.pk,
            "url": reverse("memory_detail", args=[version.pk]),
            "diff": diffs.get(version.pk),
        }
        for version in history
    ]


def _act(entry: AuditEntry) -> dict[str, Any]:
    fields = entry.detail.get("fields", [])
    return {
        "words": action_words(entry.action),
        "fields": ", ".join(map(str, fields)),
        "scanner": entry.detail.get("scanner", "") if entry.user_id is None else "",
        "model": entry.detail.get("model", ""),
        "dispute": entry.detail.get("dispute", ""),
        "operation": entry.detail.get("operation", ""),
        "entry": entry,
    }
