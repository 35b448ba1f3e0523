"""How many a recall of decaying scopes gives, and what takes none of their places."""

import pytest

from memories.access import actor_for_user
from memories.recall import recall
from memories.services import edit, forget
from tests.factories import make_memory, make_scope
from tests.memories.retention.cycling import make_decaying

pytestmark = pytest.mark.django_db


def _lights(scope, number=12):
    return [make_memory(f"The harbour light {n} of {scope.slug}.", scope=scope) for n in range(number)]


def _given(owner, **asked):
    return [result.memory.pk for result in recall(actor=actor_for_user(owner), query="harbour light", **asked).results]


@pytest.mark.behaviour("G23")
@pytest.mark.parametrize(("policy", "most"), [({}, 8), ({"top_k": 3}, 3), ({"top_k": 0}, 8)])
def test_a_recall_that_names_no_number_gives_what_the_policy_says(owner, policy, most):
    scope = make_decaying(owner=owner, **policy)
    _lights(scope)

    assert len(_given(owner)) == most
    assert len(_given(owner, k=10)) == 10


def test_where_not_all_that_is_read_decays_it_is_ten(owner):
    _lights(make_decaying(owner=owner, top_k=3))
    ageing = make_scope(owner)
    _lights(ageing)

    assert len(_given(owner)) == 10
    assert len(_given(owner, scopes=[ageing.slug])) == 10


def test_of_several_policies_the_largest_counts(owner):
    for most in (3, 5):
        _lights(make_decaying(owner=owner, top_k=most))

    assert len(_given(owner)) == 5


@pytest.mark.behaviour("G23")
def test_tombstones_and_duplicates_take_no_places_and_what_matches_comes_first(owner):
    scope = make_decaying(owner=owner)
    for memory in _lights(scope, 30):
        forget(actor=actor_for_user(owner), memory=memory)
    for number in range(5):
        make_memory("The harbour light.", scope=scope, external_id=f"line {number}")
    matching = {make_memory(f"The harbour light is {colour}.", scope=scope).pk for colour in ("green", "red")}
    barely = [make_memory(f"Harbour dues of month {month}.", scope=scope).pk for month in range(12)]

    given = _given(owner)

    assert len(given) == 8
    assert matching < set(given[:3])
    assert set(given[3:]) < set(barely)


@pytest.mark.behaviour("G22")
@pytest.mark.parametrize(("retention", "pinned"), [("decaying", False), ("ageing", True)])
def test_what_replaces_a_pinned_memory_is_not_pinned_where_the_scope_decays(owner, retention, pinned):
    memory = make_memory("The light is green.", scope=make_scope(owner, retention=retention), pinned=True)

    replaced = edit(actor=actor_for_user(owner), memory=memory, expected_version=1, content="The light is red.")

    assert replaced.pinned is pinned
