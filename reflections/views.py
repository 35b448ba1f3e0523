"""The queue of drafts. Each act is a plain form; htmx, where it runs, changes one row instead of the page."""

from __future__ import annotations

import uuid
from functools import partial
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_POST, require_safe

from memories.access import actor_for_request
from memories.errors import Conflict, PayloadTooLarge, ValidationFailed
from memories.models import Scope
from memories.views.fragments import is_fragment
from memories.views.sent import version_on_screen
from reflections import configuration, services
from reflections.access import candidate_for, run_for
from reflections.emptiness import emptiness, not_embedded
from reflections.forms import DismissForm, EditForm, RowForm, SnoozeForm
from reflections.listing import Listing, listing_of
from reflections.models import Candidate, Run
from reflections.presentation import (
    WORDS,
    approved,
    failed_of,
    progress_of,
    row_of,
    spoken_total,
    tabs_of,
    undone,
)
from reflections.services.runs import REFLECTION
from reflections.similar import similar_to
from reflections.wording import day

RETRIED = "The model is asked again in the search that is starting now."
RETRIED_LATER = "A search is under way already. The model is asked again in this one or the next."


@require_safe
def reflection_list(request: HttpRequest) -> HttpResponse:
    listing = listing_of(actor_for_request(request), request.GET)
    rows, next_url = listing.page()
    context = _counts(listing) | {
        "rows": _rows(rows, listing),
        "next_url": next_url,
        "here": listing.link(),
    }
    if not rows:
        context["empty"] = emptiness(listing)
    if is_fragment(request):
        more = "reflections/list.html#more" if listing.after else "reflections/queue.html"
        response = render(request, more, context)
    else:
        response = render(request, "reflections/list.html", context | _search(listing))
    patch_vary_headers(response, ["HX-Request"])
    return response


def _counts(listing: Listing) -> dict[str, Any]:
    counts = listing.counts()
    return {
        "listing": listing,
        "tabs": tabs_of(counts, listing.tab, listing.link),
        "filters": listing.scope_filters(),
        "total": counts[listing.tab],
        "spoken": spoken_total(listing.tab, counts[listing.tab]),
    }


def _rows(candidates: list[Candidate], listing: Listing, **bad: RowForm) -> list[dict[str, Any]]:
    days = configuration.current().snooze_days
    return [
        row_of(candidate, listing.actor, snooze_days=days, listing=listing.query, bad=bad) for candidate in candidates
    ]


def _search(listing: Listing) -> dict[str, Any]:
    run = Run.objects.visible_to(listing.actor).filter(steps__name=REFLECTION).order_by("-requested_at").first()
    return {
        "progress": progress_of(run),
        "may_search": bool(listing.actor.writable),
        "unseen": not_embedded(listing) if listing.tab == "pending" else "",
        "failed": failed_of(listing.failed(), listing.actor) if listing.tab == "pending" else [],
    }


@require_safe
def reflection_detail(request: HttpRequest, candidate_id: uuid.UUID) -> HttpResponse:
    actor = actor_for_request(request)
    (row,) = _rows([candidate_for(actor, candidate_id)], Listing(actor))
    return render(request, "reflections/detail.html", {"row": row})


@require_safe
def reflection_similar(request: HttpRequest, candidate_id: uuid.UUID) -> HttpResponse:
    """What is stored already and resembles the draft: beside it, or on the draft's own page."""
    actor = actor_for_request(request)
    candidate = candidate_for(actor, candidate_id)
    similar = similar_to(candidate)
    if is_fragment(request):
        return render(request, "reflections/similar.html", {"similar": similar})
    (row,) = _rows([candidate], Listing(actor))
    return render(request, "reflections/detail.html", {"row": row, "similar": similar})


# Deciding ------------------------------------------------------------------------------------


@require_POST
def reflection_approve(request: HttpRequest, candidate_id: uuid.UUID) -> HttpResponse:
    candidate = candidate_for(actor_for_request(request), candidate_id)
    form = EditForm(request.POST, row=candidate.pk) if "content" in request.POST else None
    return _decide(request, candidate, "edit", form, partial(_approve, shown=request.POST.get("shown")))


@require_POST
def reflection_dismiss(request: HttpRequest, candidate_id: uuid.UUID) -> HttpResponse:
    candidate = candidate_for(actor_for_request(request), candidate_id)
    return _decide(request, candidate, "dismissal", DismissForm(request.POST, row=candidate.pk), _dismiss)


@require_POST
def reflection_snooze(request: HttpRequest, candidate_id: uuid.UUID) -> HttpResponse:
    candidate = candidate_for(actor_for_request(request), candidate_id)
    return _decide(request, candidate, "snoozing", SnoozeForm(request.POST, row=candidate.pk), _snooze)


@require_POST
def reflection_undo(request: HttpRequest, candidate_id: uuid.UUID) -> HttpResponse:
    candidate = candidate_for(actor_for_request(request), candidate_id)
    return _decide(request, candidate, "", None, _undo)


