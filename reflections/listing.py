"""The queue as somebody asked for it: which tab, which scope, from where on. It travels in the address."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from django.db.models import Count
from django.urls import reverse

from memories.access import Actor, readable_scopes, scope_for
from memories.models import Scope
from reflections import presentation
from reflections.models import Candidate, FailedCluster
from reflections.querysets import TABS, CandidateQuerySet

PAGE: Final = 10
MOST_FAILED: Final = 20  # clusters shown that could not be drafted


@dataclass(frozen=True, slots=True)
class Listing:
    """``after`` is the last row of the page before."""

    actor: Actor
    tab: str = "pending"
    scope: Scope | None = None
    scope_name: str = ""
    after: Candidate | None = None

    @property
    def query(self) -> str:
        return urlencode(self._parameters())

    def link(self, **changed: str) -> str:
        kept = {name: value for name, value in (self._parameters() | changed).items() if value}
        if kept.get("state") == "pending":
            del kept["state"]
        return f"{reverse('reflection_list')}?{urlencode(kept)}" if kept else reverse("reflection_list")

    def visible(self) -> CandidateQuerySet:
        rows = Candidate.objects.visible_to(self.actor)
        return rows.filter(scope=self.scope) if self.scope else rows

    def failed(self) -> list[FailedCluster]:
        """The clusters that the model could not draft, newest failure first."""
        rows = FailedCluster.objects.visible_to(self.actor).standing()
        return list((rows.filter(scope=self.scope) if self.scope else rows)[:MOST_FAILED])

    def page(self) -> tuple[list[Candidate], str | None]:
        """The rows, and the address of the next page; None on the last."""
        rows = self.visible().in_tab(self.tab).for_queue()
        if self.after:
            rows = rows.after(self.tab, self.after)
        found = list(rows[: PAGE + 1])
        return found[:PAGE], self.link(after=str(found[PAGE - 1].pk)) if len(found) > PAGE else None

    def counts(self) -> dict[str, int]:
        return self.visible().counts()

    def scope_filters(self) -> list[dict[str, Any]]:
        scopes = readable_scopes(self.actor)
        if len(scopes) < 2:
            return []
        rows = Candidate.objects.visible_to(self.actor).in_tab(self.tab).order_by().values_list("scope_id")
        counts = dict(rows.annotate(n=Count("pk")))
        return [presentation.scope_filter(scopes, counts, self.scope, self.link)]

    def _parameters(self) -> dict[str, str]:
        asked = {"state": self.tab if self.tab != "pending" else "", "scope": self.scope_name}
        return {name: value for name, value in asked.items() if value}


def listing_of(actor: Actor, query: Mapping[str, str]) -> Listing:
    """An unknown tab is the first, an unknown place the beginning; NotFound for a scope the actor may not read."""
    tab = query.get("state", "")
    name = query.get("scope", "").replace("\x00", "").strip()
    return Listing(
        actor=actor,
        tab=tab if tab in TABS else "pending",
        scope=scope_for(actor, name) if name else None,
        scope_name=name,
        after=_row(actor, query.get("after", "")),
    )


def _row(actor: Actor, row_id: str) -> Candidate | None:
    try:
        return Candidate.objects.visible_to(actor).filter(pk=uuid.UUID(row_id)).first()
    except ValueError:
        return None
