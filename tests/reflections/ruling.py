"""Plain functions that make standing rules for tests, and the sessions that found a memory useful."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.utils import timezone

from memories.models import Memory, Reinforcement, Scope, UsageEvent
from memories.services.reinforcement import set_promoted
from reflections.models import StandingRule
from tests.factories import make_memory


def useful(memory: Memory, *sessions: str, days: float = 1, **overrides: Any) -> None:
    """One report a session, so many days ago."""
    at = timezone.now() - timedelta(days=days)
    for number, session in enumerate(sessions):
        values = {"source": "direct", "useful": True} | overrides
        UsageEvent.objects.create(memory=memory, at=at + timedelta(seconds=number), session=session, **values)


def make_convention(scope: Scope, text: str = "Tests run before every push.", **overrides: Any) -> Memory:
    return make_memory(text, scope=scope, **({"kind": "convention", "age_days": 40} | overrides))


def make_proposal(scope: Scope, text: str = "Tests run before every push.", **overrides: Any) -> StandingRule:
    """A proposed rule, by default of a convention of its own, delivered in its scope."""
    memory = overrides.pop("memory", None) or make_convention(scope, text)
    scopes = overrides.pop("scopes", [scope])
    values = {"layer": "core" if scope.is_core else "scope", "sessions": 3, "rationale": "Useful in 3 sessions."}
    rule = StandingRule.objects.create(memory=memory, scope=scope, text=text, **values | overrides)
    if rule.layer == "scope":
        rule.scopes.set(scopes)
    return rule


def make_rule(scope: Scope, text: str = "Tests run before every push.", **overrides: Any) -> StandingRule:
    """A promoted rule; with ``useful``, its memory proved useful so much."""
    evidence = overrides.pop("useful", 0)
    at = timezone.now() - timedelta(days=overrides.pop("days", 1))
    decided = {"promoted_at": at, "promoted_by": scope.owner, "decided_at": at, "decided_by": scope.owner}
    rule = make_proposal(scope, text, **{"state": "promoted", "worded_at": at} | decided | overrides)
    if rule.state == "promoted":
        set_promoted(memory=rule.memory, promoted=True, now=timezone.now())
        Reinforcement.objects.filter(memory=rule.memory).update(useful=evidence)
    return rule


def multiplier(memory: Memory) -> float:
    row = Reinforcement.objects.filter(memory=memory).first()
    return row.multiplier if row else 1.0
