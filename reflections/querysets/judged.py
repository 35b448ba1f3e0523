"""Every read of what judges were asked about, by the name of its use."""

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
