"""Propose as standing rules what several sessions found useful of late."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, NamedTuple
from uuid import UUID

from django.db import connection
from django.utils import timezone

from memories.configuration import reinforcement_rule
from memories.models import Kind, Memory, Scope
from memories.ranking import ReinforcementRule
from memories.reinforcement import Outcome, Signal, outcomes
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
        "doubts": list(DOUBTS),
    }
    with connection.cursor() as cursor:
        cursor.execute(load("rule_candidates"), wanted)
        rows = cursor.fetchall()
    constants = replace(reinforcement_rule(), window_days=rule.rule_days)
    told = {memory: [Signal(*row[1:]) for row in said] for memory, said in groupby(rows, key=itemgetter(0))}
    found = [Found(memory, _sessions(signals, now, constants)) for memory, signals in told.items()]
    return [one for one in found if one.sessions >= rule.rule_sessions]


def _sessions(signals: Sequence[Signal], now: datetime, constants: ReinforcementRule) -> int:
    """How many sessions say that it was useful, each with its one voice."""
    counted = zip(signals, outcomes(signals, now=now, constants=constants), strict=True)
    useful = [signal.session for signal, outcome in counted if outcome == Outcome.COUNTS and signal.useful]
    return len({session for session in useful if session})


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
