"""An edit is a new row and the same memory, however often it was edited."""

from itertools import pairwise

import pytest
from django.utils import timezone

from memories.services.edit import EDITED
from memories.wordings import all_wordings, earlier_wordings, later_wordings, newest_wordings
from tests.factories import make_memory, make_scope
from tests.queries import queries_of

pytestmark = pytest.mark.django_db


def edited(old, new, reason=EDITED):
    old.superseded_by, old.invalidation_reason = new, reason
    old.invalidated_at, old.invalidated_actor = timezone.now(), "somebody"
    old.save()


def chain(length):
    scope = make_scope()
    memories = [make_memory(scope=scope) for _ in range(length)]
    for old, new in pairwise(memories):
        edited(old, new)
    return memories


def ids(*memories):
    return {memory.pk for memory in memories}


def test_wordings_are_told_apart_by_what_came_before_and_after():
    first, second, third = chain(3)
    assert earlier_wordings(second.pk) == ids(first, second)
    assert later_wordings(first.pk) == [second.pk, third.pk]
    assert all_wordings(second.pk) == ids(first, second, third)
    assert newest_wordings([first.pk, third.pk]) == {first.pk: third.pk, third.pk: third.pk}


def test_what_another_memory_replaced_is_no_earlier_wording():
    old, new = make_memory(), make_memory()
    edited(old, new, "Outdated")
    assert all_wordings(new.pk) == ids(new)
    assert newest_wordings([old.pk]) == {old.pk: old.pk}


def test_a_circle_ends_and_has_no_newest_wording():
    one, two = chain(2)
    edited(two, one)
    assert all_wordings(one.pk) == earlier_wordings(one.pk) == ids(one, two)
    assert later_wordings(one.pk) == [two.pk]
    assert newest_wordings([one.pk]) == {}


def test_a_memory_that_was_edited_often_takes_one_query():
    memories = chain(20)
    assert queries_of(lambda: all_wordings(memories[7].pk)) == 1
    assert newest_wordings([memories[0].pk]) == {memories[0].pk: memories[-1].pk}
