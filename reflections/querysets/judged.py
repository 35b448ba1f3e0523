"""What judges were asked about, by the name of its use."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from django.db import models
from django.db.models import Q


class JudgedQuerySet(models.QuerySet):
    def pairs_with(self, ids: Collection[UUID]) -> set[tuple[UUID, UUID]]:
        """The ends, in order, of the pairs with one of *ids*."""
        rows = self.filter(Q(low__in=ids) | Q(high__in=ids))
        return set(rows.values_list("low_id", "high_id"))

    def note(self, scanner: str, ends: tuple[UUID, UUID], *, verdict: str, confidence: float, model: str) -> None:
        """That a judge was asked about the two, *ends* in order; what was noted first stays."""
        low, high = ends
        told = {"verdict": verdict, "confidence": confidence, "model": model}
        self.get_or_create(scanner=scanner, low_id=low, high_id=high, defaults=told)
