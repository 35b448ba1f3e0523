"""The briefing with the standing rules in front. For an agent it is logged, and its memories are counted as given."""

from __future__ import annotations

import time
from typing import Any

from django.utils import timezone

from memories import briefing
from memories.access import Actor, read_targets
from memories.briefing import Briefing, RuleTold
from memories.models import RecallActivity
from memories.ranking import age_in_days
from memories.services.accesses import Answered, Given, note_recall
from reflections.delivery import deliverable


def brief(*, actor: Actor, scopes: list[str] | None = None, **asked: Any) -> Briefing:
    """``memories.briefing.build`` with the rules that are delivered: pinned ones of every layer first."""
    rulings = [ruling for layer in deliverable(actor, read_targets(actor, scopes)) for ruling in layer.delivered]
    rulings.sort(key=lambda ruling: not ruling.rule.pinned)
    rules = [RuleTold(one.rule.pk, one.rule.text, one.rule.layer, one.rule.pinned) for one in rulings]
    return briefing.build(actor=actor, scopes=scopes, rules=rules, **asked)


def brief_agent(*, actor: Actor, session: str = "", topic: str = "", **asked: Any) -> Briefing:
    """The same for an agent, with a line in the log."""
    began = time.perf_counter()
    found = brief(actor=actor, topic=topic, **asked)
    answered = Answered(given=_given(found), scopes=found.scopes, took_ms=_since(began), words_only=found.words_only)
    note_recall(
        actor=actor,
        query=topic,
        k=len(found.memories),
        answered=answered,
        session=session,
        sort=RecallActivity.Sort.BRIEFING,
    )
    return found


def _given(found: Briefing) -> list[Given]:
    now = timezone.now()
    return [
        Given(told.memory.pk, age_in_days(told.memory.created_at, now), hasattr(told.memory, "reinforcement"))
        for told in found.given
    ]


def _since(began: float) -> float:
    return (time.perf_counter() - began) * 1000
