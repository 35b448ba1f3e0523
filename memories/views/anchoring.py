"""The code of one memory: what became of it, and saying that the memory still holds."""

from __future__ import annotations

import uuid
from typing import Any, Final

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from memories.access import actor_for_request, writable_memory_for
from memories.anchored import text_now, text_then
from memories.anchors import AnchorNow, Looking
from memories.checkout import Checkout
from memories.code.verdicts import Verdict
from memories.differences import line_difference
from memories.errors import ZeroMemoryError
from memories.guard import masked
from memories.models import Anchor, Memory
from memories.services import reanchor
from memories.verdict_words import SENTENCES, badge_of

SECONDS: Final = 5.0
_TAKEN_ANEW: Final = {Verdict.CHANGED, Verdict.MOVED, Verdict.RENAMED}
_DATED: Final = {Verdict.CHANGED, Verdict.GONE}


def code_of(memory: Memory) -> dict[str, Any]:
    """Its anchors with their verdicts as of now, and the former ones; both empty where it names no code."""
    anchors = list(Anchor.objects.filter(memory=memory).order_by("created_at", "pk"))
    looking = Looking()
    in_force = [anchor for anchor in anchors if anchor.retired_at is None]
    return {
        "anchors": [_shown(now, looking) for now in looking.at(in_force, seconds=SECONDS)],
        "former": [anchor for anchor in reversed(anchors) if anchor.retired_at],
    }


def _shown(now: AnchorNow, looking: Looking) -> dict[str, Any]:
    tree = looking.tree_of(now.anchor)
    return {
        "anchor": now.anchor,
        "badge": badge_of(now.verdict),
        "words": SENTENCES[now.verdict],
        "detail": now.judged.detail,
        "commit": _commit(now, tree) if tree and now.verdict in _DATED else "",
        "may_be_taken_anew": now.verdict in _TAKEN_ANEW,
        "elsewhere": now.judged.place,
        "diff": _diff(now, tree),
    }


def _diff(now: AnchorNow, tree: Checkout | None) -> list[dict[str, str]]:
    """By lines, without the secrets in them; nothing where the text is the same or could not be read."""
    if tree is None or now.verdict in {Verdict.UNCHANGED, Verdict.UNKNOWN, Verdict.AMBIGUOUS}:
        return []
    return line_difference(text_then(now.anchor), masked(text_now(now, tree)))


def _commit(now: AnchorNow, tree: Checkout) -> str:
    """The newest commit that touched the file: its hash, day and subject; empty where git knows none."""
    told = tree.git(
        "--literal-pathspecs", "log", "-1", "--no-show-signature", "--format=%h, %as: %s", "--", now.anchor.path
    )
    return (told or "").strip()


@require_POST
def memory_reanchor(request: HttpRequest, memory_id: uuid.UUID, anchor_id: uuid.UUID) -> HttpResponse:
    actor = actor_for_request(request)
    memory = writable_memory_for(actor, memory_id)
    try:
        reason = request.POST.get("reason", "").strip()
        reanchor(actor=actor, memory=memory, anchors=[anchor_id], reason=reason)
    except ZeroMemoryError as error:
        if error.status == 404:
            raise
        messages.warning(request, f"Nothing was changed. {error.message}")
    else:
        messages.success(request, "Noted that it holds for the code as it is now.")
    return redirect("memory_detail", memory_id=memory.pk)
