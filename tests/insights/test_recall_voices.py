"""What "Is recall useful" counts of the reports is what the multiplier counts of them."""

import random
from datetime import timedelta

import pytest
from django.utils import timezone

from insights.recall_quality import recall_quality
from memories.access import actor_for_user
from memories.models import UsageEvent
from memories.reinforcement import Outcome, outcomes
from memories.services.reinforcement import signal_of
from tests.factories import make_memory
from tests.insights.asking import make_event, make_surfaced

pytestmark = pytest.mark.django_db
SAID = [
    {"source": "direct", "useful": True},
    {"source": "direct", "misled": True},
    {"source": "direct"},
    {"source": "link", "useful": True},
    {"source": "challenge", "misled": True},
    {"source": "withdrawn"},
    {"source": "reinstated"},
    {"source": "judge", "useful": True, "relevant": True, "confidence": 0.5},
    {"source": "judge", "useful": True, "relevant": True, "confidence": 0.7},
    {"source": "judge", "misled": True, "relevant": False, "confidence": 0.8},
]


def quality(owner):
    return recall_quality(actor=actor_for_user(owner), now=timezone.now())


@pytest.fixture
def memory(scope):
    memory = make_memory(scope=scope)
    make_surfaced(memory)
    return memory


def test_a_judge_that_is_not_sure_counts_nothing(owner, memory):
    make_event(memory, source="judge", useful=True, relevant=True, confidence=0.59)
    found = quality(owner)
    assert (found.useful, found.reports, found.judged, found.usefulness) == (0, 0, 0, None)


def test_a_report_that_its_session_took_back_counts_no_more(owner, memory):
    make_event(memory, useful=True, session="monday", days_ago=2)
    make_event(memory, session="monday", days_ago=1)
    assert (quality(owner).useful, quality(owner).usefulness) == (0, 0.0)


@pytest.mark.parametrize("seed", range(12))
def test_it_counts_the_memories_that_the_rules_count(owner, scope, seed):
    dice, now = random.Random(seed), timezone.now()
    moments = [now - timedelta(hours=hours) for hours in (1, 2, 3)]
    memories = [make_memory(scope=scope) for _ in range(6)]
    for memory in memories:
        make_surfaced(memory)
        for _ in range(dice.randrange(6)):
            said = dice.choice(SAID)
            session = "" if said["source"] in ("withdrawn", "reinstated") else dice.choice(["", "one", "two"])
            make_event(memory, at=dice.choice(moments), session=session, **said)
    useful, misled = (
        sum(any(getattr(signal, flag) for signal in counted(memory, now)) for memory in memories)
        for flag in ("useful", "misled")
    )
    assert (quality(owner).useful, quality(owner).misled) == (useful, misled)


def counted(memory, now):
    signals = [signal_of(event) for event in UsageEvent.objects.filter(memory=memory)]
    told = outcomes(signals, now=now)
    return [signal for signal, outcome in zip(signals, told, strict=True) if outcome == Outcome.COUNTS]
