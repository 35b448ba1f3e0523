"""What waits for a decision: what is open, and what was snoozed until a date that has come, sweep or no sweep."""

from datetime import datetime

from django.db.models import Q
from django.utils import timezone

SNOOZED = "snoozed"


def in_state(column: str, state: str, *, waiting: str) -> Q:
    """Rows whose *column* holds *state*, as of now; *waiting* is the state of what is open."""
    if state == waiting:
        return Q(**{column: waiting}) | Q(**{column: SNOOZED}, snoozed_until__lte=timezone.now())
    if state == SNOOZED:
        return Q(**{column: SNOOZED}, snoozed_until__gt=timezone.now())
    return Q(**{column: state})


def is_open(state: str, snoozed_until: datetime | None, *, waiting: str) -> bool:
    """The same of a row at hand."""
    if state == SNOOZED:
        return snoozed_until is not None and snoozed_until <= timezone.now()
    return state == waiting
