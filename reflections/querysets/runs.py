"""Every read of runs, by the name of its use."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Self

from django.db import models
from django.utils import timezone

if TYPE_CHECKING:
    from memories.models import User


class RunQuerySet(models.QuerySet):
    def unfinished(self) -> Self:
        return self.filter(state__in=["queued", "running"])

    def asked_for_by(self, user: User | None) -> Self:
        return self.filter(requested_by=user)

    def abandoned(self, *, silent_for: timedelta) -> Self:
        """Running rows whose worker has not been heard of for that long."""
        return self.filter(state="running", heartbeat_at__lt=timezone.now() - silent_for)

    def waiting_since(self, moment: datetime) -> Self:
        return self.filter(state="queued", requested_at__lt=moment)
