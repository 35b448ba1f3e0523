"""The code of one memory: what became of it, and saying that the memory still holds."""

from __future__ import annotations

import time
import uuid
from typing import Any, Final

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from memories.access import actor_for_request, writable_memory_for
from memories.anchors import AnchorNow, Looking
from memories.checkout import Checkout
from memories.code.verdicts import DEMOTING, Verdict
from memories.commits import SECONDS as COMMIT_SECONDS
from memories.commits import differs_at
from memories.errors import ZeroMemoryError
from memories.models import Anchor, Memory
from memories.services import reanchor
from memories.then_and_now import difference_of
from memories.verdict_words import SENTENCES, badge_of

SECONDS: Final = 5.0
_TAKEN_ANEW: Final = {Verdict.CHANGED, Verdict.MOVED, Verdict.RENAMED}


def code_of(memory: Memory) -> dict[str, Any]:
    """Its anchors with their verdicts as of now, and the former ones; both empty where it names no code."""
    anchors = list(Anchor.objects.filter(memory=memory).order_by("created_at", "pk"))
    looking = Looking()
    in_force = [anchor for anchor in anchors if anchor.retired_at is None]
    nows = looking.at(in_force, seconds=SECONDS)
    until = time.monotonic() + COMMIT_SECONDS
    return {
        "anchors": [_shown(now, looking, until) for now in nows],
        "former": [anchor for anchor in reversed(anchors) if anchor.retired_at],
    }


def _shown(now: AnchorNow, looking: Looking, until: float) -> dict[str, Any]:
    tree = looking.tree_of(now.anchor)
    return {
        "anchor": now.anchor,
        "verdict": now.verdict,
        "badge": badge_of(now.verdict),
        "words": SENTENCES[now.verdict],
        "detail": now.judged.detail,
        "commit": _commit(now, tree, until) if tree and now.verdict in DEMOTING else "",
        "may_be_taken_anew": now.verdict in _TAKEN_ANEW,
        "elsewhere": now.judged.place,
        "diff": difference_of(now, tree),
    }


def _commit(now: AnchorNow, tree: Checkout, until: float) -> str:
    left = until - time.monotonic()
    return differs_at(now.anchor, tree, seconds=left) if left > 0 else ""


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
