"""Many items at once: what would be done is counted first, then done, and can be undone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.text import capfirst
from django.views.decorators.http import require_POST

from memories.access import actor_for_request
from memories.errors import ValidationFailed
from reflections.inbox.bulk import VERBS, act_on, numbered
from reflections.inbox.listing import MOST_AT_ONCE, Listing, listing_of
from reflections.inbox.presentation import packed, told_after, told_before
from reflections.inbox.registry import Item, Tally
from reflections.inbox.sources import item_of


@require_POST
def inbox_bulk(request: HttpRequest) -> HttpResponse:
    listing = listing_of(actor_for_request(request), request.GET)
    verb, confirmed = request.POST.get("verb", ""), request.POST.get("items")
    if verb not in VERBS:
        raise ValidationFailed(f"The act must be one of {', '.join(VERBS)}.", field="verb")
    items = _confirmed(confirmed) if confirmed else _selected(request, listing)
    if not items:
        return redirect(listing.link())
    tally = act_on(listing.actor, items, verb, dry_run=not confirmed)
    context = _asked(verb, items, tally) if not confirmed else _done(verb, tally)
    return render(request, "inbox/bulk.html", context | {"listing": listing, "failed": _failures(listing, tally)})


def _selected(request: HttpRequest, listing: Listing) -> list[Item]:
    if request.POST.get("all"):
        return listing.items()
    return _items(request.POST.getlist("item"))


def _confirmed(text: str) -> list[Item]:
    return _items(text.split(","))


def _items(names: Sequence[str]) -> list[Item]:
    return [item for name in names[:MOST_AT_ONCE] if (item := item_of(name))]


def _asked(verb: str, items: Sequence[Item], tally: Tally) -> dict[str, Any]:
    return {
        "verb": verb,
        "label": VERBS[verb].label,
        "confirm": capfirst(VERBS[verb].would.format(numbered(len(tally.done), VERBS[verb].of))),
        "text": told_before(verb, tally),
        "count": len(tally.done),
        "items": packed(items),
    }


def _done(verb: str, tally: Tally) -> dict[str, Any]:
    return {
        "done": True,
        "text": told_after(verb, tally),
        "undo": packed(tally.done) if verb != "undo" else "",
        "count": len(tally.done),
    }


def _failures(listing: Listing, tally: Tally) -> list[dict[str, str]]:
    return [{"href": listing.link(item=failure.item.name), "message": failure.message} for failure in tally.failed]
