"""Propose as standing rules what several sessions found useful of late."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple
from uuid import UUID

from django.db import connection
from django.utils import timezone

from memories.models import Kind, Memory, Scope, UsageEvent
from memories.ranking import REINFORCEMENT_DEFAULTS
from memories.services.edit import EDITED
from reflections import configuration
from reflections.models import HygieneConfig
from reflections.models.rules import LONGEST
from reflections.presentation import counted
from reflections.querysets import DOUBTS
from reflections.services.progress import Progress
from reflections.services.rules import propose
from reflections.sql import load

SCANNER: Final = "rule candidates"
KINDS: Final = (Kind.CONVENTION, Kind.PREFERENCE, Kind.GOTCHA)
SAID_BY_THOSE_WHO_USED_IT: Final = (UsageEvent.Source.DIRECT, UsageEvent.Source.LINK)


class Found(NamedTuple):
    memory: UUID
    sessions: int


def work(scope: Scope, progress: Progress) -> None:
    rule, now = configuration.hygiene(), timezone.now()
    for found in candidates(scope, rule, now):
        memory = Memory.objects.live().filter(pk=found.memory).first()
        if memory is None:
            continue
        proposed = _propose(memory, found.sessions, rule, now)
        progress.count(found=1, done=int(proposed), skipped=int(not proposed))


def survey(scope: Scope) -> str:
    found = candidates(scope, configuration.hygiene(), timezone.now())
    return f"would propose {counted(len(found), 'standing rule')}"


def candidates(scope: Scope, rule: HygieneConfig, now: datetime) -> list[Found]:
    """Memories that were never proposed, in whatever wording, with the sessions that found them useful."""
    wanted: dict[str, Any] = {
        "scope": scope.pk,
        "kinds": [str(kind) for kind in KINDS],
        "now": now,
        "settled": now - timedelta(days=rule.rule_settled_days),
        "since": now - timedelta(days=rule.rule_days),
        "sessions": rule.rule_sessions,
        "edited": EDITED,
        "direct": [str(source) for source in SAID_BY_THOSE_WHO_USED_IT],
        "judge_minimum": REINFORCEMENT_DEFAULTS.judge_minimum,
        "doubts": list(DOUBTS),
    }
    with connection.cursor() as cursor:
        cursor.execute(load("rule_candidates"), wanted)
        return [Found(*row) for row in cursor.fetchall()]


def _propose(memory: Memory, sessions: int, rule: HygieneConfig, now: datetime) -> bool:
    """A text that is too long to be read every time is left to a person, who may promote it in other words."""
    if len(memory.content.strip()) > LONGEST:
        return False
    proposed = propose(
        memory=memory,
        sessions=sessions,
        rationale=f"Useful in {counted(sessions, 'session')} within {counted(rule.rule_days, 'day')}.",
        label=SCANNER,
        settled=now - timedelta(days=rule.rule_settled_days),
    )
    return proposed is not None
