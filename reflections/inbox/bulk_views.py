"""Many items at once: what would be done is counted first, then done, and can be undone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.text import capfirst
from django.views.decorators.http import require_http_methods

from memories.access import actor_for_request, readable_scopes
from memories.errors import ValidationFailed
from memories.headlines import headline
from memories.presentation import scope_names
from reflections.inbox.bulk import VERBS, act_on, numbered
from reflections.inbox.listing import MOST_AT_ONCE, Listing, listing_of
from reflections.inbox.presentation import left_over, lines_of, packed, told_after, told_before
from reflections.inbox.registry import Item, Tally
from reflections.inbox.sources import item_of

SHOWN: Final = 10  # of the items of an act, before the fold
LAST: Final = "inbox_bulk"  # in the session: what the last act did, so that a reload still offers Undo


@require_http_methods(["GET", "HEAD", "POST"])
def inbox_bulk(request: HttpRequest) -> HttpResponse:
    listing = listing_of(actor_for_request(request), request.GET)
    if request.method != "POST":
        return _last(request, listing)
    verb, confirmed = request.POST.get("verb", ""), request.POST.get("items")
    if verb not in VERBS:
        raise ValidationFailed(f"The act must be one of {', '.join(VERBS)}.", field="verb")
    items = _confirmed(confirmed) if confirmed else _selected(request, listing)
    if not items:
        return redirect(listing.link())
    tally = act_on(listing.actor, items, verb, dry_run=not confirmed)
    if confirmed:
        request.session[LAST] = _done(verb, tally) | {"failed": _failures(listing, tally)}
        return redirect(f"{reverse('inbox_bulk')}{'?' if listing.query else ''}{listing.query}")
    context = _asked(verb, items, tally) | {"failed": _failures(listing, tally)} | _named(listing, tally)
    return render(request, "inbox/bulk.html", context | {"listing": listing, "more": _more(request, listing)})


def _last(request: HttpRequest, listing: Listing) -> HttpResponse:
    """What was done, under an address that can be loaded again."""
    done = request.session.get(LAST)
    if done is None:
        return redirect(listing.link())
    return render(request, "inbox/bulk.html", done | {"listing": listing})


def _selected(request: HttpRequest, listing: Listing) -> list[Item]:
    if request.POST.get("all"):
        return listing.items()
    return _items(request.POST.getlist("item"))


def _more(request: HttpRequest, listing: Listing) -> str:
    """Of a selection that one act cannot hold, what is left for the next one."""
    selected = listing.total() if request.POST.get("all") else len(request.POST.getlist("item"))
    return left_over(selected)


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


def _named(listing: Listing, tally: Tally) -> dict[str, Any]:
    """The lines of what the act would change, and of what it passes over."""
    names = scope_names(readable_scopes(listing.actor))
    would, skipped = (lines_of(listing.named(items), listing, names) for items in (tally.done, tally.skipped))
    return {"would": would[:SHOWN], "folded": would[SHOWN:], "skipped": skipped}


def _done(verb: str, tally: Tally) -> dict[str, Any]:
    return {
        "done": True,
        "text": told_after(verb, tally),
        "undo": packed(tally.done) if verb != "undo" else "",
        "count": len(tally.done),
    }


def _failures(listing: Listing, tally: Tally) -> list[dict[str, str]]:
    """What cannot be done, each with its first words where it can still be read."""
    items = [failure.item for failure in tally.failed]
    titles = {entry.item.name: headline(entry.title) for entry in listing.named(items)}
    return [
        {
            "href": listing.link(item=failure.item.name),
            "message": failure.message,
            "title": titles.get(failure.item.name, ""),
        }
        for failure in tally.failed
    ]
