"""What is done without anybody asking: never to what is pinned or protected, always told by whom, always reversible."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memories import services as memory_services
from memories.models import AuditEntry, Link, Memory
from reflections.ladder import Relation, Verdict, decide
from reflections.models import Dispute
from reflections.services.disputes import (
    act_automatically,
    automatic,
    carry_out,
    pair_of,
    resolve,
    snooze,
    sweep_stale,
    undo,
)
from tests.factories import make_memory, make_scope
from tests.reflections.disputing import NEW, OLD, make_pair, make_single, queued, states
from tests.reflections.factories import person

pytestmark = pytest.mark.django_db


def two(scope, old=None, new=None):
    return (
        make_memory(**({"content": OLD, "age_days": 2} | (old or {})), scope=scope),
        make_memory(**({"content": NEW, "age_days": 1} | (new or {})), scope=scope),
    )


def judged(one, another, relation="duplicate", confidence=0.99, **pair):
    return decide(pair_of(one, another, **pair), Verdict(Relation(relation), confidence))


def carried_out(one, another, decision):
    return carry_out(
        one=one,
        another=another,
        decision=decision,
        scanner="pair scan",
        model="some:model",
        confidence=0.99,
        rationale="They say the same.",
    )


@pytest.mark.parametrize(
    ("relation", "action", "resolution", "state"),
    [
        ("duplicate", "forget", "forgot", "invalidated"),
        ("b_supersedes_a", "supersede", "superseded", "superseded"),
    ],
)
def test_an_automatic_act_names_its_scanner_and_model_in_every_trail(scope, relation, action, resolution, state):
    old, new = two(scope)
    dispute = carried_out(old, new, judged(old, new, relation))
    assert (dispute.status, dispute.resolution, dispute.winner) == ("resolved", resolution, new)
    assert states(old, new) == [state, "live"]
    entry = AuditEntry.objects.get(object_type="memory", object_id=str(old.pk), action=action)
    assert (entry.actor, entry.user) == ("pair scan (some:model)", None)
    assert entry.detail | {"scanner": "pair scan", "model": "some:model", "dispute": str(dispute.pk)} == entry.detail
    old.refresh_from_db()
    assert old.invalidated_actor == "pair scan (some:model)"
    settled = AuditEntry.objects.get(action="settle_dispute", object_id=str(dispute.pk))
    assert (settled.detail["scanner"], settled.detail["model"]) == ("pair scan", "some:model")


def test_a_person_takes_an_automatic_act_back_and_it_is_not_done_again(owner, scope):
    actor = person(owner)
    old, new = two(scope)
    before = Memory.objects.filter(pk=old.pk).values().get()
    dispute = carried_out(old, new, judged(old, new, "b_supersedes_a"))
    undo(actor=actor, dispute=dispute, version=dispute.version)
    assert Memory.objects.filter(pk=old.pk).values().get() == before
    assert not Link.objects.filter(type="supersedes").exists()
    assert judged(old, new).action == "nothing"
    assert act_automatically(one=old, another=new, decision=judged(old, new, known=False), scanner="pair scan") is None


@pytest.mark.behaviour("Z46")
def test_what_was_restored_after_an_automatic_act_is_left_alone(owner, scope):
    old, new = two(scope)
    carried_out(old, new, judged(old, new))
    memory_services.restore(actor=person(owner), memory=old)
    assert states(old) == ["live"]
    assert carried_out(old, new, judged(old, new)) is None
    assert states(old, new) == ["live", "live"]


@pytest.mark.behaviour("X6")
@pytest.mark.parametrize("meanwhile", [{"pinned": True}, {"kind": "gotcha"}])
def test_what_was_pinned_or_protected_after_the_decision_is_queued_instead(scope, meanwhile):
    old, new = two(scope)
    decision = judged(old, new)
    Memory.objects.filter(pk=old.pk).update(**meanwhile)
    dispute = carried_out(old, new, decision)
    assert (dispute.status, dispute.proposed_winner) == ("pending", new)
    assert states(old, new) == ["live", "live"]


@pytest.mark.parametrize("gone", [0, 1])
def test_nothing_is_done_about_a_pair_of_which_one_was_retired_after_the_decision(owner, scope, gone):
    pair = two(scope)
    decision = judged(*pair)
    memory_services.forget(actor=person(owner), memory=pair[gone])
    assert carried_out(*pair, decision) is None
    assert not Dispute.objects.exists()
    assert states(pair[1 - gone]) == ["live"]


def test_a_decision_to_queue_records_the_winner_the_judge_saw(scope):
    old, new = two(scope)
    dispute = carried_out(old, new, judged(old, new, "b_supersedes_a", 0.94))
    assert (dispute.status, dispute.type, dispute.proposed_winner) == ("pending", "supersedes", new)
    assert (dispute.confidence, dispute.rationale, dispute.model) == (0.99, "They say the same.", "some:model")
    assert states(old, new) == ["live", "live"]


def test_a_contradiction_is_queued_without_a_winner(scope):
    old, new = two(scope)
    assert carried_out(old, new, judged(old, new, "contradiction")).proposed_winner is None


def test_without_a_judge_a_pair_is_parked_and_the_same_text_is_not(scope):
    old, new = two(scope)
    parked = carry_out(one=old, another=new, decision=decide(pair_of(old, new, cosine=0.99)), scanner="pair scan")
    assert (parked.type, parked.confidence, parked.rationale, parked.proposed_winner) == ("unjudged", None, "", None)
    first, second = two(scope, {"content": "Use tabs."}, {"content": "use  tabs"})
    done = carry_out(one=first, another=second, decision=decide(pair_of(first, second)), scanner="pair scan")
    assert (done.type, done.resolution, states(first, second)) == ("duplicate", "forgot", ["invalidated", "live"])


def test_a_decision_to_do_nothing_leaves_no_row(scope):
    old, new = two(scope)
    assert carried_out(old, new, judged(old, new, "unrelated")) is None
    assert not Dispute.objects.exists()


@pytest.mark.behaviour("Z47")
def test_commits_of_two_repositories_are_never_compared(scope):
    old, new = two(scope, {"source": "git:api@0123abcd"}, {"source": "git:web@0123abcd"})
    assert judged(old, new).reason == "they belong to two projects"
    same = two(scope, {"source": "git:api@0123abcd"}, {"source": "git:api@4567abcd"})
    assert judged(*same).action == "forget"


# Sweep ---------------------------------------------------------------------------------------


@pytest.mark.behaviour("Z48")
def test_the_sweep_dismisses_what_is_moot_and_touches_no_memory(owner, scope):
    actor = person(owner)
    moot, live, single = make_pair(scope), queued(*two(scope)), make_single(scope)
    snoozed = snooze(actor=actor, dispute=queued(*two(scope)), version=1)
    elsewhere = make_pair(make_scope())
    for memory in (moot.other, single.subject, snoozed.subject):
        memory_services.forget(actor=actor, memory=memory)
    Memory.objects.filter(pk=elsewhere.other_id).update(
        invalidated_at=elsewhere.opened_at, invalidated_actor="somebody"
    )
    before = list(Memory.objects.order_by("pk").values())
    assert sweep_stale([scope]) == 3
    assert list(Memory.objects.order_by("pk").values()) == before
    swept = Dispute.objects.filter(status="dismissed", resolution="swept", decided_actor="stale sweep")
    assert set(swept) == {moot, single, snoozed}
    assert set(Dispute.objects.filter(status="pending")) == {live, elsewhere}
    assert sweep_stale([scope]) == 0


def test_the_sweep_takes_more_than_one_batch_each_in_its_own_transaction(scope, monkeypatch):
    monkeypatch.setattr(automatic, "BATCH", 2)
    rows = [make_single(scope, memory=make_memory(scope=scope)) for _ in range(5)]
    Memory.objects.filter(disputes__in=rows).update(invalidated_at=timezone.now(), invalidated_actor="somebody")
    with CaptureQueriesContext(connection) as captured:
        assert sweep_stale([scope]) == 5
    locks = [query["sql"] for query in captured if "FOR UPDATE" in query["sql"]]
    assert len(locks) == 4
    assert all("LIMIT 2" in sql for sql in locks)
    assert Dispute.objects.filter(resolution="swept").count() == 5


def test_what_was_swept_is_not_asked_again_and_can_be_reopened_once_both_live(owner, scope):
    actor = person(owner)
    pair = make_pair(scope)
    memory_services.forget(actor=actor, memory=pair.other)
    sweep_stale([scope])
    memory_services.restore(actor=actor, memory=pair.other)
    assert judged(*pair.sides).action == "nothing"
    pair.refresh_from_db()
    reopened = undo(actor=actor, dispute=pair, version=pair.version)
    assert resolve(actor=actor, dispute=reopened, version=reopened.version, resolution="keep_both").status == "resolved"
