"""The roll-up of all memories in one statement, which must say what the pure rules say of each."""

import random
from contextlib import contextmanager
from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memories.models import Memory, Reinforcement, ReinforcementConfig, UsageEvent
from memories.services.edit import EDITED
from memories.services.reinforcement import roll_up, roll_up_all, set_promoted, standing_of
from tests.factories import make_memory, make_scope

pytestmark = pytest.mark.django_db

# Seconds before now. Few of them, so that challenges meet their withdrawals and reports one moment.
MOMENTS = (60, 120, 3600, 86_400 * 40, 86_400 * 90, 86_400 * 90 + 1, 86_400 * 200)
VERDICTS = {"useful": {"useful": True}, "misled": {"misled": True}, "neither": {}}

said = st.one_of(
    st.fixed_dictionaries({"source": st.just("direct"), "verdict": st.sampled_from(list(VERDICTS))}),
    st.fixed_dictionaries({"source": st.just("link"), "verdict": st.just("useful")}),
    st.fixed_dictionaries({"source": st.just("challenge"), "verdict": st.just("misled")}),
    st.fixed_dictionaries({"source": st.sampled_from(["withdrawn", "reinstated"]), "verdict": st.just("neither")}),
    st.fixed_dictionaries(
        {
            "source": st.just("judge"),
            "verdict": st.sampled_from(list(VERDICTS)),
            "confidence": st.sampled_from([0.3, 0.5999999, 0.6, 0.7, 0.95, 1.0]),
        }
    ),
)
event = st.tuples(
    st.integers(0, 3), said, st.sampled_from(MOMENTS), st.sampled_from(["", "morning", "evening"])
)  # of which memory, what, when, in which session


def taken_back(place, seconds, session, times):
    """A challenge, and what withdraws it and reinstates it in turn."""
    sources = ["challenge", *("withdrawn", "reinstated") * times][: times + 1]
    verdicts = {"challenge": "misled"}
    return [
        (place, {"source": source, "verdict": verdicts.get(source, "neither")}, seconds, session) for source in sources
    ]


told = st.one_of(
    event.map(lambda one: [one]),
    st.builds(
        taken_back, st.integers(0, 3), st.sampled_from(MOMENTS), st.sampled_from(["", "morning"]), st.integers(1, 3)
    ),
)
events_told = st.lists(told, max_size=12).map(lambda groups: [one for group in groups for one in group])


@contextmanager
def undone():
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def family():
    """An edited memory with its two earlier wordings, and one that another memory replaced."""
    scope = make_scope()
    first, second, third, replaced = (make_memory(scope=scope) for _ in range(4))
    for old, new, reason in ((first, second, EDITED), (second, third, EDITED), (replaced, third, "Outdated")):
        old.superseded_by, old.invalidated_at, old.invalidation_reason = new, timezone.now(), reason
        old.invalidated_actor = "somebody"
        old.save()
    return first, second, third, replaced


def write(memories, events, now):
    UsageEvent.objects.bulk_create(
        UsageEvent(
            memory=memories[place],
            at=now - timedelta(seconds=seconds),
            source=told["source"],
            confidence=told.get("confidence", 1.0),
            session="" if told["source"] in ("withdrawn", "reinstated") else session,
            **VERDICTS[told["verdict"]],
        )
        for place, told, seconds, session in events
    )


def rows():
    return {row.memory_id: row for row in Reinforcement.objects.all()}


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(events=events_told, promoted=st.booleans())
def test_the_statement_says_what_the_rules_say(db, events, promoted):
    with undone():
        now, memories = timezone.now(), family()
        write(memories, events, now)
        if promoted:
            set_promoted(memory=memories[3], promoted=True, now=now)
        roll_up_all(now=now)
        found = rows()
        for memory in memories:
            expected = standing_of(memory=memory, now=now)
            row = found.get(memory.pk)
            assert (row is None) == (expected.is_neutral and not (promoted and memory == memories[3]))
            if row:
                assert (row.useful, row.misled, row.multiplier) == pytest.approx(
                    (expected.useful, expected.misled, expected.multiplier), abs=1e-9
                )


