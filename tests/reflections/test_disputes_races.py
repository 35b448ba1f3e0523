"""Two at the same moment, with real transactions: one decision stands, nothing is doubled, nobody deadlocks."""

import pytest
from django.utils import timezone

from memories import services as memory_services
from memories.models import AuditEntry, Memory, UsageEvent
from reflections.hygiene import start_cycle, work_on
from reflections.ladder import Relation, Verdict, decide
from reflections.models import Dispute
from reflections.services.disputes import (
    act_automatically,
    challenge,
    open_pair,
    pair_of,
    resolve,
    sweep_stale,
    undo,
)
from tests.factories import make_member, make_memory
from tests.reflections.disputing import make_pair, states
from tests.reflections.factories import person
from tests.reflections.together import at_once

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def two(owner, scope):
    return person(owner), person(make_member(scope, "writer"))


def kinds(results):
    return sorted(type(result).__name__ for result in results)


def test_of_two_opposite_decisions_at_once_one_stands_and_the_other_is_told_by_whom(scope, two):
    pair = make_pair(scope, "supersedes")
    results = at_once(
        *(
            lambda who=who, winner=winner: resolve(
                actor=who, dispute=pair, version=1, resolution="supersede", winner=winner
            )
            for who, winner in zip(two, (pair.subject_id, pair.other_id), strict=True)
        )
    )
    assert kinds(results) == ["Conflict", "Dispute"]
    (told,) = [result for result in results if isinstance(result, Exception)]
    pair.refresh_from_db()
    assert told.message.startswith(f"{pair.decided_actor} replaced one by the other")
    assert sorted(states(*pair.sides)) == ["live", "superseded"]


@pytest.mark.behaviour("Z34")
def test_two_challenges_at_once_are_one_dispute_and_one_signal(scope, two):
    memory = make_memory(scope=scope)
    results = at_once(*(lambda who=who: challenge(actor=who, memory=memory) for who in two))
    assert sorted(found.already_pending for found in results) == [False, True]
    assert len({found.dispute.pk for found in results}) == 1
    assert UsageEvent.objects.count() == Dispute.objects.count() == 1


@pytest.mark.behaviour("Z46")
def test_two_scans_at_once_queue_a_pair_once(scope):
    old, new = make_memory(scope=scope, age_days=2), make_memory(scope=scope)
    turned = [(old, new), (new, old)]
    results = at_once(
        *(
            lambda one=one, another=another: open_pair(one=one, another=another, type="duplicate", scanner="pair scan")
            for one, another in turned
        )
    )
    assert kinds(results) == ["Dispute", "NoneType"]
    assert AuditEntry.objects.filter(action="open_dispute").count() == 1


def test_of_two_pairs_that_share_a_memory_automatic_acts_at_once_leave_one_alive(scope):
    first, second, third = (make_memory(f"Said {n}", scope=scope, age_days=9 - n) for n in range(3))
    pairs = [(first, second), (second, third), (third, first)]
    verdict = Verdict(Relation.DUPLICATE, 0.99)
    decisions = [decide(pair_of(*pair), verdict) for pair in pairs]
    results = at_once(
        *(
            lambda pair=pair, decision=decision: act_automatically(
                one=pair[0], another=pair[1], decision=decision, scanner="pair scan"
            )
            for pair, decision in zip(pairs, decisions, strict=True)
        )
    )
    assert not [result for result in results if isinstance(result, Exception)]
    assert Memory.objects.live().count() == 1


def test_a_sweep_beside_a_decision_neither_waits_nor_overrules(scope, two):
    pair = make_pair(scope)
    memory_services.forget(actor=two[0], memory=pair.subject)
    results = at_once(
        lambda: sweep_stale([scope]),
        lambda: resolve(actor=two[1], dispute=pair, version=1, resolution="keep_both"),
    )
    pair.refresh_from_db()
    assert pair.version == 2
    swept = results[0]
    assert pair.resolution == ("swept" if swept == 1 else "kept_both")


def test_two_undos_at_once_undo_once(scope, two):
    pair = make_pair(scope)
    settled = resolve(actor=two[0], dispute=pair, version=1, resolution="merge", text="Both in one.")
    results = at_once(*(lambda who=who: undo(actor=who, dispute=settled, version=2) for who in two))
    assert kinds(results) == ["Conflict", "Dispute"]
    assert states(*pair.sides, settled.merged) == ["live", "live", "invalidated"]


@pytest.mark.behaviour("Z32")
def test_a_challenge_at_the_moment_of_a_suspicion_leaves_no_two_that_ask_the_same_of_one_kind(owner, scope, two):
    memory = make_memory(scope=scope)
    for number in range(2):
        now = timezone.now()
        UsageEvent.objects.create(memory=memory, at=now, source="direct", session=f"s{number}", user=owner, misled=True)
    run = start_cycle(actor=None, scopes=[scope], steps=["stale_suspects"], ring=False).run
    results = at_once(lambda: work_on(run.pk), *(lambda who=who: challenge(actor=who, memory=memory) for who in two))
    assert not [result for result in results if isinstance(result, Exception)]
    assert sorted(found.already_pending for found in results if found) == [False, True]
    rows = list(Dispute.objects.unsettled())
    assert sum(row.is_challenge for row in rows) == 1
    assert len({row.type for row in rows}) == len(rows) <= 2
