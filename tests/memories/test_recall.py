"""Recall as a service: who sees what, which filters hold, what it says when something is missing."""

from datetime import datetime, timedelta

import numpy as np
import pytest
from django.db import connection
from django.test import override_settings
from django.utils import timezone

from memories import embedding_queue
from memories.access import actor_for_token, actor_for_user
from memories.errors import NotFound, ValidationFailed
from memories.models import AuditEntry, Embedding, FusionConfig, Scope, UsageEvent, Window
from memories.recall import recall
from memories.services import edit, forget, remember, restore, supersede
from tests.factories import (
    DIMENSIONS,
    MODEL,
    MODEL_VERSION,
    at_cosine,
    make_member,
    make_memory,
    make_scope,
    make_token,
    make_user,
    unit,
)
from tests.memories.searching import QUERY, find_in, first_by_meaning, ids, legs

pytestmark = pytest.mark.django_db


@pytest.fixture
def actor(owner, scope):
    return actor_for_user(owner)


def test_a_paraphrase_finds_the_memory(actor, scope):
    for content in (
        "We chose PostgreSQL over MongoDB for the billing service.",
        "The office plants are watered on Tuesdays.",
        "Ana likes her reviews short.",
    ):
        remember(actor=actor, scope=scope, content=content)
    embedding_queue.embed_waiting()
    results = recall(actor=actor, query="who takes care of the greenery at work").results
    assert results[0].excerpt.startswith("The office plants")
    assert results[0].ranks.text is None


def test_nobody_finds_the_memories_of_a_scope_that_is_not_theirs(actor, scope):
    make_memory(QUERY, scope=make_scope(make_user()), vector=unit(1))
    mine = make_memory("alpha", scope=scope)
    assert ids(recall(actor=actor, query=QUERY).results) == [mine.pk]


def test_a_reader_finds_what_was_shared_with_them(scope):
    shared = make_memory(QUERY, scope=scope)
    assert ids(recall(actor=actor_for_user(make_member(scope)), query=QUERY).results) == [shared.pk]


def test_a_token_finds_only_within_its_scopes(owner, scope):
    make_memory(QUERY, scope=scope)
    other = make_scope(owner)
    wanted = make_memory(QUERY, scope=other)
    token, _ = make_token(owner, [other])
    assert ids(recall(actor=actor_for_token(token), query=QUERY).results) == [wanted.pk]


def test_naming_a_foreign_scope_is_not_found(actor):
    foreign = make_scope(make_user(), slug="theirs")
    with pytest.raises(NotFound):
        recall(actor=actor, query=QUERY, scopes=[foreign.slug])


def test_naming_a_scope_searches_only_there(owner, scope):
    make_memory(QUERY, scope=scope)
    elsewhere = make_memory(QUERY, scope=make_scope(owner, slug="elsewhere"))
    found = recall(actor=actor_for_user(owner), query=QUERY, scopes=["elsewhere"])
    assert ids(found.results) == [elsewhere.pk]


@pytest.mark.behaviour("Z15")
def test_forgotten_superseded_and_lapsed_memories_are_never_found(actor, scope):
    forgotten, old, new = (make_memory(f"{QUERY} {name}", scope=scope, vector=unit(1)) for name in "abc")
    make_memory(f"{QUERY} lapsed", scope=scope, vector=unit(1), valid_until=timezone.now() - timedelta(seconds=1))
    forget(actor=actor, memory=forgotten)
    supersede(actor=actor, memory=old, replacement=new)
    assert ids(find_in(scope)) == [new.pk]
    restore(actor=actor, memory=forgotten)
    assert set(ids(find_in(scope))) == {new.pk, forgotten.pk}


def test_as_of_shows_what_was_live_then(actor, scope):
    now = timezone.now()
    then_live = make_memory(
        f"{QUERY} old", scope=scope, age_days=100, vector=unit(1),
        invalidated_at=now - timedelta(days=10), invalidated_actor="somebody",
    )  # fmt: skip
    make_memory(f"{QUERY} new", scope=scope, age_days=5, vector=unit(1))
    assert ids(find_in(scope, as_of=now - timedelta(days=50))) == [then_live.pk]


def test_as_of_a_moment_before_an_edit_shows_the_text_of_that_moment_alone(actor, scope):
    first = make_memory(f"{QUERY} first", scope=scope, age_days=30)
    moments = [timezone.now()]
    second = edit(actor=actor, memory=first, expected_version=1, content=f"{QUERY} second")
    moments.append(timezone.now())
    third = edit(actor=actor, memory=second, expected_version=2, content=f"{QUERY} third")
    moments.append(timezone.now())
    shown = [ids(find_in(scope, as_of=moment)) for moment in (timezone.now() - timedelta(days=9), *moments)]
    assert shown == [[first.pk], [first.pk], [second.pk], [third.pk]]


