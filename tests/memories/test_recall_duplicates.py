"""At most k results, each text once, and nothing retired among them."""

import pytest
from django.utils import timezone

from memories.access import actor_for_user
from memories.models import Memory
from memories.recall import recall
from memories.services import forget, remember
from tests.factories import at_cosine, make_memory, make_scope, unit
from tests.memories.searching import find_in, ids

pytestmark = [pytest.mark.django_db, pytest.mark.behaviour("G23")]


def test_of_one_text_in_several_kinds_the_best_ranked_stays(scope):
    make_memory("alpha beta", scope=scope, kind="episode", vector=unit(1))
    best = make_memory("alpha beta", scope=scope, kind="decision", vector=unit(1))
    make_memory("alpha beta", scope=scope, kind="fact", vector=unit(1))
    other = make_memory("alpha", scope=scope, vector=at_cosine(0.5))
    assert ids(find_in(scope)) == [best.pk, other.pk]


def test_of_one_text_in_several_scopes_one_stays_and_whoever_reads_one_scope_sees_that_ones(owner, scope):
    elsewhere = make_scope(owner, slug="elsewhere")
    actor = actor_for_user(owner)
    kept = {
        place.slug: remember(actor=actor, scope=place, content="The harbour light is green.").memory.pk
        for place in (scope, elsewhere)
    }
    assert len(recall(actor=actor, query="harbour light").results) == 1
    for slug, wanted in kept.items():
        assert ids(recall(actor=actor, query="harbour light", scopes=[slug]).results) == [wanted]


def test_a_text_that_differs_by_a_letter_is_another_text(scope):
    two = {make_memory(text, scope=scope, vector=unit(1)).pk for text in ("alpha beta", "alpha beta.")}
    assert set(ids(find_in(scope))) == two


def test_duplicates_take_no_places_of_the_k(scope):
    for number in range(6):
        make_memory("alpha beta", scope=scope, vector=unit(1), external_id=f"line {number}")
    others = {make_memory(f"alpha {number}", scope=scope, vector=at_cosine(0.6)).pk for number in range(2)}
    results = find_in(scope, k=3)
    assert len(results) == 3
    assert set(ids(results)[1:]) == others


def test_what_is_retired_takes_no_places_and_hides_no_live_twin(owner, scope):
    actor = actor_for_user(owner)
    for number in range(20):
        forget(actor=actor, memory=make_memory(f"alpha beta {number}", scope=scope, vector=unit(1)))
    forget(actor=actor, memory=make_memory("alpha", scope=scope, vector=unit(1)))
    live = [make_memory(text, scope=scope, vector=at_cosine(0.4)).pk for text in ("alpha", "alpha gamma")]
    assert set(ids(find_in(scope, k=2))) == set(live)
    assert Memory.objects.filter(invalidated_at__lte=timezone.now()).count() == 21


def test_what_matches_comes_before_what_does_not(scope):
    for number in range(12):
        make_memory(f"filler {number}", scope=scope, kind="decision", vector=at_cosine(0.05, axis=2 + number))
    wanted = [make_memory(f"alpha beta {number}", scope=scope, vector=at_cosine(0.7)).pk for number in range(3)]
    results = find_in(scope, k=8)
    assert len(results) == 8
    assert set(ids(results)[:3]) == set(wanted)


def test_a_pasted_id_gives_that_memory_even_where_its_twin_ranks_higher(scope):
    make_memory("alpha beta", scope=scope, kind="decision", vector=unit(1))
    wanted = make_memory("alpha beta", scope=scope, kind="task", age_days=400)
    assert ids(find_in(scope, str(wanted.pk))) == [wanted.pk]