def _approve(act: dict[str, Any], form: EditForm | None, *, shown: str | None) -> str:
    edited = form.cleaned_data if form else {}
    memory = services.approve(**act, content=edited.get("content"), kind=edited.get("kind"), shown=shown)
    return approved(act["candidate"], memory)


def _dismiss(act: dict[str, Any], form: DismissForm) -> str:
    services.dismiss(**act, reason=form.cleaned_data["reason"])
    return WORDS[act["candidate"].purpose]["dismissed"]


def _snooze(act: dict[str, Any], form: SnoozeForm) -> str:
    candidate = services.snooze(**act, until=form.cleaned_data["until"])
    assert candidate.snoozed_until  # the service has just set it
    return f"Snoozed until {day(candidate.snoozed_until)}."


def _undo(act: dict[str, Any], _form: None) -> str:
    was_approved = act["candidate"].memory_id is not None
    services.undo(**act)
    return undone(act["candidate"], was_approved=was_approved)


def _decide(request: HttpRequest, candidate: Candidate, name: str, form: Any, act: Any) -> HttpResponse:
    """Do it and say so; a refusal keeps what was typed."""
    actor = actor_for_request(request)
    listing = listing_of(actor, request.GET)
    if form is not None and not form.is_valid():
        return _refused(request, candidate, listing, **{name: form})
    try:
        done = act({"actor": actor, "candidate": candidate, "version": version_on_screen(request)}, form)
    except (ValidationFailed, PayloadTooLarge) as error:
        if form is None:
            raise
        form.add_error(error.field if error.field in form.fields else None, error.message)
        return _refused(request, candidate, listing, **{name: form})
    except Conflict as error:
        return _too_late(request, candidate, listing, error)
    return _done(request, candidate, listing, done, undone=act is _undo)


def _done(request: HttpRequest, candidate: Candidate, listing: Listing, text: str, *, undone: bool) -> HttpResponse:
    version = version_on_screen(request) + 1
    undo = f"{reverse('reflection_undo', args=[candidate.pk])}?version={version}"
    messages.success(request, text, extra_tags="" if undone else undo)
    if not is_fragment(request):
        return redirect(listing.link() if not undone else f"{listing.link(state='')}#draft-{candidate.pk}")
    context = _counts(listing)
    if not context["total"]:
        context["empty"] = emptiness(listing)
    return render(request, "reflections/outcome.html", context)


def _refused(request: HttpRequest, candidate: Candidate, listing: Listing, **bad: RowForm) -> HttpResponse:
    """The row again with the errors beside the fields, as a fragment or as a page of its own."""
    template = "reflections/draft.html" if is_fragment(request) else "reflections/detail.html"
    (row,) = _rows([candidate], listing, **bad)
    response = render(request, template, {"row": row}, status=422)
    response["X-Fragment"] = "1"
    return response


def _too_late(request: HttpRequest, candidate: Candidate, listing: Listing, error: Conflict) -> HttpResponse:
    """The row as it is now, with who decided; without htmx the list, which no longer has it."""
    if not is_fragment(request):
        messages.warning(request, error.message)
        return redirect(listing.link())
    (row,) = _rows([candidate_for(listing.actor, candidate.pk)], listing)
    context = _counts(listing) | {"row": row, "told": error.message}
    response = render(request, "reflections/outcome.html", context, status=409)
    response["X-Fragment"] = "1"
    return response


# Searching -----------------------------------------------------------------------------------


@require_POST
def reflection_find(request: HttpRequest) -> HttpResponse:
    actor = actor_for_request(request)
    listing = listing_of(actor, request.GET)
    scopes = [listing.scope] if listing.scope else list(Scope.objects.filter(pk__in=actor.writable).order_by("pk"))
    started = services.start_run(actor=actor, scopes=scopes)
    if is_fragment(request):
        return _progress(request, started.run)
    if not started.is_new:
        messages.info(request, "A search of these scopes is already under way.")
    return redirect(listing.link())


@require_POST
def reflection_retry(request: HttpRequest, cluster_id: int) -> HttpResponse:
    actor = actor_for_request(request)
    scope = services.retry_cluster(actor=actor, cluster_id=cluster_id)
    started = services.start_run(actor=actor, scopes=[scope])
    messages.info(request, RETRIED if started.is_new else RETRIED_LATER)
    return redirect("reflection_list")


@require_safe
def reflection_run(request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
    run = run_for(actor_for_request(request), run_id)
    return _progress(request, run) if is_fragment(request) else redirect("reflection_list")


def _progress(request: HttpRequest, run: Run) -> HttpResponse:
    response = render(request, "reflections/progress.html", {"progress": progress_of(run)})
    if run.state == Run.State.DONE and run.candidates_made:
        response["HX-Trigger"] = "drafts-found"  # an empty list fills itself; one being worked through is left alone
    return response