def test_as_of_shows_two_memories_that_stood_side_by_side_before_one_gave_way(actor, scope):
    one, two = (make_memory(f"{QUERY} {name}", scope=scope, age_days=30) for name in "ab")
    moment = timezone.now()
    supersede(actor=actor, memory=one, replacement=two)
    assert set(ids(find_in(scope, as_of=moment))) == {one.pk, two.pk}


def test_as_of_shows_what_was_imported_later_and_learned_before(scope):
    imported = make_memory(f"{QUERY} imported", scope=scope, age_days=30, external_id="line 1")
    assert ids(find_in(scope, as_of=timezone.now() - timedelta(days=9))) == [imported.pk]


FILTERS = [
    ({"kinds": ["decision"]}, {"kind": "decision"}, {"kind": "fact"}),
    ({"pinned": True}, {"pinned": True}, {}),
    ({"pinned": False}, {}, {"pinned": True}),
    ({"author_kind": "human"}, {"author_kind": "human"}, {"author_kind": "agent"}),
    ({"created_from": timezone.now() - timedelta(days=5)}, {"age_days": 2}, {"age_days": 9}),
    ({"created_to": timezone.now() - timedelta(days=5)}, {"age_days": 9}, {"age_days": 2}),
    ({"entity": "  PostgreSQL "}, {"entities": ["postgresql"]}, {"entities": ["mysql"]}),
]


@pytest.mark.parametrize(("narrower", "wanted", "unwanted"), FILTERS)
def test_a_filter_holds_in_both_legs(scope, narrower, wanted, unwanted):
    kept = make_memory(f"{QUERY} kept", scope=scope, vector=unit(1), **wanted)
    make_memory(f"{QUERY} left out", scope=scope, vector=unit(1), **unwanted)
    results = find_in(scope, **narrower)
    assert ids(results) == [kept.pk]
    assert (results[0].ranks.vector, results[0].ranks.text) == (1, 1)


@pytest.fixture
def swept_index(db):
    """What earlier tests rolled back stands in the graph until it is swept, and a scan gives up after so many."""
    with connection.cursor() as cursor:
        cursor.execute("REINDEX TABLE memory_embedding")


@pytest.mark.usefixtures("swept_index")
@pytest.mark.parametrize("exact_up_to", [0, 2000])
def test_a_rare_filter_is_filled_from_far_down_the_list(scope, exact_up_to):
    wanted = make_memory("zeta", scope=scope, kind="gotcha", vector=spread(0.0, seed=1))
    for number in range(150):
        make_memory(f"filler {number}", scope=scope, vector=spread(1.0, seed=2 + number))
    found = legs(scope, exact_up_to=exact_up_to, kinds=["gotcha"])
    assert [hit.candidate.id for hit in found] == [wanted.pk]


@pytest.mark.usefixtures("swept_index")
@pytest.mark.parametrize("exact_up_to", [0, 2000])
def test_a_memory_of_many_windows_leaves_room_for_the_others(scope, exact_up_to):
    book = make_memory("a long book", scope=scope)
    for place in range(1, 500):
        make_window(book, place, spread(1.0, seed=place))
    others = [make_memory(f"other {seed}", scope=scope, vector=spread(0.2, seed=1000 + seed)) for seed in range(45)]
    nearest = [hit.candidate for hit in legs(scope, exact_up_to=exact_up_to) if hit.candidate.rank_vector]
    by_rank = [candidate.id for candidate in sorted(nearest, key=lambda candidate: candidate.rank_vector)]
    assert by_rank[0] == book.pk
    assert len(by_rank) == 40
    assert set(by_rank[1:]) <= {other.pk for other in others}


def make_window(memory, place, vector):
    window = Window.objects.create(memory=memory, position=place, start=0, stop=1, text="x")
    stamp = {"model": MODEL, "model_version": MODEL_VERSION, "dimensions": DIMENSIONS}
    Embedding.objects.create(window=window, memory=memory, vector=vector, **stamp)


def spread(closeness, seed):
    """A unit vector leaning towards the first axis, with noise as real vectors have it."""
    noise = np.random.default_rng(seed).normal(size=DIMENSIONS)
    vector = closeness * unit(1) + noise / np.linalg.norm(noise)
    return vector / np.linalg.norm(vector)


def test_recall_writes_nothing(actor, scope, django_assert_num_queries):
    memory = make_memory(QUERY, scope=scope, vector=unit(1))
    stamp = memory.accessed_at
    recall(actor=actor, query=QUERY)
    memory.refresh_from_db()
    assert (memory.accessed_at, memory.access_count) == (stamp, 0)
    assert AuditEntry.objects.count() == UsageEvent.objects.count() == 0


