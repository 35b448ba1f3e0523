"""Every read of the questions to the model, by the name of its use."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Self
from uuid import UUID

from django.contrib.postgres.aggregates import BoolOr
from django.db import models
from django.db.models import Sum

if TYPE_CHECKING:
    from memories.models import Scope


# Each by itself, because two of them may be more than their columns hold.
READ_AND_WRITTEN = Sum("input_tokens") + Sum("output_tokens")
ESTIMATED = BoolOr("estimated")  # whether a server left the counting of some to us


class ModelCallQuerySet(models.QuerySet):
    def of_day(self, moment: datetime) -> Self:
        """Those that began on the day of *moment*, from midnight to midnight in UTC, up to now."""
        midnight = moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        return self.filter(at__gte=midnight)

    def of_run(self, run_id: UUID) -> Self:
        return self.filter(run_id=run_id).order_by("at", "pk")

    def cost(self) -> tuple[int, bool]:
        """Tokens read and written together, and whether some of them are estimates."""
        found = self.aggregate(total=READ_AND_WRITTEN, estimated=ESTIMATED)
        return found["total"] or 0, bool(found["estimated"])

    def laid_on_questions(self) -> Self:
        """Those that failed in a way that may be the fault of what was asked."""
        return self.filter(outcome__in=["rejected", "refused", "timed_out"])

    def of_step(self, *, job: str, scope: Scope, run_id: UUID | None) -> Self:
        return self.filter(job=job, scope=scope, run_id=run_id)

    def without_an_answer(self, *, question: str, model: str) -> Self:
        """One question that a model refused or did not answer in time."""
        return self.filter(outcome__in=["refused", "timed_out"], question=question, model=model)

    def answered_by(self, model: str) -> Self:
        return self.filter(outcome="answered", model=model)
