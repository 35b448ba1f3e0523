"""Sentences about the state of a standing rule."""

from typing import Final

from memories.models import AuditEntry
from reflections.delivery import hindrance, wordings_now
from reflections.models import StandingRule
from reflections.wording import day, moment

_PAST: Final = {
    "promote_rule": "promoted",
    "dismiss_rule": "dismissed",
    "snooze_rule": "snoozed",
    "revoke_rule": "revoked",
    "reopen_rule": "reopened",
    "reinstate_rule": "reinstated",
    "reword_rule": "changed",
    "pin_rule": "pinned",
    "unpin_rule": "unpinned",
}


def decided_already(rule: StandingRule) -> str:
    """Who did what last, and when; and what the person who came later can do."""
    last = _last_act(rule)
    if last is None:
        return "This rule changed since you opened it. Look at it again, then decide."
    done = f"{last.actor} {_PAST[last.action]} this rule on {moment(last.at)}."
    if rule.state == StandingRule.State.SNOOZED and rule.snoozed_until and not rule.is_open:
        return f"{done} It is snoozed until {day(rule.snoozed_until)}; undo that to decide now."
    if rule.is_open or rule.state == StandingRule.State.PROMOTED:
        return f"{done} Look at it again, then decide."
    return f"{done} Nothing more was done; undo that decision if it should be another."


def undone_in_words(rule: StandingRule) -> str:
    """After an undo. A rule is reinstated also while its memory is retired, and then nobody is told it."""
    if rule.is_open:
        return "Undone. It waits again."
    why = hindrance(wordings_now([rule])[rule.pk])
    return f"Undone. It is a rule again, but it is not delivered. {why}" if why else "Undone. It is a rule again."


def _last_act(rule: StandingRule) -> AuditEntry | None:
    entries = AuditEntry.objects.filter(object_type="standingrule", object_id=str(rule.pk), action__in=_PAST)
    return entries.order_by("-at", "-pk").first()
