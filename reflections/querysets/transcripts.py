"""Every read of transcripts, by the name of its use."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Self

from django.db import models

if TYPE_CHECKING:
    from memories.access import Actor


class TranscriptQuerySet(models.QuerySet):
    def visible_to(self, actor: Actor) -> Self:
        """A person's own; through a token only what it handed in."""
        own = self.filter(user=actor.user)
        return own if actor.is_person else own.filter(token=actor.token)

    def newest(self) -> Self:
        """For a list, without the texts."""
        return self.defer("text").order_by("-requested_at", "-pk")

    def unfinished(self) -> Self:
        return self.filter(state__in=["queued", "running"])

    def due(self, now: datetime) -> Self:
        return self.filter(state="queued", due_at__lte=now)

    def lost(self, now: datetime, *, silent_for: timedelta) -> Self:
        """Their worker has not been heard of for that long."""
        return self.filter(state="running", heartbeat_at__lt=now - silent_for)
