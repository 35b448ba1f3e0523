"""Background work: what runs by itself, and the searches for clusters somebody asked for."""

from __future__ import annotations

from typing import Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from memories.access import actor_for_request
from reflections.models import Run
from reflections.presentation import progress_of
from reflections.schedule import scheduled

MOST: Final = 50


@require_safe
def run_list(request: HttpRequest) -> HttpResponse:
    runs = Run.objects.asked_for_by(actor_for_request(request).user).order_by("-requested_at")[:MOST]
    rows = [{"run": run, "progress": progress_of(run)} for run in runs]
    return render(request, "reflections/runs.html", {"rows": rows, "scheduled": scheduled()})
