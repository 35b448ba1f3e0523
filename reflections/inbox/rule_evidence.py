"""What stands beside a proposal of a rule: the memory, and the sessions that found it useful."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from django.urls import reverse
from django.utils import timezone

from memories.access import Actor
from memories.configuration import reinforcement_rule
from memories.models import Memory, UsageEvent
from memories.presentation import STATE_BADGES, author_of
from memories.reinforcement import Outcome, outcomes
from memories.services.reinforcement import signal_of
from reflections import configuration
from reflections.delivery import has_changed, hindrance, wordings_now, wordings_of
from reflections.forms import SnoozeForm
from reflections.inbox.evidence import history_of, state_of, undo_label, urls_of
from reflections.inbox.wording import DONE
from reflections.models import StandingRule
from reflections.presentation import counted
from reflections.rule_forms import TextForm
from reflections.wording import day

MOST_SESSIONS: Final = 12
_SAID_BY: Final = {"direct": "said so", "link": "wrote a newer memory from it", "judge": "as a judge sees it"}


def of_rule(actor: Actor, row: StandingRule, query: str, bad: Mapping[str, Any]) -> dict[str, Any]:
    memory = wordings_now([row])[row.pk]
    state = state_of(row.state, row.is_open, row.snoozed_until)
    return {
        "row": row,
        "question": "Is every session to be told this?" if row.is_open else "Is this a standing rule?",
        "reason": row.rationale,
        "found": [
            {"label": "Delivered", "text": place_of(row, actor)},
            {"label": "Since", "when": row.proposed_at},
            {"label": "Scope", "text": row.scope.slug},
        ],
        "memory": _memory(row, memory),
        "sessions": sessions_of(row.memory, row.proposed_at),
        "state": state,
        "undo_label": _undo_label(row),
        "decider": row.decided_by.get_username() if row.decided_by else "",
        "decided_at": row.decided_at,
        "outcome": DONE.get(row.state, ""),
        "may_decide": row.scope_id in actor.writable,
        "snooze_day": day(timezone.now() + timedelta(days=configuration.current().snooze_days)),
        "forms": _forms(row, bad),
        "refused": [form for act, form in bad.items() if act in ("promote", "dismiss")],
        "urls": urls_of("rule", row, query, ("promote", "edit", "dismiss", "snooze", "undo")),
        "history": history_of("standingrule", row),
    }


def place_of(row: StandingRule, actor: Actor) -> str:
    """In words, where a rule from ``whole()`` is delivered. Scopes that *actor* may not read are counted, not named."""
    if row.layer == StandingRule.Layer.CORE:
        return f"everywhere {row.scope.owner.get_username()} works"
    named = sorted(scope.slug for scope in row.scopes.all() if scope.pk in actor.readable)
    hidden = len(row.scopes.all()) - len(named)
    return "in " + ", ".join([*named, *([f"{counted(hidden, 'scope')} that you may not read"] if hidden else [])])


def _undo_label(row: StandingRule) -> str:
    return "Make it a rule again" if row.state == StandingRule.State.REVOKED else undo_label(row.state)


def _memory(row: StandingRule, memory: Memory) -> dict[str, Any]:
    return {
        "row": memory,
        "url": reverse("memory_detail", args=[memory.pk]),
        "badge": STATE_BADGES.get(memory.state),
        "hindrance": hindrance(memory),
        "has_changed": has_changed(row, memory),
        "author": author_of(memory),
    }


def sessions_of(memory: Memory, proposed_at: datetime | None = None) -> list[dict[str, Any]]:
    """The sessions whose one voice is that the memory is useful, in whatever wording of its scope; newest first. What
    had left the window when the rule was proposed, or has by now where none is, is not listed."""
    praise = _praise(memory, proposed_at or timezone.now())
    found = [event for event in praise if event.memory.scope_id == memory.scope_id][:MOST_SESSIONS]
    agents = _agents([event.session for event in found], memory.scope_id)
    return [
        {
            "session": event.session,
            "when": event.at,
            "how": _SAID_BY.get(event.source, event.source),
            "confidence": f"{event.confidence:.2f}" if event.source == UsageEvent.Source.JUDGE else "",
            "who": agents.get(event.session) or (event.user.get_username() if event.user else ""),
        }
        for event in found
    ]


def _praise(memory: Memory, at: datetime) -> list[UsageEvent]:
    """Newest first, one a session."""
    constants = reinforcement_rule()
    since = at - timedelta(days=constants.window_days)
    said = UsageEvent.objects.filter(memory__in=wordings_of(memory), at__gte=since).order_by("-at", "-pk")
    events = list(said.select_related("user", "memory").defer("memory__content", "memory__verbatim"))
    told = outcomes([signal_of(event) for event in events], now=at, constants=constants)
    counted = [event for event, outcome in zip(events, told, strict=True) if outcome == Outcome.COUNTS]
    return [event for event in counted if event.useful and event.session]


def _agents(sessions: list[str], scope_id: int) -> dict[str, str]:
    """The agent that wrote something in this scope in each of the sessions, where one did."""
    wrote = Memory.objects.filter(session__in=sessions, scope_id=scope_id).exclude(agent="")
    return dict(wrote.order_by("recorded_at").values_list("session", "agent"))


def _forms(row: StandingRule, bad: Mapping[str, Any]) -> dict[str, Any]:
    fresh = {"edit": TextForm(row=row.pk, initial={"text": row.text}), "snooze": SnoozeForm(row=row.pk)}
    return fresh | {act: form for act, form in bad.items() if act in fresh}
