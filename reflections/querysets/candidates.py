"""Every read of drafts, by the name of its use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from django.db import models
from django.db.models import Prefetch, Q
from django.db.models.functions import Left, Length
from django.utils import timezone

from memories.models import Memory
from memories.querysets import OPENING
from reflections.querysets import waiting

if TYPE_CHECKING:
    from memories.access import Actor
    from reflections.models import Candidate

TABS = ("pending", "snoozed", "approved", "dismissed")
ORDERS = {
    "pending": ("created_at", "pk"),
    "snoozed": ("snoozed_until", "pk"),
    "approved": ("-decided_at", "-pk"),
    "dismissed": ("-decided_at", "-pk"),
}


def in_tab(tab: str) -> Q:
    """A snoozed row is pending again from its date on."""
    return waiting.in_state("state", tab, waiting="pending")


class CandidateQuerySet(models.QuerySet):
    def visible_to(self, actor: Actor) -> Self:
        return self.filter(scope_id__in=actor.readable)

    def pending(self) -> Self:
        return self.filter(in_tab("pending"))

    def due(self) -> Self:
        """Snoozed rows whose date has come."""
        return self.filter(state="snoozed", snoozed_until__lte=timezone.now())

    def in_tab(self, tab: str) -> Self:
        """The rows of one of TABS: what is open oldest first, what is decided newest first."""
        return self.filter(in_tab(tab)).order_by(*ORDERS[tab])

    def after(self, tab: str, last: Candidate) -> Self:
        """What follows *last* in a tab. Its place is read from the row, so deciding others shifts nothing."""
        field = ORDERS[tab][0].removeprefix("-")
        beyond = "lt" if ORDERS[tab][0].startswith("-") else "gt"
        place = getattr(last, field)
        if place is None:
            return self
        return self.filter(Q(**{f"{field}__{beyond}": place}) | Q(**{field: place, f"pk__{beyond}": last.pk}))

    def counts(self) -> dict[str, int]:
        """How many rows each of TABS holds; one query."""
        return self.order_by().aggregate(**{tab: models.Count("pk", filter=in_tab(tab)) for tab in TABS})

    def for_queue(self) -> Self:
        """With all that a list or the API shows of each row, in a fixed number of queries.

        Of each source only the opening is read, as in ``Memory.objects.for_list()``.
        """
        from reflections.models import CandidateMember

        sources = Prefetch("memory", queryset=Memory.objects.for_list())
        members = CandidateMember.objects.order_by("position").prefetch_related(sources)
        return (
            self.select_related("scope__owner", "decided_by", "memory")
            .prefetch_related(Prefetch("members", queryset=members))
            .defer("memory__content", "memory__verbatim")
            .annotate(memory_opening=Left("memory__content", OPENING), memory_length=Length("memory__content"))
        )
