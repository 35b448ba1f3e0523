"""When people were here, so that a page can tell what changed since."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from django.db.models import F, Q

from memories.models import User
from memories.read_only import is_read_only

# Pages opened within this time are one visit.
GAP: Final = timedelta(minutes=30)


def note_visit(*, user: User, now: datetime) -> datetime | None:
    """The time of the visit before this one; None on the first."""
    new_visit = Q(last_visit_at__isnull=True) | Q(last_visit_at__lte=now - GAP)
    mine = User.objects.filter(pk=user.pk)
    if not is_read_only():
        mine.filter(new_visit).update(previous_visit_at=F("last_visit_at"), last_visit_at=now)
    return mine.values_list("previous_visit_at", flat=True).get()
