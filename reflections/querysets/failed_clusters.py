"""Every read of the clusters that could not be drafted, by the name of its use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from django.db import models

if TYPE_CHECKING:
    from memories.access import Actor
    from memories.models import Scope


class FailedClusterQuerySet(models.QuerySet):
    def visible_to(self, actor: Actor) -> Self:
        return self.filter(scope_id__in=actor.readable)

    def parked(self) -> Self:
        from reflections.models.failed_clusters import MOST_FAILURES

        return self.filter(failures__gte=MOST_FAILURES)

    def parked_keys(self, scope: Scope) -> set[str]:
        return set(self.parked().filter(scope=scope).values_list("key", flat=True))

    def standing(self) -> Self:
        """Whose episodes all live still, with what a list shows of each; in a fixed number of queries."""
        from memories.models import Memory

        episodes = models.Prefetch("episodes", queryset=Memory.objects.only("created_at").order_by("created_at", "pk"))
        live = self.exclude(episodes__invalidated_at__isnull=False)
        return live.select_related("scope__owner", "call").prefetch_related(episodes)
