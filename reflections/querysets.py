"""Every read of the reflection queue, by the name of its use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from django.db import models

if TYPE_CHECKING:
    from memories.access import Actor


class CandidateQuerySet(models.QuerySet):
    def visible_to(self, actor: Actor) -> Self:
        return self.filter(scope_id__in=actor.readable)


class RunQuerySet(models.QuerySet):
    def unfinished(self) -> Self:
        return self.filter(state__in=["queued", "running"])
