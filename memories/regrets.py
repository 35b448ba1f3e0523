"""What the archive would have given: recalls compared with it, a sample of them, when nobody waits for it any more."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import date
from typing import Final
from uuid import UUID

from django.db.models import Exists, F, OuterRef, Sum

from memories.candidates import Filters
from memories.configuration import in_force
from memories.models import ArchiveSample, Memory, Scope
from memories.recall import Result, find, meaning_of

EVERY: Final = 5  # one recall in so many
MOST_COMPARED: Final = 1000  # the last that were archived: so many are compared one by one
LEAST_RELEVANCE: Final = 0.5  # of the best, where no word matches


@dataclass(frozen=True, slots=True)
class Measured:
    """Recalls that were compared with the archive, and those of them that it would have given something."""

    recalls: int
    regretted: int

    @property
    def share(self) -> float | None:
        return self.regretted / self.recalls if self.recalls else None


def measured(scope: Scope, *, since: date | None = None) -> Measured:
    samples = ArchiveSample.objects.filter(scope=scope, **({"day__gte": since} if since else {}))
    sums = samples.aggregate(recalls=Sum("recalls"), regretted=Sum("regretted"))
    return Measured(sums["recalls"] or 0, sums["regretted"] or 0)


def is_sampled(recall_id: UUID) -> bool:
    """The same for the same id: what is random in it decides."""
    return recall_id.int % EVERY == 0


def missed(
    *,
    query: str,
    scopes: Collection[int],
    archives: Collection[int],
    k: int,
    kinds: Collection[str] | None = None,
    confidences: Collection[str] | None = None,
    ignore: Iterable[str] = (),
) -> dict[UUID, int]:
    """Memories of *archives* that would stand among the *k* of this recall, were they still there, with their scopes.

    The recall read all of *scopes*, so what is live in any of them stands against them.
    """
    by = in_force(scopes, query)
    archived = _compared(archives, scopes)
    filters = Filters(scopes=scopes, kinds=kinds, confidences=confidences, archived=archived.keys())
    meaning = meaning_of(query, by)
    results = find(query=query, meaning=meaning, filters=filters, k=k, ignore=frozenset(ignore), by=by)
    return {
        result.memory.pk: archived[result.memory.pk]
        for result in results
        if result.memory.pk in archived and _is_match(result)
    }


def _is_match(result: Result) -> bool:
    """In a small scope the nearest by meaning fill the k places whatever was asked: such a match has to be good."""
    return bool(result.text_matched) or result.factors.relevance >= LEAST_RELEVANCE


def _compared(archives: Collection[int], scopes: Collection[int]) -> dict[UUID, int]:
    """What was live until a cycle let it go, the latest first, but not what says the same as one live in *scopes*."""
    twin = Memory.objects.live().filter(scope_id__in=scopes, content_sha256=OuterRef("content_sha256"))
    rows = Memory.objects.in_scopes(archives).filter(
        archived_at__isnull=False, invalidated_at=F("archived_at"), superseded_by=None
    )
    found = rows.exclude(Exists(twin)).order_by("-archived_at", "pk")[:MOST_COMPARED]
    return dict(found.values_list("pk", "scope_id"))
