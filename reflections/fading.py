"""What a summary is made of: the memories of a decaying scope that are used least. Reads only."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from django.db.models import F, Q
from django.utils import timezone

from memories.decaying import KEPT, weight_at
from memories.models import Memory, RetentionCycle, RetentionPolicy, Scope
from memories.models.memory import LOOPS
from memories.querysets import MemoryQuerySet
from reflections.delivery import kept_for_rules
from reflections.models import Candidate, ModelCall
from reflections.querysets import CandidateQuerySet

JOB: Final = "summary"  # as calls of the model name it
MOST: Final = 60  # memories in one question
FEWEST: Final = 2
KEPT_FOR: Final = timedelta(days=30)  # what waits in a summary is not let go meanwhile; a person may be on holiday
BETWEEN: Final = timedelta(hours=20)  # a daily cycle that starts a little earlier than the day before still has one


def may_be_summarised(scope: Scope) -> MemoryQuerySet:
    """Facts in the widest sense: what is live, of whatever kind. Not what no cycle touches, nor loops, which are
    somebody's to close, nor what holds until a day, which a summary would outlast."""
    rows = Memory.objects.live().filter(scope=scope, valid_until=None)
    return rows.exclude(KEPT).exclude(kind__in=LOOPS).exclude(kept_for_rules(timezone.now()))


def fading(scope: Scope, most: int = MOST) -> list[Memory]:
    """Of the weakest half those about which no person is or was asked, at most *most*; oldest first.

    The lightest first, and of one weight what was used longest ago.
    """
    weighed = weight_at(RetentionPolicy.of(scope).rule, timezone.now())
    rows = may_be_summarised(scope).annotate(weight_now=weighed).order_by(F("weight_now").asc(), "accessed_at", "pk")
    weakest = rows.values("pk")[: rows.count() // 2]
    free = rows.filter(pk__in=weakest, candidacy=None)
    return sorted(free.prefetch_related("entities")[:most], key=lambda memory: (memory.created_at, memory.pk))


def waiting_summaries(scope: Scope) -> CandidateQuerySet:
    return _open_summaries().filter(scope=scope)


def was_made_lately(scope: Scope, now: datetime) -> bool:
    """Whether a summary of *scope* was made, drafted or asked for within BETWEEN."""
    since = now - BETWEEN
    return (
        ModelCall.objects.filter(job=JOB, scope=scope, at__gt=since).exists()
        or Candidate.objects.filter(scope=scope, purpose=Candidate.Purpose.SUMMARY, created_at__gt=since).exists()
        or RetentionCycle.objects.filter(scope=scope, summarised__gt=0, finished_at__gt=since).exists()
    )


def kept_for_a_decision(now: datetime | None = None) -> Q:
    """The members of summaries that wait for a person, for KEPT_FOR: what is asked about should still be there."""
    since = (now or timezone.now()) - KEPT_FOR
    return Q(candidacy__candidate__in=_open_summaries().filter(created_at__gt=since))


def _open_summaries() -> CandidateQuerySet:
    return Candidate.objects.filter(purpose=Candidate.Purpose.SUMMARY, state__in=["pending", "snoozed"])
