"""The inbox. Each act is a plain form; htmx, where it runs, changes the evidence and one line instead of the page."""

from __future__ import annotations

import uuid
from typing import Any, Final
from urllib.parse import urlencode

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_POST, require_safe

from memories.access import actor_for_request, memory_for, readable_scopes
from memories.errors import Conflict, PayloadTooLarge, ValidationFailed, ZeroMemoryError
from memories.models import CodeLook
from memories.presentation import scope_names
from memories.views.fragments import is_fragment
from memories.views.sent import version_on_screen
from reflections.inbox.forms import ChallengeForm
from reflections.inbox.listing import MOST_AT_ONCE, Listing, listing_of
from reflections.inbox.presentation import all_selected, emptiness, lines_of, spoken_total, verbs_of
from reflections.inbox.registry import Item
from reflections.inbox.sources import item_of, source_called
from reflections.services import disputes

NOT_ASKED: Final = {"reason"}  # no form of the inbox asks for it
TYPED: Final = {"merge", "correct", "edit", "snooze"}  # acts whose form holds its own errors; of others the page does


@require_safe
def inbox(request: HttpRequest) -> HttpResponse:
    listing = listing_of(actor_for_request(request), request.GET)
    asked = item_of(request.GET.get("item", ""))
    answer = _part if is_fragment(request) else _page
    response = answer(request, listing, asked)
    patch_vary_headers(response, ["HX-Request"])
    return response


def _part(request: HttpRequest, listing: Listing, asked: Item | None) -> HttpResponse:
    if asked:
        return render(request, "inbox/evidence.html", _evidence(listing, asked))
    return render(request, "inbox/inbox.html#more", _rows(listing))


def _page(request: HttpRequest, listing: Listing, asked: Item | None, status: int = 200, **beside: Any) -> HttpResponse:
    context = _counts(listing) | _rows(listing) | {"held": CodeLook.objects.visible_to(listing.actor).asking().told()}
    first = context["rows"][0]["item"] if context["rows"] else None
    context |= _evidence(listing, asked or first, **beside)
    return render(request, "inbox/inbox.html", context, status=status)


def _counts(listing: Listing) -> dict[str, Any]:
    total = listing.total()
    return {
        "listing": listing,
        "tabs": listing.tabs(),
        "filters": listing.filters(),
        "orders": listing.orders(),
        "total": total,
        "spoken": spoken_total(listing.tab, total),
        "all_selected": all_selected(total),
        "selectable": min(total, MOST_AT_ONCE),
        "is_filtered": listing.is_filtered,
        "anything": any(tab["count"] for tab in listing.tabs()),
        "empty": None if total else emptiness(listing),
        "verbs": verbs_of(listing.tab),
        "may_act": bool(listing.actor.writable),
    }


def _rows(listing: Listing) -> dict[str, Any]:
    entries, next_url = listing.page()
    names = scope_names(readable_scopes(listing.actor))
    return {"rows": lines_of(entries, listing, names), "next_url": next_url}


def _evidence(
    listing: Listing, item: Item | None, *, told: str = "", bad: dict[str, Any] | None = None
) -> dict[str, Any]:
    """What stands beside *item*; *told* is why an act was refused, *bad* its form."""
    if item is None:
        return {"selected": None}
    source = source_called(item.source)
    row = source.load(listing.actor, item.id)
    shown = source.evidence(listing.actor, row, listing.query, bad or {})
    return {
        "selected": Item(item.source, row.pk, row.version),
        "version": row.version,
        "evidence": shown,
        "evidence_template": source.template,
        "told": told,
    }


# Deciding ------------------------------------------------------------------------------------


@require_POST
def inbox_act(request: HttpRequest, source: str, item_id: uuid.UUID, action: str) -> HttpResponse:
    """Do it and say so; a refusal keeps what was typed, and whoever comes second is told who was first."""
    listing = listing_of(actor_for_request(request), request.GET)
    kind, item = _named(source, item_id, action)
    row = kind.load(listing.actor, item.id)
    form = kind.form(action, row, request.POST)
    if form is not None and not form.is_valid():
        told = _unsaid(form, is_drawn=kind.draws(action, row))
        return _answer(request, listing, item, 422, bad={action: form}, told=told)
    following = listing.following(item)
    try:
        done = kind.acts[action](listing.actor, row, version_on_screen(request), form.cleaned_data if form else {})
    except (ValidationFailed, PayloadTooLarge) as error:
        return _refused(request, listing, item, action, form, error, is_drawn=kind.draws(action, row))
    except Conflict as error:
        return _too_late(request, listing, item, error)
    return _done(request, listing, item, following, done, undone=action == "undo")


