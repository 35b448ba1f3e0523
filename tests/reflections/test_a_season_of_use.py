"""Months of use and of the hygiene cycle, day by day, with a clock of their own."""

from __future__ import annotations

import random
from collections import Counter
from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from memories.access import actor_for_user
from memories.agent_recall import recall_for_agent
from memories.models import Memory, Reinforcement, UsageEvent
from memories.ranking import REINFORCEMENT_DEFAULTS
from memories.reinforcement import Signal, standing
from memories.services.reinforcement import roll_up_all
from memories.services.signals import mark_used
from reflections import hygiene
from reflections.models import Dispute, Run
from tests.factories import make_memory

pytestmark = pytest.mark.django_db

TODAY = timezone.now()
ROLL_UP = ["reinforcement_rollup"]


@pytest.fixture
def calendar(monkeypatch):
    """The day on which everything happens that asks for the time."""

    class Calendar:
        today: datetime = TODAY

        def turn_to(self, days_ago: float) -> datetime:
            self.today = TODAY - timedelta(days=days_ago)
            return self.today

    found = Calendar()
    monkeypatch.setattr(timezone, "now", lambda: found.today)
    return found


def run_hygiene(scope, steps=None) -> Run:
    kind = {"steps": steps} if steps else {"kind": Run.Kind.QUICK}
    run = hygiene.start_cycle(actor=None, scopes=[scope], ring=False, **kind).run
    hygiene.work_on(run.pk)
    run.refresh_from_db()
    assert run.state == Run.State.DONE, run.error
    return run


def multipliers() -> dict:
    return dict(Reinforcement.objects.values_list("memory_id", "multiplier"))


def work_a_day(scope, memories, day: int, at: datetime, chance: random.Random) -> None:
    """Twelve sessions; a few memories are used in very many of them. One in ten reports says that a memory misled, and
    a judge is not always sure."""
    UsageEvent.objects.bulk_create(
        UsageEvent(
            memory=memories[min(int(chance.paretovariate(0.6)) - 1, len(memories) - 1)],
            at=at,
            user=scope.owner,
            session=f"day {day} session {session}",
            source=source,
            useful=not misled,
            misled=misled,
            confidence=1.0 if source == "direct" else chance.uniform(0.4, 1.0),
        )
        for session in range(12)
        for source, misled in [(chance.choice(["direct", "judge"]), chance.random() < 0.1)]
    )


def signals_of(memory_id) -> list[Signal]:
    told = UsageEvent.objects.filter(memory=memory_id)
    return [Signal(*row) for row in told.values_list("at", "source", "useful", "misled", "confidence", "session")]


def found_by(scope, words: str) -> list:
    found = recall_for_agent(actor=actor_for_user(scope.owner), query=words, scopes=[scope.slug], k=50)
    return [result.memory.pk for result in found.results]


@pytest.mark.behaviour("F16")
def test_half_a_year_of_daily_cycles_multiplies_nothing_onto_itself(scope, calendar):
    calendar.turn_to(181)
    memories = [
        make_memory(f"Note {number} on how harbour gate {number % 40} is worked.", scope=scope, kind="convention")
        for number in range(2000)
    ]
    chance = random.Random(16)
    before = found_by(scope, "harbour gate 7")
    for day in range(180):
        now = calendar.turn_to(180 - day)
        work_a_day(scope, memories, day, now, chance)
        run_hygiene(scope, ROLL_UP)
        assert roll_up_all(now=now, scope=scope)[1:] == (0, 0)
    run_hygiene(scope)

    now, found = calendar.today, multipliers()
    assert all(0.5 <= value <= 1.4 for value in found.values())
    assert len({round(value, 4) for value in found.values()}) > 5
    for memory, value in found.items():
        assert value == pytest.approx(standing(signals_of(memory), now=now).multiplier, abs=1e-9)
    assert Memory.objects.live().count() == 2000
    assert found_by(scope, "harbour gate 7") != before


@pytest.mark.behaviour("F17")
def test_being_retrieved_for_seven_months_lifts_nothing_and_clears_no_flag(scope, calendar):
    now = calendar.turn_to(215)
    stale = make_memory("The staging database listens on port 5432.", scope=scope, created_at=now - timedelta(days=90))
    calendar.turn_to(212)
    actor = actor_for_user(scope.owner)
    for session in ("one", "two"):
        mark_used(actor=actor, memory=stale, misled=True, session=session)
    correction = make_memory("The staging database listens on port 6432.", scope=scope)
    run_hygiene(scope)
    suspicion = Dispute.objects.get(type="stale_suspect")
    in_order = [correction.pk, stale.pk]
    assert found_by(scope, "staging database port") == in_order

    given = Counter()
    for day in range(210):
        calendar.turn_to(210 - day)
        asked = ["which port, 5432"] + (["which port, 6432"] if day % 7 == 0 else [])
        for words in asked:
            shown = recall_for_agent(actor=actor, query=words, scopes=[scope.slug], k=1)
            given.update(result.memory.pk for result in shown.results)
        if day % 30 == 0:
            run_hygiene(scope)
    calendar.turn_to(0)
    run_hygiene(scope)

    assert given == {stale.pk: 210, correction.pk: 30}
    assert max(multipliers().values(), default=1.0) <= 1.0
    assert found_by(scope, "staging database port") == in_order
    suspicion.refresh_from_db()
    assert suspicion.status == Dispute.Status.PENDING


@pytest.mark.behaviour("F17")
def test_few_of_what_is_used_reach_the_cap_in_seven_months(scope, calendar):
    calendar.turn_to(211)
    memories = [make_memory(f"Berth {number} is deep enough.", scope=scope) for number in range(300)]
    chance = random.Random(17)
    for day in range(210):
        work_a_day(scope, memories, day, calendar.turn_to(210 - day), chance)
    run_hygiene(scope, ROLL_UP)
    at_the_cap = [value for value in multipliers().values() if value >= REINFORCEMENT_DEFAULTS.boost_limit]
    assert 0 < len(at_the_cap) < len(memories) / 10