def many_events(now, *, memories=30, events=600):
    chance = random.Random(11)
    family = [make_memory() for _ in range(memories)]
    told = [
        ({"source": "direct", "verdict": "useful"}),
        ({"source": "direct", "verdict": "misled"}),
        ({"source": "judge", "verdict": "useful", "confidence": 0.83}),
        ({"source": "challenge", "verdict": "misled"}),
    ]
    write(
        family,
        [
            (
                chance.randrange(memories),
                chance.choice(told),
                chance.randrange(86_400 * 120),
                f"s{chance.randrange(90)}",
            )
            for _ in range(events)
        ],
        now,
    )
    return family


def test_twice_in_a_row_the_second_writes_nothing():
    now = timezone.now()
    many_events(now)
    first, before = roll_up_all(now=now), list(Reinforcement.objects.order_by("pk").values())
    second = roll_up_all(now=now)
    assert first.found == second.found == first.written > 20
    assert (second.written, second.removed) == (0, 0)
    assert list(Reinforcement.objects.order_by("pk").values()) == before


def test_one_memory_alone_gets_the_same_number():
    now = timezone.now()
    family = many_events(now)
    roll_up_all(now=now)
    together = {pk: (row.useful, row.misled, row.multiplier) for pk, row in rows().items()}
    for memory in family:
        roll_up(memory=memory, now=now)
    alone = {pk: (row.useful, row.misled, row.multiplier) for pk, row in rows().items()}
    assert alone.keys() == together.keys()
    assert all(alone[pk] == pytest.approx(together[pk], abs=1e-9) for pk in alone)


@pytest.mark.behaviour("Z26")
def test_what_is_older_than_the_window_is_gone_at_the_next_roll_up():
    now, memory = timezone.now(), make_memory()
    write([memory], [(0, {"source": "direct", "verdict": "useful"}, 60, "")], now)
    assert roll_up_all(now=now) == (1, 1, 0)
    assert roll_up_all(now=now + timedelta(days=91)) == (0, 0, 1)
    assert not rows()


@pytest.mark.behaviour("Z25")
def test_a_rule_keeps_its_row_and_number_whatever_is_said():
    now, memory = timezone.now(), make_memory()
    set_promoted(memory=memory, promoted=True, now=now)
    write([memory], [(0, {"source": "direct", "verdict": "useful"}, 60, f"s{n}") for n in range(9)], now)
    roll_up_all(now=now)
    assert (rows()[memory.pk].useful, rows()[memory.pk].multiplier) == (9, 0.6)
    roll_up_all(now=now + timedelta(days=100))
    assert rows()[memory.pk].multiplier == 0.6


def test_a_rule_that_counts_like_any_memory_is_still_known_as_one():
    ReinforcementConfig.objects.update(promoted=1.0)
    now, memory = timezone.now(), make_memory()
    set_promoted(memory=memory, promoted=True, now=now)
    roll_up_all(now=now)
    assert rows()[memory.pk].promoted


def test_changed_constants_count_from_the_next_roll_up_on():
    now, memory = timezone.now(), make_memory()
    write([memory], [(0, {"source": "direct", "verdict": "useful"}, 86_400 * 20, "")], now)
    roll_up_all(now=now)
    ReinforcementConfig.objects.update(boost=0.3, boost_limit=1.1)
    roll_up_all(now=now)
    assert rows()[memory.pk].multiplier == pytest.approx(1.1)
    ReinforcementConfig.objects.update(window_days=19)
    assert roll_up_all(now=now).removed == 1


def test_without_a_row_of_constants_the_shipped_ones_hold():
    ReinforcementConfig.objects.all().delete()
    now, memory = timezone.now(), make_memory()
    write([memory], [(0, {"source": "direct", "verdict": "useful"}, 60, "")], now)
    roll_up_all(now=now)
    assert rows()[memory.pk].multiplier == pytest.approx(1.10397, abs=5e-6)


def test_a_scope_is_rolled_up_for_itself():
    now, mine, other = timezone.now(), make_memory(), make_memory()
    for memory in (mine, other):
        write([memory], [(0, {"source": "direct", "verdict": "useful"}, 60, "")], now)
    Reinforcement.objects.create(memory=make_memory(scope=other.scope), multiplier=1.3)
    assert roll_up_all(now=now, scope=mine.scope) == (1, 1, 0)
    assert set(rows()) == {mine.pk, *Memory.objects.filter(reinforcement__multiplier=1.3).values_list("pk", flat=True)}
