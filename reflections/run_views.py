"""Background work: what runs by itself, the hygiene cycle, and what its runs found and did."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any, Final

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from memories.access import Actor, actor_for_request, readable_scopes, scope_for
from memories.errors import Conflict
from memories.models import Scope
from memories.presentation import scope_names
from memories.views.fragments import page_or_part
from reflections import hygiene, services
from reflections.access import run_for
from reflections.hygiene import STEPS
from reflections.models import Run, RunStep, Transcript
from reflections.presentation import counted
from reflections.reports import reports_of, spent_words
from reflections.schedule import scheduled
from reflections.services import asking
from reflections.services.runs import Started
from zeromemory.llm import model_in_use

MOST: Final = 30
MOST_TRANSCRIPTS: Final = 10
TEMPLATE: Final = "reflections/runs.html"
LATE_AFTER: Final = 2  # periods of the schedule without a full cycle


@require_safe
def run_list(request: HttpRequest) -> HttpResponse:
    actor = actor_for_request(request)
    runs = list(Run.objects.visible_to(actor).prefetch_related("steps", "scopes").order_by("-requested_at")[:MOST])
    context = {
        "latest": _shown(runs[0], actor) if runs else None,
        "earlier": [_row(run) for run in runs[1:]],
        "scopes": _choices(actor),
        "steps": list(STEPS.values()),
        "scheduled": scheduled(),
        "model": _model(is_staff=actor.user.is_staff),
        "notices": _notices(actor),
        "transcripts": [_conversation(row) for row in Transcript.objects.visible_to(actor).newest()[:MOST_TRANSCRIPTS]],
    }
    return render(request, TEMPLATE, context)


@require_safe
def run_detail(request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
    actor = actor_for_request(request)
    run = run_for(actor, run_id)
    return page_or_part(request, "reflections/run.html", "report", {"latest": _shown(run, actor)})


@require_POST
def run_start(request: HttpRequest) -> HttpResponse:
    actor = actor_for_request(request)
    named = request.POST.get("scope", "")
    scopes = [scope_for(actor, named)] if named else list(Scope.objects.filter(pk__in=actor.writable).order_by("pk"))
    started = hygiene.start_cycle(actor=actor, scopes=scopes, kind=request.POST.get("kind", Run.Kind.FULL))
    return _started(request, actor, started)


@require_POST
def run_again(request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
    """The steps of a run that did not come to their end, once more over the same scopes."""
    actor = actor_for_request(request)
    run = run_for(actor, run_id)
    left = list(run.steps.exclude(state=RunStep.State.DONE).values_list("name", flat=True))
    names = [name for name in left if name in STEPS]
    if run.is_unfinished or not names:
        raise Conflict("Every step of this run is done or under way, so there is nothing to try again.")
    return _started(request, actor, hygiene.start_cycle(actor=actor, scopes=list(run.scopes.all()), steps=names))


@require_POST
def run_cancel(request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
    actor = actor_for_request(request)
    try:
        services.cancel(actor=actor, run=run_for(actor, run_id))
        messages.success(request, "The run stops at its next step. What it did stays.")
    except Conflict as error:
        messages.info(request, error.message)
    return redirect("run_list")


def _started(request: HttpRequest, actor: Actor, started: Started) -> HttpResponse:
    if started.is_new:
        messages.success(request, f"{started.run.get_kind_display()} of {_scopes_of(started.run)} is queued.")
    else:
        messages.info(request, "One of these scopes is being looked after already. No second run was started.")
    return redirect("run_list")


# What the pages show ---------------------------------------------------------------------------


def _shown(run: Run, actor: Actor) -> dict[str, Any]:
    may_change = all(scope.pk in actor.writable for scope in run.scopes.all())
    return _row(run) | {
        "reports": reports_of(run),
        "may_cancel": may_change and run.is_unfinished and run.cancel_asked_at is None,
        "may_repeat": may_change and run.state in (Run.State.FAILED, Run.State.CANCELLED),
    }


def _row(run: Run) -> dict[str, Any]:
    return {"run": run, "scopes": _scopes_of(run), "said": _said(run), "level": _level(run)}


def _scopes_of(run: Run) -> str:
    names = sorted(scope_names(list(run.scopes.all())).values())
    return ", ".join(names) if len(names) <= 3 else f"{', '.join(names[:2])} and {len(names) - 2} more scopes"


def _said(run: Run) -> str:
    """Where it stands, in a sentence."""
    if run.state == Run.State.QUEUED:
        waits = timezone.now() - run.requested_at > timedelta(seconds=45)
        return "It waits for a worker. Is the worker running?" if waits else "It is about to start."
    if run.state == Run.State.RUNNING:
        return _at_work(run)
    if run.state == Run.State.FAILED:
        return run.error or "It failed."
    found, done = (sum(getattr(step, name) for step in run.steps.all()) for name in ("found", "done"))
    return (
        f"{'Stopped. ' if run.state == Run.State.CANCELLED else ''}{found:,} looked at, {done:,} acted on or proposed."
    )


def _at_work(run: Run) -> str:
    steps = list(run.steps.all())
    ended = sum(step.finished_at is not None for step in steps)
    stopping = " It stops at its next beat." if run.cancel_asked_at else ""
    return f"Step {min(ended + 1, len(steps))} of {len(steps)} is under way.{stopping}"


def _conversation(row: Transcript) -> dict[str, Any]:
    return {"row": row, "said": row.note or _judged(row)}


def _judged(row: Transcript) -> str:
    """What came of it, or how far it is."""
    if not row.has_ended:
        return f"{row.asked} of {counted(row.questions, 'question')} asked."
    useful, misled = (sum(verdict[flag] for verdict in row.verdicts) for flag in ("useful", "misled"))
    return f"{useful} useful, {misled} misled, of {len(row.verdicts)} judged."


def _level(run: Run) -> str:
    if run.state == Run.State.FAILED:
        return "danger"
    return "amber" if run.state == Run.State.CANCELLED else "info"


def _choices(actor: Actor) -> list[str]:
    writable = [scope for scope in readable_scopes(actor) if scope.pk in actor.writable]
    return sorted(scope_names(writable).values())


def _model(*, is_staff: bool) -> dict[str, Any]:
    """What the whole installation spends is for staff."""
    choice = model_in_use()
    (spent, estimated), budget = asking.cost_today(), settings.MODEL_DAILY_TOKENS
    return {
        "name": choice.name if choice else "",
        "spent": spent_words(spent, estimated) if is_staff else "",
        "budget": f"{budget:,}" if budget and is_staff else "",
        "is_spent": bool(budget) and spent >= budget,
    }


def _notices(actor: Actor) -> list[str]:
    late = _late_scopes(actor)
    if not late:
        return []
    hours = counted(settings.HYGIENE_HOURS, "hour")
    return [
        f"The cycle should run every {hours}, and {counted(len(late), 'scope')} had no complete one for longer than "
        f"{counted(settings.HYGIENE_HOURS * LATE_AFTER, 'hour')}. Is the worker running? Its last runs are below."
    ]


def _late_scopes(actor: Actor) -> list[Scope]:
    if not settings.HYGIENE_HOURS:
        return []
    since = timezone.now() - timedelta(hours=settings.HYGIENE_HOURS * LATE_AFTER)
    done = Run.objects.filter(kind=Run.Kind.FULL, state=Run.State.DONE, finished_at__gt=since)
    scopes = Scope.objects.filter(pk__in=actor.writable, created_at__lt=since)
    return list(scopes.exclude(runs__in=done))
