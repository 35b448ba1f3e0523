"""What agents were given, so that a scope which keeps by last access knows what is still in use."""

import logging
from collections.abc import Collection
from datetime import timedelta
from typing import Final
from uuid import UUID

from django.db import DatabaseError, InterfaceError, connection
from django.utils import timezone

from memories.models import Scope, Surfacing
from memories.sql import load

logger = logging.getLogger(__name__)

KEPT_DAYS: Final = 400
SURFACINGS_A_BATCH: Final = 5000


def note_accesses(returned: Collection[UUID]) -> None:
    """One more access of each memory, at this moment. Never fails and never waits: of two accesses at the very same
    moment one may stand for both."""
    if not returned:
        return
    try:
        with connection.cursor() as cursor:
            cursor.execute(load("note_accesses"), {"returned": list(returned)})
    except (DatabaseError, InterfaceError):
        # The answer is complete without it, and an agent can do nothing about a count.
        logger.exception("The access of %d memories could not be noted", len(returned))


def forget_old_surfacings(scope: Scope, *, keep_days: int = KEPT_DAYS) -> int:
    """Remove the counts of days that nobody asks about any more, a batch at a time; how many there were."""
    day = timezone.now().date() - timedelta(days=max(keep_days, KEPT_DAYS))
    old = Surfacing.objects.filter(memory__scope=scope, day__lt=day)
    forgotten = 0
    while batch := list(old.values_list("pk", flat=True)[:SURFACINGS_A_BATCH]):
        forgotten += Surfacing.objects.filter(pk__in=batch).delete()[0]
    return forgotten
