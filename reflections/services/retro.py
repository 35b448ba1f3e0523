"""Offer to a person the pairs of older memories, which the pair scan never looks at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import batched, groupby
from operator import attrgetter
from typing import Final
from uuid import UUID

from django.utils import timezone

from memories.models import Memory, Scope
from reflections import configuration
from reflections.eligible import current_stamp
from reflections.ladder import Action, decide
from reflections.models import Dispute, HygieneConfig, Judged
from reflections.nearest import Near, nearest_pairs
from reflections.services.disputes import open_pair, pair_of

SCANNER: Final = "retro offer"
SUBJECTS_AT_ONCE: Final = 200
START: Final = UUID(int=0)


@dataclass(slots=True)
class Offered:
    """``looked_at`` memories, of which ``parked`` pairs wait now. ``cursor`` is the last of them, to go on after."""

    cursor: UUID
    parked: int = 0
    looked_at: int = 0
    finished: bool = False


def offer(*, scopes: Sequence[Scope], limit: int, cursor: UUID = START) -> Offered:
    """Park at most *limit* pairs of older memories as ``unjudged``, after the memory that *cursor* names.

    No model is asked and nothing is proposed. Interrupted and started again it parks no pair twice. Raises
    EmbedderError where there is no embedder.
    """
    rule, offered = configuration.hygiene(), Offered(cursor)
    for subjects in batched(_subjects(scopes, rule, cursor), SUBJECTS_AT_ONCE):
        near = _unknown_pairs(subjects, rule)
        for subject in subjects:
            for pair in near.get(subject, ()):
                if offered.parked >= limit:
                    return offered
                offered.parked += _park(pair)
            offered.cursor, offered.looked_at = subject, offered.looked_at + 1
    offered.finished = True
    return offered


def _subjects(scopes: Sequence[Scope], rule: HygieneConfig, cursor: UUID) -> list[UUID]:
    """In the order they were recorded; ids are in time order."""
    before = timezone.now() - timedelta(days=rule.pair_days)
    rows = Memory.objects.live().filter(scope__in=scopes, recorded_at__lte=before, pk__gt=cursor)
    return list(rows.exclude(kind="episode").order_by("pk").values_list("pk", flat=True))


def _unknown_pairs(subjects: Sequence[UUID], rule: HygieneConfig) -> dict[UUID, list[Near]]:
    """By subject, without those that ever were in dispute or that a model has judged."""
    near = nearest_pairs(subjects, stamp=current_stamp(), cosine=rule.pair_cosine, nearest=rule.pair_candidates)
    known = Dispute.objects.known_pairs(subjects) | Judged.objects.all().pairs_with(subjects)
    fresh = [pair for pair in near if pair.ends not in known]
    return {subject: list(pairs) for subject, pairs in groupby(fresh, key=attrgetter("subject"))}


def _park(pair: Near) -> bool:
    rows = Memory.objects.live().select_related("scope").prefetch_related("entities")
    found = rows.in_bulk([pair.subject, pair.other])
    if len(found) < 2:
        return False
    one, another = found[pair.subject], found[pair.other]
    if decide(pair_of(one, another, cosine=pair.cosine, known=False)).action == Action.NOTHING:
        return False  # of two projects
    return open_pair(one=one, another=another, type=Dispute.Type.UNJUDGED, scanner=SCANNER) is not None
