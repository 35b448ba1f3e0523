"""Which rules are proposed, found from what was said, is the same as looking at every memory in turn."""

import random
from datetime import timedelta

import pytest
from django.db.models import Q
from django.utils import timezone

from memories.models import Memory, Scope, UsageEvent
from memories.reinforcement import Outcome, outcomes
from memories.services.edit import EDITED
from memories.services.reinforcement import signal_of
from memories.wordings import earlier_wordings
from reflections import configuration
from reflections.models import StandingRule
from reflections.querysets import DOUBTS
from reflections.steps.rule_candidates import KINDS, candidates
from tests.factories import make_memory, make_scope
from tests.reflections.disputing import make_single
from tests.reflections.ruling import make_convention, make_proposal

pytestmark = pytest.mark.django_db
SAID = (
    *[{"source": "direct", "useful": True}] * 8,
    {"source": "direct"},
    {"source": "direct", "misled": True},
    {"source": "challenge", "misled": True},
    {"source": "link", "useful": True},
    {"source": "judge", "useful": True, "confidence": 0.5},
    {"source": "judge", "useful": True, "confidence": 0.7},
)


def edited(dice, memory):
    """Some memories have earlier wordings, in which some of it was said."""
    wordings = [memory]
    while dice.random() < 0.4:
        gone = {"invalidated_at": timezone.now(), "invalidated_actor": "somebody", "invalidation_reason": EDITED}
        wordings.append(make_convention(memory.scope, superseded_by=wordings[-1], **gone))
    return wordings


def a_world(dice, scope):
    now = timezone.now()
    for _ in range(25):
        kind, age = dice.choice(["convention", "gotcha", "fact"]), dice.choice([3, 40, 40])
        ended = {"valid_until": now - timedelta(days=1)} if dice.random() < 0.1 else {}
        memory = make_memory(scope=scope, kind=kind, age_days=age, **ended)
        wordings = edited(dice, memory)
        for _ in range(dice.randrange(14)):
            at = now - timedelta(days=dice.choice([1, 2, 3, 20, 31]))
            session = dice.choice(["", "one", "two", "three", "four", "five"])
            UsageEvent.objects.create(memory=dice.choice(wordings), at=at, session=session, **dice.choice(SAID))
        if dice.random() < 0.1:
            make_proposal(scope, memory=dice.choice(wordings))
        if dice.random() < 0.1:
            make_single(scope, "outdated", memory=memory)
    return now


def one_by_one(scope: Scope, now):
    rule = configuration.hygiene()
    settled = now - timedelta(days=rule.rule_settled_days)
    lasting = Q(valid_until=None) | Q(valid_until__gt=now)
    live = Memory.objects.filter(lasting, scope=scope, invalidated_at=None, kind__in=KINDS)
    return {
        (memory.pk, sessions)
        for memory in live.filter(updated_at__lte=settled, created_at__lte=settled)
        if (sessions := praised(memory, now, rule.rule_days)) >= rule.rule_sessions
        and not StandingRule.objects.filter(memory__in=earlier_wordings(memory.pk)).exists()
        and not memory.disputes.filter(status="pending", type__in=DOUBTS).exists()
    }


def praised(memory, now, days) -> int:
    events = UsageEvent.objects.filter(memory__in=earlier_wordings(memory.pk), at__gte=now - timedelta(days=days))
    signals = [signal_of(event) for event in events]
    told = zip(signals, outcomes(signals, now=now), strict=True)
    return len({one.session for one, outcome in told if outcome == Outcome.COUNTS and one.useful and one.session})


@pytest.mark.parametrize("seed", range(6))
def test_what_was_said_finds_the_memories_that_a_look_at_each_finds(owner, scope, seed):
    dice = random.Random(seed)
    a_world(dice, make_scope(owner, slug="elsewhere"))
    now = a_world(dice, scope)
    expected = one_by_one(scope, now)
    assert expected
    assert set(candidates(scope, configuration.hygiene(), now)) == expected
