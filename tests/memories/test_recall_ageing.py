from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from memories import embedding_queue
from memories.access import actor_for_user
from memories.models import Memory
from memories.recall import recall
from memories.services import remember
from tests.factories import at_cosine, make_memory, unit
from tests.memories.searching import equally_relevant, find_in, ids

pytestmark = pytest.mark.django_db

STORED = ["content", "kind", "invalidated_at", "created_at", "updated_at", "accessed_at", "access_count", "weight"]


def scores(results):
    return {result.memory.pk: result.score for result in results}


def ago(days):
    return NOW - timedelta(days=days)


NOW = timezone.now()


@pytest.mark.behaviour("Z3")
@pytest.mark.parametrize(("days", "share"), [(30, 0.5), (60, 0.25), (180, 0.015625)])
def test_an_episode_halves_its_score_every_thirty_days(scope, days, share):
    fresh, old = equally_relevant(
        scope, {"kind": "episode", "created_at": NOW}, {"kind": "episode", "created_at": ago(days)}
    )
    found = scores(find_in(scope))
    assert found[old.pk] / found[fresh.pk] == pytest.approx(share, abs=1e-9)


@pytest.mark.behaviour("Z3")
def test_an_old_episode_sinks_below_a_tenth_in_a_real_search(owner, scope):
    actor = actor_for_user(owner)
    text = "The nightly backup of the {} failed because the disk was full."
    for name, days in (("ledger", 0), ("archive", 180)):
        remember(actor=actor, scope=scope, content=text.format(name), kind="episode", created_at=ago(days))
    embedding_queue.embed_waiting()
    fresh, old = recall(actor=actor, query="why did the nightly backup fail").results
    assert "archive" in old.excerpt
    assert old.score / fresh.score < 0.1


@pytest.mark.behaviour("Z4")
def test_a_gotcha_outlives_an_episode_of_the_same_age(scope):
    gotcha, episode = equally_relevant(
        scope, {"kind": "gotcha", "created_at": ago(180)}, {"kind": "episode", "created_at": ago(180)}
    )
    results = find_in(scope)
    assert ids(results) == [gotcha.pk, episode.pk]
    assert results[0].factors.age == pytest.approx(0.8923, abs=1e-4)


@pytest.mark.behaviour("Z5")
def test_an_episode_of_ten_years_is_live_and_found_by_a_direct_query(owner, scope, client_of):
    ancient = make_memory("alpha beta of long ago", scope=scope, kind="episode", age_days=3650, vector=unit(1))
    for number in range(5):
        make_memory(f"gamma delta {number}", scope=scope, vector=at_cosine(0.2, axis=2 + number))
    found = {result.memory.pk: result.score for result in find_in(scope)}
    assert found[ancient.pk] > 0
    ancient.refresh_from_db()
    assert ancient.invalidated_at is None
    assert client_of(owner).get(reverse("memory_detail", args=[ancient.pk])).status_code == 200


@pytest.mark.behaviour("Z5")
def test_however_many_fresh_memories_there_are_an_ancient_one_answers_to_its_id_and_when_age_is_left_out(scope):
    ancient = make_memory("alpha beta of long ago", scope=scope, kind="episode", age_days=3650, vector=unit(1))
    for number in range(60):
        make_memory(f"alpha {number}", scope=scope, vector=at_cosine(0.5, axis=2 + number))
    assert ids(find_in(scope, str(ancient.pk))) == [ancient.pk]
    assert ancient.pk in ids(find_in(scope, ignore=frozenset({"age"})))[:3]


@pytest.mark.behaviour("Z6", "Z7")
def test_a_hundred_recalls_change_no_row_and_no_age(owner, scope):
    memory = make_memory("alpha beta", scope=scope, kind="episode", age_days=45, vector=unit(1))
    before = Memory.objects.values(*STORED).get(pk=memory.pk)
    actor = actor_for_user(owner)
    factors = [recall(actor=actor, query="alpha beta").results[0].factors.age for _ in range(100)]
    assert Memory.objects.values(*STORED).get(pk=memory.pk) == before
    assert factors == pytest.approx([2 ** (-45 / 30)] * 100, abs=1e-5)


@pytest.mark.behaviour("Z7")
def test_age_runs_from_creation_and_not_from_the_last_access(scope):
    day = timedelta(days=1)
    touched, untouched = equally_relevant(
        scope,
        {"created_at": NOW - 100 * day, "accessed_at": NOW, "access_count": 1000},
        {"created_at": NOW - 100 * day, "accessed_at": NOW - 100 * day},
    )
    found = {result.memory.pk: result.factors.age for result in find_in(scope)}
    assert found[touched.pk] == found[untouched.pk]


@pytest.mark.behaviour("F15")
@pytest.mark.parametrize("days", [-3650, -1 / 86400, 0, 30, 36500])
def test_whatever_the_date_the_age_factor_is_a_share(scope, days):
    make_memory("alpha beta", scope=scope, kind="episode", created_at=ago(days), vector=unit(1))
    (result,) = find_in(scope)
    assert 0 < result.factors.age <= 1
    assert result.age_days >= 0


@pytest.mark.behaviour("F15")
def test_the_shortest_half_life_the_database_takes_keeps_scores_finite_and_in_order(scope):
    from memories.models import RankingConfig

    RankingConfig.objects.filter(kind="episode").update(half_life_days=1e-300)
    fresh, old = equally_relevant(
        scope,
        {"kind": "episode", "created_at": NOW + timedelta(days=1)},
        {"kind": "episode", "created_at": ago(36500)},
    )
    results = find_in(scope)
    assert ids(results) == [fresh.pk, old.pk]
    assert all(0 <= result.score < 2 for result in results)


def test_in_a_decaying_scope_age_does_not_count(scope):
    scope.retention = "decaying"
    scope.save()
    make_memory("alpha beta", scope=scope, kind="episode", age_days=300, vector=unit(1))
    (result,) = find_in(scope)
    assert result.factors.age == 1
    assert result.policy == "decaying"


def test_asked_for_a_moment_in_the_past_age_is_that_of_the_moment(scope):
    make_memory("alpha beta", scope=scope, created_at=ago(100), vector=unit(1))
    (result,) = find_in(scope, as_of=ago(40))
    assert result.age_days == pytest.approx(60, abs=0.01)
