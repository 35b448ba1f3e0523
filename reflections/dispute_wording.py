"""Sentences about the state of a dispute."""

from typing import Final

from reflections.models import Dispute
from reflections.wording import day, moment

_DONE: Final = {
    "kept_both": "kept both memories",
    "forgot": "forgot one of the two",
    "superseded": "replaced one by the other",
    "merged": "merged both into a new text",
    "retired": "retired the memory",
    "upheld": "upheld the memory",
    "refiled": "filed the memory as another kind",
    "swept": "closed this, because one side was gone",
    "passed": "closed this, because the code is back",
}


def settled_already(dispute: Dispute) -> str:
    """Who decided what and when; and what somebody who came later can do."""
    if dispute.decided_at is None:
        return "This dispute changed since you opened it. Look at it again, then decide."
    who, when = dispute.decided_actor, moment(dispute.decided_at)
    if dispute.status == Dispute.Status.SNOOZED and dispute.snoozed_until:
        until = day(dispute.snoozed_until)
        return f"{who} snoozed this dispute on {when}, until {until}. Undo that to decide now."
    if dispute.status == Dispute.Status.PENDING:
        return f"{who} reopened this dispute on {when}. Look at it again, then decide."
    return f"{who} {_DONE[dispute.resolution]} on {when}. Undo that decision if it should be another."
