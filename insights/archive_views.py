"""The archive of a scope: what left it, what is missed most, and the way back."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urlencode

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import F
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from insights.keeping import REGRET_LINE, regrets
from insights.keeping_views import chosen_of, refused
from memories.access import actor_for_request, readable_scopes
from memories.decaying import archive_of
from memories.errors import ZeroMemoryError
from memories.models import Scope
from memories.presentation import scope_names
from memories.querysets import MemoryQuerySet
from memories.services.archive import bring_back_chosen
from memories.views.access import readable_scope

SHOWN: Final = 50
MOST_ASKED: Final = 200  # characters
MISSED: Final = "missed"


@require_safe
def scope_archive(request: HttpRequest, scope_id: int) -> HttpResponse:
    actor = actor_for_request(request)
    scope = readable_scope(actor, scope_id)
    by = MISSED if request.GET.get("by") == MISSED else ""
    words = request.GET.get("q", "").strip()[:MOST_ASKED]
    page = Paginator(_archived(scope, by, words), SHOWN).get_page(request.GET.get("page"))
    found = regrets([scope], timezone.now())
    context = {
        "scope": scope,
        "name": scope_names(readable_scopes(actor))[scope.pk],
        "page": page,
        "archived": archive_of(scope).count() if words else page.paginator.count,
        "asked": {name: value for name, value in (("by", by), ("q", words)) if value},
        "tabs": _tabs(scope, by, words),
        "regrets": found,
        "misses": found.share is not None and found.share > REGRET_LINE,
        "may_write": scope.pk in actor.writable,
    }
    return render(request, "insights/archive.html", context)


def _archived(scope: Scope, by: str, words: str) -> MemoryQuerySet:
    """What left last comes first, or what recalls would have given most often; with *words* what holds each of them."""
    rows = archive_of(scope).annotate(missed=Coalesce(F("regret__count"), 0))
    if words:
        rows = rows.with_words(words)
    return rows.order_by(*(["-missed"] if by else []), "-archived_at", "-created_at", "pk")


def _tabs(scope: Scope, by: str, words: str) -> list[dict[str, Any]]:
    address, kept = reverse("scope_archive", args=[scope.pk]), {"q": words} if words else {}
    return [
        {"label": "Left last", "href": f"{address}?{urlencode(kept)}", "selected": not by},
        {"label": "Missed most", "href": f"{address}?{urlencode(kept | {'by': MISSED})}", "selected": bool(by)},
    ]


@require_POST
def scope_archive_restore(request: HttpRequest, scope_id: int) -> HttpResponse:
    actor = actor_for_request(request)
    scope = readable_scope(actor, scope_id)
    address = reverse("scope_archive", args=[scope.pk])
    try:
        done = bring_back_chosen(actor=actor, scope=scope, memories=chosen_of(request))
    except ZeroMemoryError as error:
        return refused(request, address, error)
    left = f" {done.left} stayed: a live memory says the same by now, or they left the archive." if done.left else ""
    messages.success(request, f"Restored {done.count}: full weight again, as if just asked for.{left}")
    return redirect(address)
