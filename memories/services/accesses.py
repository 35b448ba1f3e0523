"""What agents asked and were given: counted at the memories, and kept as a log for whoever's agents they are."""

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from django.db import DatabaseError, InterfaceError, connection
from django.utils import timezone

from memories.access import Actor
from memories.guard import masked
from memories.models import RecallActivity, Scope, Surfacing
from memories.models.activity import QUERY_KEPT, SAID_KEPT
from memories.models.memory import new_id
from memories.read_only import is_read_only
from memories.sql import load
from memories.words import UNSTORABLE

logger = logging.getLogger(__name__)

KEPT_DAYS: Final = 400
SURFACINGS_A_BATCH: Final = 5000
LOOKED_AT: Final = 20_000  # characters of a question in which secrets are looked for; far fewer are kept
ACTIVITY_DAYS: Final = 30
ACTIVITY_A_BATCH: Final = 5000


@dataclass(frozen=True, slots=True)
class Given:
    """One memory of an answer: its age at that time, and whether use had moved its score."""

    memory: UUID
    age_days: float
    reinforced: bool


@dataclass(frozen=True, slots=True)
class Answered:
    """What became of one question. With ``error``, the code of a failure, nothing was given."""

    given: Sequence[Given] = ()
    scopes: Collection[int] = ()
    took_ms: float = 0.0
    words_only: bool = False
    error: str = ""

    @property
    def outcome(self) -> str:
        if self.error:
            return RecallActivity.Outcome.ERROR
        return RecallActivity.Outcome.HITS if self.given else RecallActivity.Outcome.EMPTY


def note_recall(
    *,
    actor: Actor,
    query: str,
    k: int,
    answered: Answered,
    session: str = "",
    sort: str = RecallActivity.Sort.RECALL,
) -> UUID:
    """One line in the log, and one more access of each memory at this moment. Never fails and never waits: of two
    accesses at the very same moment one may stand for both. The id of the line, which a failure leaves unwritten."""
    line_id = new_id()
    if is_read_only():
        return line_id
    line: dict[str, Any] = {
        "id": line_id,
        "sort": sort,
        "user": actor.user.pk,
        "token": actor.token.pk if actor.token else None,
        "agent": kept(actor.agent, SAID_KEPT),
        "session": kept(session, SAID_KEPT),
        "query": kept(query, QUERY_KEPT),
        "k": k,
        "scopes": sorted(answered.scopes),
        "outcome": answered.outcome,
        "error": answered.error,
        "words_only": answered.words_only,
        "took_ms": answered.took_ms,
        "returned": [one.memory for one in answered.given],
        "ages": [one.age_days for one in answered.given],
        "reinforced": [one.reinforced for one in answered.given],
    }
    try:
        with connection.cursor() as cursor:
            cursor.execute(load("note_recall"), line)
    except (DatabaseError, InterfaceError):
        # The answer is complete without it, and an agent can do nothing about a count.
        logger.exception("A recall that gave %d memories could not be noted", len(answered.given))
    return line_id


def kept(said: str, most: int) -> str:
    """Its beginning, without secrets: masked before it is cut, so that no half of one slips through."""
    return masked(UNSTORABLE.sub(" ", said[:LOOKED_AT]))[:most]


def forget_old_surfacings(scope: Scope, *, keep_days: int = KEPT_DAYS) -> int:
    """Remove the counts of days that nobody asks about any more, a batch at a time; how many there were."""
    day = timezone.now().date() - timedelta(days=max(keep_days, KEPT_DAYS))
    old = Surfacing.objects.filter(memory__scope=scope, day__lt=day)
    forgotten = 0
    while batch := list(old.values_list("pk", flat=True)[:SURFACINGS_A_BATCH]):
        forgotten += Surfacing.objects.filter(pk__in=batch).delete()[0]
    return forgotten


def forget_old_activity() -> int:
    """Remove the lines of the log that are older than ACTIVITY_DAYS, a batch at a time; how many there were."""
    old = RecallActivity.objects.filter(at__lt=timezone.now() - timedelta(days=ACTIVITY_DAYS)).order_by("at")
    forgotten = 0
    while batch := list(old.values_list("pk", flat=True)[:ACTIVITY_A_BATCH]):
        forgotten += RecallActivity.objects.filter(pk__in=batch).delete()[0]
    return forgotten