def _named(source: str, item_id: uuid.UUID, action: str) -> tuple[Any, Item]:
    try:
        kind = source_called(source)
        kind.acts[action]
    except KeyError as error:
        raise Http404 from error
    return kind, Item(source, item_id)


def _done(
    request: HttpRequest, listing: Listing, item: Item, following: Item | None, text: str, *, undone: bool
) -> HttpResponse:
    undo = reverse("inbox_act", args=[item.source, item.id, "undo"])
    query = urlencode({"version": version_on_screen(request) + 1}) + (f"&{listing.query}" if listing.query else "")
    messages.success(request, text, extra_tags="" if undone else f"{undo}?{query}")
    if undone and not is_fragment(request):
        return redirect(listing.link(state="", item=item.name))
    if not is_fragment(request):
        return redirect(listing.link(item=following.name if following else ""))
    return render(request, "inbox/outcome.html", _counts(listing) | _evidence(listing, following) | {"gone": item})


def _refused(
    request: HttpRequest,
    listing: Listing,
    item: Item,
    action: str,
    form: Any,
    error: ZeroMemoryError,
    *,
    is_drawn: bool,
) -> HttpResponse:
    if form is None:
        raise error
    field = "text" if error.field == "content" and "text" in form.fields else error.field
    form.add_error(field if field in form.fields and field not in NOT_ASKED else None, error.message)
    told = "" if is_drawn or action not in TYPED else _unsaid(form, is_drawn=False)
    return _answer(request, listing, item, 422, bad={action: form}, told=told)


def _unsaid(form: Any, *, is_drawn: bool) -> str:
    """What is wrong in fields that nobody sees, in words; all of it where the form itself is not on the page."""
    hidden = {field.name for field in form.hidden_fields()} | NOT_ASKED
    wrong = {name: sentences for name, sentences in form.errors.items() if not is_drawn or name in hidden}
    if not wrong:
        return ""
    said = " ".join(sentence for sentences in wrong.values() for sentence in sentences)
    fields = ", ".join(name.replace("_", " ") for name in wrong if name in form.fields).capitalize()
    named = f"{fields}: {said}" if fields else said
    return f"Nothing was decided. {named} Load the page again, and decide there."


def _too_late(request: HttpRequest, listing: Listing, item: Item, error: Conflict) -> HttpResponse:
    """The item as it is now, with who decided; its line goes, unless it waits still."""
    kind = source_called(item.source)
    is_open = kind.is_open(kind.load(listing.actor, item.id))
    return _answer(request, listing, item, 409, told=error.message, gone=None if is_open else item)


def _answer(
    request: HttpRequest, listing: Listing, item: Item, status: int, *, gone: Item | None = None, **beside: Any
) -> HttpResponse:
    """The item once more with what was refused, as a fragment or in its page."""
    if not is_fragment(request):
        return _page(request, listing, item, status, **beside)
    context = _counts(listing) | _evidence(listing, item, **beside) | {"gone": gone}
    response = render(request, "inbox/outcome.html", context, status=status)
    response["X-Fragment"] = "1"
    return response


@require_POST
def memory_challenge(request: HttpRequest, memory_id: uuid.UUID) -> HttpResponse:
    actor = actor_for_request(request)
    memory = memory_for(actor, memory_id)
    form = ChallengeForm(request.POST)
    try:
        if not form.is_valid():
            raise ValidationFailed("A reason has at most 2000 characters, evidence at most 4000.")
        done = disputes.challenge(actor=actor, memory=memory, **form.cleaned_data)
    except (ValidationFailed, Conflict) as error:
        messages.error(request, error.message)
        return redirect("memory_detail", memory_id)
    said = "It was challenged before, and waits." if done.already_pending else "Challenged. It waits in the inbox."
    messages.success(request, f"{said} It is flagged until it is settled, and ranks lower unless it is upheld.")
    return redirect("memory_detail", memory_id)
