"""Every read of standing rules, by the name of its use."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Final, Self

from django.db import models
from django.db.models import Exists, OuterRef, Q

from reflections.querysets import waiting

if TYPE_CHECKING:
    from memories.access import Actor

STATES: Final = ("proposed", "snoozed", "promoted", "dismissed", "revoked")


def in_state(state: str) -> Q:
    """A snoozed row is proposed again from its date on."""
    return waiting.in_state("state", state, waiting="proposed")


class StandingRuleQuerySet(models.QuerySet):
    def visible_to(self, actor: Actor) -> Self:
        """With the memory behind it: of the scopes the actor may read."""
        return self.filter(scope_id__in=actor.readable)

    def in_state(self, state: str) -> Self:
        """One of STATES."""
        return self.filter(in_state(state))

    def promoted_for(self, actor: Actor, scopes: Collection[int]) -> Self:
        """What is said in *scopes*, of which the actor may read each: rules of the layer ``scope`` that name one of
        them, and of the layer ``core`` those of the actor's own scopes, wherever they work, and of a core scope asked
        for."""
        from reflections.models import StandingRule

        named = StandingRule.scopes.through.objects.filter(standingrule_id=OuterRef("pk"), scope_id__in=scopes)
        core = Q(layer="core") & (Q(scope__owner=actor.user) | Q(scope__in=scopes))
        return self.filter(core | (Q(layer="scope") & Exists(named)), state="promoted")

    def whole(self) -> Self:
        """With all that a page, an agent or the API shows of each row, in a fixed number of queries."""
        rows = self.select_related(
            "scope__owner", "memory__reinforcement", "memory__superseded_by", "decided_by", "promoted_by"
        )
        return rows.defer("memory__verbatim", "memory__superseded_by__verbatim").prefetch_related("scopes")