def test_the_number_of_queries_does_not_grow_with_the_results(actor, scope, django_assert_num_queries):
    for number in range(30):
        make_memory(f"alpha {number}", scope=scope, entities=[f"thing {number}"])
    recall(actor=actor, query="alpha")
    with django_assert_num_queries(4):  # configuration, candidates, waiting twice
        assert len(recall(actor=actor, query="alpha", k=1).results) == 1
    with django_assert_num_queries(4):
        assert len(recall(actor=actor, query="alpha", k=30).results) == 30


def test_the_candidates_of_both_legs_come_in_one_round_trip(scope, django_assert_num_queries):
    first_by_meaning(scope)
    make_memory("alpha", scope=scope)
    with django_assert_num_queries(1):
        assert len(legs(scope)) == 2


@override_settings(EMBEDDER="none")
def test_without_an_embedder_words_find_and_a_notice_says_so(actor, scope):
    remember(actor=actor, scope=scope, content="the needle")
    found = recall(actor=actor, query="needle")
    assert len(found.results) == 1
    assert found.notices == ["Searching by words only: no embedder is configured."]


@override_settings(EMBEDDER="openai:http://127.0.0.1:9/v1#absent")
def test_with_the_embedder_out_of_reach_words_find_and_a_notice_says_why(actor, scope):
    make_memory("the needle", scope=scope)
    found = recall(actor=actor, query="needle")
    assert len(found.results) == 1
    assert found.notices[0].startswith("Searching by words only: ")
    assert "cannot be reached" in found.notices[0]


def test_what_is_not_embedded_yet_is_counted_in_the_visible_scopes_only(actor, scope):
    make_memory("the needle", scope=scope)
    make_memory("theirs")
    notices = recall(actor=actor, query="needle").notices
    assert notices == ["1 of these memories is not embedded yet: it is found by its words only."]


def test_a_query_of_extreme_length_is_cut_and_says_so(actor, scope):
    make_memory("the needle", scope=scope, vector=unit(1))
    found = recall(actor=actor, query=" " * 9000 + "needle " + "hay " * 3000)
    assert len(found.results) == 1
    assert "8,000" in found.notices[0]


@pytest.mark.parametrize("query", ["", "   ", "\n\t"])
def test_an_empty_query_is_refused(actor, query):
    with pytest.raises(ValidationFailed) as refused:
        recall(actor=actor, query=query)
    assert refused.value.field == "query"


@pytest.mark.parametrize(
    "wrong",
    [
        {"k": 0},
        {"k": 51},
        {"k": -1},
        {"kinds": ["rumour"]},
        {"kinds": []},
        {"scopes": []},
        {"scopes": [""]},
        {"as_of": datetime(2026, 1, 1)},  # noqa: DTZ001  naive on purpose
        {"as_of": timezone.now() + timedelta(days=1)},
        {"created_from": datetime(2026, 1, 1)},  # noqa: DTZ001
        {"author_kind": "robot"},
        {"entity": "a\x00"},
        {"entity": "\ud800"},
    ],
)
def test_nonsense_is_refused_and_named(actor, wrong):
    with pytest.raises(ValidationFailed) as refused:
        recall(actor=actor, query="x", **wrong)
    assert refused.value.field == next(iter(wrong))


def test_only_three_factors_can_be_ignored(actor):
    with pytest.raises(ValidationFailed) as refused:
        recall(actor=actor, query="x", ignore=frozenset({"kind"}))
    assert refused.value.field == "ignore"


@pytest.mark.parametrize("k", [1, 50])
def test_k_is_how_many_there_are_at_most(actor, scope, k):
    for number in range(60):
        make_memory(f"alpha {number}", scope=scope)
    assert len(recall(actor=actor, query="alpha", k=k).results) == k


def test_the_policy_of_the_answer_is_that_of_the_scopes_it_came_from(owner, scope):
    decaying = make_scope(owner, slug="decaying", retention=Scope.Retention.DECAYING)
    make_memory("alpha", scope=scope)
    make_memory("alpha beta", scope=decaying)
    actor = actor_for_user(owner)
    assert recall(actor=actor, query="alpha", scopes=["home"]).policy == "ageing"
    assert recall(actor=actor, query="alpha", scopes=["decaying"]).policy == "decaying"
    assert recall(actor=actor, query="alpha").policy == "mixed"


def test_a_recall_of_nothing_is_an_empty_answer(actor):
    found = recall(actor=actor, query="anything")
    assert (found.results, found.policy) == ([], "ageing")


def test_somebody_without_any_scope_finds_nothing(owner):
    make_memory("alpha", scope=make_scope(owner))
    assert recall(actor=actor_for_user(make_user()), query="alpha").results == []


def test_a_pool_multiplier_of_one_still_fills_the_page(scope):
    FusionConfig.objects.update(pool_multiplier=1)
    for number in range(12):
        make_memory(f"alpha {number}", scope=scope, vector=at_cosine(0.9, axis=2 + number))
    assert len(find_in(scope, k=10)) == 10
