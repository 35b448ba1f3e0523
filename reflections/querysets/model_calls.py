"""Every read of the questions to the model, by the name of its use."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Self
from uuid import UUID

from django.db import models
from django.db.models import F, Sum

if TYPE_CHECKING:
    from memories.models import Scope


class ModelCallQuerySet(models.QuerySet):
    def of_day(self, moment: datetime) -> Self:
        """Those that began on the day of *moment*, from midnight to midnight in UTC, up to now."""
        midnight = moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        return self.filter(at__gte=midnight)

    def of_run(self, run_id: UUID) -> Self:
        return self.filter(run_id=run_id).order_by("at", "pk")

    def tokens(self) -> int:
        """Read and written together."""
        return self.aggregate(total=Sum(F("input_tokens") + F("output_tokens")))["total"] or 0

    def rejected(self, *, job: str, scope: Scope, run_id: UUID | None) -> Self:
        """Those of a step whose answers could not be used."""
        return self.filter(outcome="rejected", job=job, scope=scope, run_id=run_id)
