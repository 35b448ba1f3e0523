"""Sentences about the state of a draft."""

from datetime import datetime
from typing import Final

from django.utils import timezone
from django.utils.formats import date_format

from memories.models import AuditEntry
from reflections.models import Candidate

_PAST: Final = {
    "approve": "approved",
    "dismiss": "dismissed",
    "snooze": "snoozed",
    "undo": "reopened",
}


def day(moment: datetime) -> str:
    """``Mon 14 Dec``, with the year where it is not this one; in the time zone of the person."""
    local = timezone.localtime(moment)
    pattern = "D j M" if local.year == timezone.localtime().year else "D j M Y"
    return date_format(local, pattern)


def moment(at: datetime) -> str:
    return f"{day(at)}, {date_format(timezone.localtime(at), 'H:i')}"


def already_decided(candidate: Candidate) -> str:
    """Who decided last, how and when; and what the person who came later can do."""
    last = _last_decision(candidate)
    if last is None:
        return "This draft changed since you opened it. Look at it again, then decide."
    done = f"{last.actor} {_PAST[last.action]} this draft on {moment(last.at)}."
    if candidate.is_open:
        return f"{done} Look at it again, then decide."
    if candidate.state == Candidate.State.SNOOZED and candidate.snoozed_until:
        return f"{done} It is snoozed until {day(candidate.snoozed_until)}; undo that to decide now."
    return f"{done} Nothing more was done; undo that decision if it should be another."


def _last_decision(candidate: Candidate) -> AuditEntry | None:
    entries = AuditEntry.objects.filter(object_type="candidate", object_id=str(candidate.pk), action__in=_PAST)
    return entries.order_by("-at", "-pk").first()
