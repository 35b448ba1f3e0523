"""Every read of runs, by the name of its use."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Self

from django.db import models
from django.db.models import Exists, OuterRef
from django.utils import timezone

if TYPE_CHECKING:
    from memories.access import Actor
    from memories.models import Scope, User


class RunQuerySet(models.QuerySet):
    def unfinished(self) -> Self:
        return self.filter(state__in=["queued", "running"])

    def visible_to(self, actor: Actor) -> Self:
        """Runs over scopes that the actor may read, all of them; what a run found in another tells of it."""
        from reflections.models import RunScope

        looked_after = RunScope.objects.filter(run=OuterRef("pk"))
        foreign = looked_after.exclude(scope__in=actor.readable)
        return self.filter(Exists(looked_after), ~Exists(foreign))

    def over(self, scopes: Collection[Scope]) -> Self:
        """Unfinished runs that look after one of *scopes*."""
        return self.unfinished().filter(run_scopes__scope__in=scopes, run_scopes__is_open=True).distinct()

    def asked_for_by(self, user: User | None) -> Self:
        return self.filter(requested_by=user)

    def abandoned(self, *, silent_for: timedelta) -> Self:
        """Running rows whose worker has not been heard of for that long."""
        return self.filter(state="running", heartbeat_at__lt=timezone.now() - silent_for)

    def waiting_since(self, moment: datetime) -> Self:
        return self.filter(state="queued", requested_at__lt=moment)
