"""The numbers of "How it ages", each counted again by SQL of its own."""

import statistics
from datetime import timedelta

import pytest

from insights.queries import ageing
from memories.access import actor_for_user
from memories.models import RankingConfig
from memories.ranking import KINDS
from memories.services.config import change_ranking, remove_ranking
from tests.factories import make_member, make_memory, make_scope, make_user
from tests.insights.corpus import BUCKETS, FADED, MEDIAN, NOW, counted, make_aged, make_corpus


def seen_by(user, scope=None):
    return ageing(actor=actor_for_user(user), scope=scope, now=NOW)


@pytest.fixture(params=[0, 1, 60, 2000], ids=["empty", "one row", "typical", "huge"])
def corpus(request, owner, scope):
    """Two scopes of one person; the second holds a third of the rows."""
    other = make_scope(owner)
    make_corpus(scope, request.param)
    make_corpus(other, request.param // 3)
    return scope, other


@pytest.mark.behaviour("F45", "Z85")
@pytest.mark.parametrize("chosen", ["all", "one"])
def test_every_number_equals_its_count(owner, corpus, chosen):
    scope = corpus[0] if chosen == "one" else None
    scopes = [scope] if scope else corpus
    shown = seen_by(owner, scope)
    assert shown.live == counted("count(*)", scopes=scopes)
    assert shown.faded == counted("count(*)", FADED, scopes=scopes)
    assert shown.median_age_days == pytest.approx(counted(MEDIAN, scopes=scopes), abs=1e-9)
    assert shown.oldest_at == counted("min(created_at)", scopes=scopes)
    assert shown.newest_at == counted("max(created_at)", scopes=scopes)
    for name, condition in BUCKETS.items():
        assert shown.buckets[name] == counted("count(*)", condition, scopes=scopes), name


@pytest.mark.behaviour("F45", "Z85")
def test_every_number_of_a_kind_equals_its_count(owner, corpus):
    for row in seen_by(owner).by_kind:
        assert row.live == counted("count(*)", "kind = %(kind)s", kind=row.kind)
        assert row.faded == counted("count(*)", f"kind = %(kind)s AND {FADED}", kind=row.kind)
        assert row.median_age_days == pytest.approx(counted(MEDIAN, "kind = %(kind)s", kind=row.kind), abs=1e-9)


@pytest.mark.behaviour("F45")
def test_every_number_of_a_scope_equals_its_count(owner, corpus):
    rows = {row.scope: row for row in seen_by(owner).by_scope}
    assert rows.keys() == {scope.slug for scope in corpus}
    for scope in corpus:
        assert rows[scope.slug].live == counted("count(*)", scopes=[scope])
        assert rows[scope.slug].faded == counted("count(*)", FADED, scopes=[scope])


@pytest.mark.behaviour("Z85")
def test_buckets_and_kinds_and_scopes_sum_to_the_live_count(owner, corpus):
    shown = seen_by(owner)
    assert sum(shown.buckets.values()) == shown.live
    assert sum(row.live for row in shown.by_kind) == shown.live
    assert sum(row.live for row in shown.by_scope) == shown.live
    assert sum(row.faded for row in shown.by_kind) == shown.faded


@pytest.mark.behaviour("Z84")
def test_nothing_remembered_is_unknown_and_not_zero(owner, scope):
    shown = seen_by(owner)
    assert (shown.live, shown.median_age_days, shown.faded_share, shown.oldest_at) == (0, None, None, None)
    assert {(row.median_age_days, row.faded_share) for row in shown.by_kind} == {(None, None)}
    assert [row.kind for row in shown.by_kind] == list(KINDS)


def test_somebody_without_any_scope_sees_nothing(db):
    shown = seen_by(make_user())
    assert (shown.live, shown.by_scope) == (0, ())


@pytest.mark.behaviour("Z85")
def test_the_median_is_the_middle_of_the_ages(owner, scope):
    ages = [3, 400, 12, 55]
    make_aged(scope, ages)
    assert seen_by(owner).median_age_days == pytest.approx(statistics.median(ages), abs=1e-9)


@pytest.mark.behaviour("F15")
def test_a_memory_dated_ahead_has_age_zero(owner, scope):
    make_aged(scope, [-3650])
    shown = seen_by(owner)
    assert (shown.median_age_days, shown.faded, shown.buckets["le_7d"]) == (0, 0, 1)


@pytest.mark.behaviour("Z85", "Z8")
def test_a_changed_half_life_moves_the_faded_share_at_once(owner, scope):
    make_aged(scope, [5, 20], kinds=["task"])
    assert seen_by(owner).faded_share == 0.5
    change_ranking(user=owner, kind="task", half_life_days=30)
    assert seen_by(owner).faded_share == 0
    assert {row.kind: row.half_life_days for row in seen_by(owner).by_kind}["task"] == 30


@pytest.mark.behaviour("Z85", "Z8")
def test_a_kind_without_a_row_fades_at_365_days(owner, scope):
    make_aged(scope, [364, 366], kinds=["decision"])
    assert seen_by(owner).faded == 0
    remove_ranking(user=owner, kind="decision")
    assert seen_by(owner).faded == 1


@pytest.mark.behaviour("Z85")
def test_nothing_fades_in_a_scope_that_decays(owner, scope):
    decaying = make_scope(owner, slug="cold", retention="decaying")
    make_aged(scope, [20, 5], kinds=["task"])
    make_aged(decaying, [20, 500], kinds=["task"])
    shown = seen_by(owner)
    rows = {row.scope: row for row in shown.by_scope}
    assert (shown.live, shown.can_fade, shown.faded, shown.faded_share) == (4, 2, 1, 0.5)
    assert (rows["cold"].faded, rows["cold"].faded_share, rows["cold"].median_age_days) == (0, None, 260)
    assert {row.kind: row.faded_share for row in shown.by_kind}["task"] == 0.5
    assert seen_by(owner, decaying).faded_share is None


def test_an_emptied_configuration_still_counts(owner, scope):
    make_aged(scope, [20], kinds=["task"])
    RankingConfig.objects.all().delete()
    assert seen_by(owner).faded == 0


@pytest.mark.behaviour("Z79")
def test_other_peoples_memories_are_not_counted(owner, scope):
    make_aged(scope, [1, 2, 3])
    stranger, guest = make_user(), make_member(scope)
    make_aged(make_scope(stranger), [900])
    assert seen_by(stranger).live == 1
    assert seen_by(owner).live == seen_by(guest).live == 3
    assert [row.scope for row in seen_by(guest).by_scope] == ["home"]


def test_scopes_of_one_slug_are_told_apart_by_their_owner(owner, scope):
    theirs = make_scope(make_user(username="steward"), slug="home")
    make_member(theirs, user=owner)
    assert {row.scope for row in seen_by(owner).by_scope} == {"owner/home", "steward/home"}
    assert seen_by(owner, scope).scope == "owner/home"


@pytest.mark.behaviour("Z7")
def test_age_runs_from_creation_and_not_from_access(owner, scope):
    make_memory(scope=scope, kind="task", created_at=NOW - timedelta(days=20), accessed_at=NOW, access_count=100)
    assert seen_by(owner).faded == 1


def test_the_numbers_cost_the_same_queries_for_one_row_and_for_many(owner, scope, django_assert_num_queries):
    actor = actor_for_user(owner)
    for size in (1, 200):
        make_corpus(make_scope(owner), size)
        with django_assert_num_queries(3):
            ageing(actor=actor, now=NOW)
