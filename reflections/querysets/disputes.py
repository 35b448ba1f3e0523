"""Every read of disputes, by the name of its use."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Final, Self
from uuid import UUID

from django.db import models
from django.db.models import Count, Q
from django.db.models.functions import Left

from memories.querysets import OPENING
from reflections.querysets import waiting

if TYPE_CHECKING:
    from memories.access import Actor
    from memories.models import Memory

# A duplicate is not doubted, and of an unjudged pair nobody knows yet whether there is anything to doubt.
DOUBTS: Final = ("challenged", "stale_suspect", "outdated", "code_changed", "contradiction", "supersedes")
# What became of code is read anew at each recall: an item about it would still doubt what a revert has brought back.
SAID_AT_RECALL: Final = tuple(type for type in DOUBTS if type != "code_changed")
STATUSES: Final = ("pending", "snoozed", "resolved", "dismissed")


def in_status(status: str) -> Q:
    """A snoozed row is pending again from its date on."""
    return waiting.in_state("status", status, waiting="pending")


class DisputeQuerySet(models.QuerySet):
    def visible_to(self, actor: Actor) -> Self:
        return self.filter(scope_id__in=actor.readable)

    def unsettled(self) -> Self:
        """Pending or snoozed."""
        return self.filter(status__in=["pending", "snoozed"])

    def in_status(self, status: str) -> Self:
        """One of STATUSES."""
        return self.filter(in_status(status))

    def pairs(self) -> Self:
        return self.filter(other__isnull=False)

    def singles(self) -> Self:
        return self.filter(other__isnull=True)

    def decided_singles(self) -> Self:
        """About one memory, and somebody answered. What was swept or passed nobody did."""
        return self.singles().filter(status__in=["resolved", "dismissed"]).exclude(resolution__in=["swept", "passed"])

    def with_dead_side(self) -> Self:
        """About something that was retired meanwhile, so that nothing is left to settle."""
        return self.filter(Q(subject__invalidated_at__isnull=False) | Q(other__invalidated_at__isnull=False))

    def of_pair(self, one: Memory, another: Memory) -> Self:
        """The row of these two, whichever is named first; at most one, whatever its status."""
        low, high = sorted((one.pk, another.pk))
        return self.filter(low=low, high=high, other__isnull=False)

    def known_pairs(self, ids: Iterable[UUID]) -> set[tuple[UUID, UUID]]:
        """(low, high) of every pair with one of *ids*, whatever its status; what a scan leaves alone."""
        asked = list(ids)
        rows = self.pairs().filter(Q(subject__in=asked) | Q(other__in=asked))
        return set(rows.order_by().values_list("low", "high"))

    def doubted_among(self, ids: Collection[UUID]) -> dict[UUID, UUID]:
        """For each memory that recall calls doubtful, the oldest unsettled dispute about it; one query."""
        rows = self.unsettled().filter(Q(subject__in=ids) | Q(other__in=ids), type__in=SAID_AT_RECALL)
        found: dict[UUID, UUID] = {}
        for dispute, *sides in rows.order_by("pk").values_list("pk", "subject_id", "other_id"):
            for side in sides:
                found.setdefault(side, dispute)
        return {memory: dispute for memory, dispute in found.items() if memory in ids}

    def counts(self, field: str) -> dict[str, int]:
        """How many rows there are of each value of a field; one query."""
        return dict(self.order_by().values_list(field).annotate(n=Count("pk")))

    def whole(self) -> Self:
        """With the scope and the memories of both sides, in one query."""
        rows = self.select_related("scope__owner", "subject", "other", "decided_by", "opened_by")
        return rows.defer("subject__verbatim", "other__verbatim")

    def opening(self, characters: int = OPENING) -> Self:
        """Like ``whole``, but of each text no more than its beginning, as ``subject_opening`` and ``other_opening``."""
        rows = self.whole().defer("subject__content", "subject__verbatim", "other__content", "other__verbatim")
        return rows.annotate(
            subject_opening=Left("subject__content", characters), other_opening=Left("other__content", characters)
        )

    def after(self, last: UUID) -> Self:
        """What was opened later; in the order of ``oldest_first``."""
        return self.filter(pk__gt=last)

    def oldest_first(self) -> Self:
        return self.order_by("pk")
