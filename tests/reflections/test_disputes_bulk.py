"""Many disputes in one act."""

import pytest

from memories.errors import ValidationFailed
from memories.models import AuditEntry, Memory
from reflections.models import Dispute
from reflections.services.disputes import Ask, resolve_many
from tests.factories import make_memory, make_scope
from tests.reflections.disputing import make_pair, make_single, queued, states
from tests.reflections.factories import person

pytestmark = pytest.mark.django_db


@pytest.fixture
def actor(owner, scope):
    return person(owner)


def fresh_pair(scope, **overrides):
    return queued(make_memory(scope=scope, age_days=2), make_memory(scope=scope, age_days=1), **overrides)


@pytest.mark.behaviour("Z38")
@pytest.mark.parametrize(("policy", "stays"), [("newer", 1), ("older", 0), ("proposed", 0)])
def test_a_policy_that_names_a_winner_skips_what_is_about_one_memory(actor, scope, policy, stays):
    duplicate, supersedes, single = fresh_pair(scope), fresh_pair(scope, type="supersedes"), make_single(scope)
    for pair in (duplicate, supersedes):
        Dispute.objects.filter(pk=pair.pk).update(proposed_winner=pair.subject)
    asked = [duplicate.pk, supersedes.pk, single.pk]
    settled = resolve_many(actor=actor, policy=policy, disputes=asked, reason="cleared")
    assert [(row.pk, row.resolution) for row in settled.resolved] == [
        (duplicate.pk, "forgot"),
        (supersedes.pk, "superseded"),
    ]
    assert (settled.skipped, settled.failed) == ([str(single.pk)], [])
    assert {row.winner for row in settled.resolved} == {duplicate.sides[stays], supersedes.sides[stays]}
    assert states(single.subject) == ["live"]


def test_a_policy_skips_what_it_says_nothing_about(actor, scope):
    pair, single = fresh_pair(scope), make_single(scope)
    assert resolve_many(actor=actor, policy="proposed", disputes=[pair.pk]).skipped == [str(pair.pk)]
    assert resolve_many(actor=actor, policy="uphold", disputes=[pair.pk, single.pk]).skipped == [str(pair.pk)]
    assert resolve_many(actor=actor, policy="keep_both", disputes=[pair.pk]).resolved == [pair]


@pytest.mark.behaviour("X6")
def test_a_policy_never_retires_what_is_pinned(actor, scope):
    pinned = queued(make_memory(scope=scope, age_days=2, pinned=True), make_memory(scope=scope))
    assert resolve_many(actor=actor, policy="newer", disputes=[pinned.pk]).skipped == [str(pinned.pk)]
    assert states(*pinned.sides) == ["live", "live"]


@pytest.mark.behaviour("Z38")
def test_one_that_fails_stops_no_other(actor, scope):
    good, settled_before, foreign = fresh_pair(scope), fresh_pair(scope), make_pair(make_scope())
    asked = [
        Ask(settled_before.pk, "keep_both", version=1),
        Ask(settled_before.pk, "keep_both", version=1),
        Ask(foreign.pk, "keep_both", version=1),
        Ask("no id", "keep_both"),
        Ask(good.pk, "merge", version=1, text="Both in one."),
    ]
    settled = resolve_many(actor=actor, resolutions=asked)
    assert [row.pk for row in settled.resolved] == [settled_before.pk, good.pk]
    assert [failure.code for failure in settled.failed] == ["conflict", "not_found", "not_found"]
    assert "kept both memories" in settled.failed[0].message


def test_a_dry_run_tells_what_would_be_done_and_does_nothing(actor, scope):
    pairs = [fresh_pair(scope) for _ in range(3)]
    before, entries = list(Memory.objects.order_by("pk").values()), AuditEntry.objects.count()
    tried = resolve_many(actor=actor, policy="newer", disputes=[pair.pk for pair in pairs], dry_run=True)
    assert len(tried.resolved) == 3
    assert list(Memory.objects.order_by("pk").values()) == before
    assert set(Dispute.objects.values_list("status", "version")) == {("pending", 1)}
    assert AuditEntry.objects.count() == entries


@pytest.mark.behaviour("Z38")
@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"policy": "newer"},
        {"policy": ""},
        {"policy": "*", "disputes": ["x"]},
        {"disputes": ["x"]},
        {"policy": "newer", "disputes": ["x"], "resolutions": [Ask("x", "keep_both")]},
        {"policy": "newer", "disputes": ["x"] * 101},
        {"resolutions": [Ask("x", "keep_both")] * 101},
    ],
    ids=str,
)
def test_nothing_named_never_means_all(actor, scope, asked):
    fresh_pair(scope)
    with pytest.raises(ValidationFailed):
        resolve_many(actor=actor, **asked)
    assert Dispute.objects.filter(status="pending").count() == 1
