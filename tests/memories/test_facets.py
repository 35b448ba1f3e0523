"""What the list may be filtered by, and how many each choice would show under the others."""

from datetime import timedelta

import pytest
from django.utils import timezone

from memories.access import actor_for_user
from memories.configuration import ranking_rules
from memories.errors import ValidationFailed
from memories.facets import Choice, facets, narrowed
from memories.models import Memory
from memories.services import forget, supersede
from tests.factories import add_entity, make_memory, make_scope
from tests.queries import queries_of

pytestmark = pytest.mark.django_db


def shown(choice, now=None):
    return set(narrowed(Memory.objects.all(), choice, ranking_rules(), now or timezone.now()))


def counted(choice):
    return facets(Memory.objects.all(), choice, ranking_rules(), timezone.now())


@pytest.mark.parametrize("field", ["kind", "state", "author", "age"])
@pytest.mark.parametrize("value", ["nonsense", " fact", "FACT", "\x00"])
def test_a_value_that_does_not_exist_is_refused(field, value):
    with pytest.raises(ValidationFailed) as refused:
        Choice(**{field: value})
    assert refused.value.field == field


def test_every_filter_alone_lets_its_memories_through(owner, scope):
    other = make_scope(owner)
    now = timezone.now()
    one = make_memory(scope=scope, kind="gotcha", author_kind="human", pinned=True, age_days=20, embedded_at=now)
    add_entity(one, "cache")
    make_memory(scope=other, kind="fact", author_kind="agent", age_days=3)
    for choice in (
        Choice(scope=scope),
        Choice(kind="gotcha"),
        Choice(author="human"),
        Choice(pinned=True),
        Choice(age="d8_30"),
        Choice(entity=" CACHE "),
    ):
        assert shown(choice) == {one}
    assert shown(Choice(waiting=True)) == set(Memory.objects.exclude(pk=one.pk))


def test_filters_add_up(scope):
    both = make_memory(scope=scope, kind="task", pinned=True)
    make_memory(scope=scope, kind="task")
    make_memory(scope=scope, kind="fact", pinned=True)
    assert shown(Choice(kind="task", pinned=True)) == {both}


def test_an_entity_of_two_types_is_one_row(scope):
    memory = make_memory(scope=scope)
    add_entity(memory, "cache")
    add_entity(memory, "cache", "path")
    assert counted(Choice(entity="cache")).kind == {"fact": 1}
    assert shown(Choice(entity="cache")) == {memory}


def test_only_live_memories_fade_or_wait(owner, scope):
    actor = actor_for_user(owner)
    old = make_memory(scope=scope, kind="task", age_days=99)
    gone = make_memory(scope=scope, kind="task", age_days=99)
    make_memory(scope=scope, kind="task", age_days=99, valid_until=timezone.now() - timedelta(days=1))
    forget(actor=actor, memory=gone)
    assert shown(Choice(faded=True, state="all")) == {old}
    assert gone not in shown(Choice(waiting=True, state="all"))
    assert counted(Choice(state="all")).faded == 1


def test_counts_are_under_the_other_filters_and_not_under_their_own(owner, scope):
    make_memory(scope=scope, kind="task", pinned=True)
    make_memory(scope=scope, kind="task")
    make_memory(scope=scope, kind="fact")
    gone = make_memory(scope=scope, kind="fact")
    forget(actor=actor_for_user(owner), memory=gone)
    found = counted(Choice(kind="task", state="live"))
    assert found.kind == {"task": 2, "fact": 1}
    assert found.state == {"": 2, "live": 2, "superseded": 0, "invalidated": 0, "archived": 0, "lapsed": 0, "all": 2}
    assert found.pinned == 1
    assert found.scope == {scope.pk: 2}


def test_the_states_count_what_they_show(owner, scope):
    actor = actor_for_user(owner)
    live, old, gone = (make_memory(scope=scope) for _ in range(3))
    supersede(actor=actor, memory=old, replacement=live)
    forget(actor=actor, memory=gone)
    for state, number in counted(Choice()).state.items():
        assert number == len(shown(Choice(state=state))), state


def test_counting_takes_the_same_queries_for_any_corpus(scope):
    make_memory(scope=scope)
    few = queries_of(lambda: counted(Choice()))
    for number in range(30):
        make_memory(scope=scope, kind=["fact", "task", "episode"][number % 3], entities=[f"e{number}"])
    assert queries_of(lambda: counted(Choice())) == few
