"""The change from one embedder to another: for everybody to see, for staff to steer."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from memories import condition
from memories.access import actor_for_request
from memories.embedder_in_use import newest_change
from memories.embedder_progress import progress_of
from memories.errors import Conflict
from memories.models import EmbedderChange
from memories.services import reembedding


@require_safe
def embedder_page(request: HttpRequest) -> HttpResponse:
    change = newest_change()
    staff = actor_for_request(request).user.is_staff
    context = {
        "embedder": condition.embedder(),
        "change": change,
        "staff": staff,
        # Counts over everybody's memories, so not for everybody.
        "progress": progress_of(change) if change and change.is_open and staff else None,
    }
    return render(request, "memories/embedder.html", context)


@require_POST
def embedder_pause(request: HttpRequest) -> HttpResponse:
    return _steer(request, reembedding.pause, "Paused. Searches go on with the former embedder.")


@require_POST
def embedder_resume(request: HttpRequest) -> HttpResponse:
    return _steer(request, reembedding.resume, "The change goes on.")


@require_POST
def embedder_roll_back(request: HttpRequest) -> HttpResponse:
    return _steer(request, reembedding.roll_back, "Rolled back. Searches use the former embedder from now on.")


def _steer(request: HttpRequest, act: Callable[..., EmbedderChange], said: str) -> HttpResponse:
    try:
        act(user=actor_for_request(request).user)
        messages.success(request, said)
    except Conflict as refusal:
        messages.warning(request, refusal.message)
    return redirect("embedder_page")
