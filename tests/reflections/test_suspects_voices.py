"""Who is heard about a suspect is who is heard in the multiplier, of what was said since the last decision."""

from datetime import timedelta
from itertools import pairwise

import pytest
from django.db import transaction
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memories.models import UsageEvent
from memories.reinforcement import Outcome, outcomes
from memories.services.edit import EDITED
from memories.services.reinforcement import signal_of
from reflections.models import Dispute
from reflections.suspects import suspects
from tests.factories import make_memory, make_scope
from tests.reflections.disputing import make_single

pytestmark = pytest.mark.django_db
HOURS = (1, 2, 3, 24 * 40, 24 * 90 - 1, 24 * 91)
ABOUT_CHALLENGES = ("withdrawn", "reinstated")
SAID = (
    {"source": "direct", "misled": True},
    {"source": "direct", "useful": True},
    {"source": "direct"},
    {"source": "link", "useful": True},
    {"source": "challenge", "misled": True},
    {"source": "withdrawn"},
    {"source": "reinstated"},
    *({"source": "judge", "misled": True, "confidence": sure} for sure in (0.3, 0.6, 0.9)),
    {"source": "judge", "useful": True, "confidence": 0.95},
)
events = st.lists(
    st.tuples(
        st.integers(0, 2), st.sampled_from(SAID), st.sampled_from(HOURS), st.sampled_from(["", "one", "two", "three"])
    ),
    max_size=16,
)


def edited_twice():
    scope = make_scope()
    wordings = [make_memory(scope=scope, age_days=200) for _ in range(3)]
    for old, new in pairwise(wordings):
        old.superseded_by, old.invalidation_reason = new, EDITED
        old.invalidated_at, old.invalidated_actor = timezone.now(), "somebody"
        old.save()
    return wordings


def write(wordings, told, now):
    for place, said, hours, session in told:
        name = "" if said["source"] in ABOUT_CHALLENGES else session
        at = now - timedelta(hours=hours)
        UsageEvent.objects.create(memory=wordings[place], at=at, session=name, **said)


def decide(memory, at):
    row = make_single(memory.scope, "outdated", memory=memory)
    decided = {
        "status": "dismissed",
        "resolution": "upheld",
        "decided_at": at,
        "decided_by": memory.scope.owner,
        "decided_actor": "owner",
    }
    Dispute.objects.filter(pk=row.pk).update(**decided)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(told=events, decided_hours=st.sampled_from([None, 2, 24]))
def test_a_session_speaks_with_the_same_voice_as_in_the_multiplier(db, told, decided_hours):
    with transaction.atomic():
        now, wordings = timezone.now(), edited_twice()
        write(wordings, told, now)
        if decided_hours:
            decide(wordings[-1], now - timedelta(hours=decided_hours))
        assert heard(wordings[-1], now) == expected(now, decided_hours)
        transaction.set_rollback(True)


def heard(memory, now):
    since = now - timedelta(days=90)
    found = list(suspects(memory.scope_id, now=now, since=since, reports=1, judge_minimum=0.6))
    assert {suspect.memory for suspect in found} <= {memory.pk}
    return sorted((one["session"], one["source"], one["confidence"]) for suspect in found for one in suspect.reports)


def expected(now, decided_hours):
    signals = [signal_of(event) for event in UsageEvent.objects.all()]
    if decided_hours:
        signals = [signal for signal in signals if signal.at > now - timedelta(hours=decided_hours)]
    told = outcomes(signals, now=now)
    counted = [signal for signal, outcome in zip(signals, told, strict=True) if outcome == Outcome.COUNTS]
    return sorted((one.session, one.source, one.confidence) for one in counted if one.misled)
