"""Many memories in one act: exactly those, in batches, on record, and back again."""

from datetime import datetime, timedelta

import pytest
from django.db import connection
from django.utils import timezone

from memories.access import actor_for_user
from memories.errors import Conflict, NotFound, ValidationFailed
from memories.facets import Choice
from memories.models import AuditEntry, Embedding, Memory, Window
from memories.selection import Selection, counted
from memories.services import bulk, forget, remember, restore
from memories.services.bulk import forget_many, take_back_many
from tests.factories import make_memory, make_scope, make_user, unit
from tests.queries import queries_of

pytestmark = pytest.mark.django_db


def ten_in(scope, **overrides):
    return [make_memory(scope=scope, age_days=100 + n, **overrides) for n in range(10)]


def older(scope, days=50, **choice):
    return Selection(Choice(scope=scope, **choice), before=timezone.now() - timedelta(days=days))


def forget_older(owner, scope, expected=10, **more):
    return forget_many(actor=actor_for_user(owner), selection=older(scope), expected=expected, **more)


def take_back(owner, done):
    return take_back_many(actor=actor_for_user(owner), operation=done.operation)


def rows_of(scope):
    return list(Memory.objects.filter(scope=scope).order_by("pk").values())


@pytest.mark.behaviour("F14")
def test_undo_leaves_every_row_as_it_was(owner, scope):
    ten_in(scope)
    before = rows_of(scope)
    done = forget_older(owner, scope)
    assert (done.count, done.left, Memory.objects.live().count()) == (10, 0, 0)
    assert take_back(owner, done).count == 10
    assert rows_of(scope) == before


def test_a_forgotten_memory_is_found_by_nothing_and_after_the_undo_again(owner, scope):
    make_memory(scope=scope, age_days=100, vector=unit(1))
    done = forget_older(owner, scope, expected=1)
    assert not Window.objects.filter(live=True).exists()
    assert not Embedding.objects.filter(live=True).exists()
    take_back(owner, done)
    assert Window.objects.filter(live=True).exists()
    assert Embedding.objects.filter(live=True).exists()


@pytest.mark.behaviour("F14")
def test_undo_brings_back_only_what_this_operation_retired(owner, scope):
    earlier = make_memory(scope=scope, age_days=200)
    forget(actor=actor_for_user(owner), memory=earlier)
    mine = ten_in(scope)
    done = forget_older(owner, scope)
    later = make_memory(scope=scope, age_days=200)
    other = forget_older(owner, scope, expected=1)
    take_back(owner, done)
    assert set(Memory.objects.live()) == set(mine)
    take_back(owner, other)
    assert set(Memory.objects.live()) == {*mine, later}


def test_what_was_restored_and_forgotten_anew_since_stays_forgotten(owner, scope):
    first, *rest = ten_in(scope)
    done = forget_older(owner, scope)
    restore(actor=actor_for_user(owner), memory=first)
    forget(actor=actor_for_user(owner), memory=first)
    assert take_back(owner, done).count == 9
    assert set(Memory.objects.live()) == set(rest)


def test_what_was_written_again_meanwhile_is_not_doubled(owner, scope):
    first, *rest = ten_in(scope)
    done = forget_older(owner, scope)
    again = remember(actor=actor_for_user(owner), scope=scope, content=first.content).memory
    undone = take_back(owner, done)
    assert (undone.count, undone.left) == (9, 1)
    assert set(Memory.objects.live()) == {*rest, again}


def test_undoing_twice_is_refused(owner, scope):
    ten_in(scope)
    done = forget_older(owner, scope)
    take_back(owner, done)
    with pytest.raises(Conflict, match="nothing to bring back"):
        take_back(owner, done)


def test_one_entry_stands_for_the_operation_and_one_for_each_member(owner, scope):
    mine = ten_in(scope)
    done = forget_older(owner, scope, reason="An old project.")
    (operation,) = AuditEntry.objects.filter(action="forget_together")
    assert (operation.object_id, operation.scope, operation.user) == (str(done.operation), scope, owner)
    assert operation.reason == "An old project."
    assert list(operation.detail["filter"]) == ["before"]
    members = AuditEntry.objects.filter(action="forget", detail__operation=str(done.operation))
    assert {entry.object_id for entry in members} == {str(memory.pk) for memory in mine}


@pytest.mark.behaviour("F2")
@pytest.mark.parametrize("filter", [{}, {"state": "live"}, {"state": "all"}])
def test_a_scope_without_a_filter_is_refused(filter, scope):
    with pytest.raises(ValidationFailed, match="Say which"):
        Selection(Choice(scope=scope, **filter))


@pytest.mark.behaviour("F2")
def test_a_filter_without_a_scope_is_refused():
    with pytest.raises(ValidationFailed, match="Name the scope"):
        Selection(Choice(kind="fact"), before=timezone.now())


def test_a_date_without_its_zone_is_refused(scope):
    with pytest.raises(ValidationFailed, match="time zone"):
        Selection(Choice(scope=scope), before=datetime(2025, 1, 1))  # noqa: DTZ001  # the point of the test


@pytest.mark.parametrize("state", ["superseded", "invalidated", "archived"])
def test_what_is_retired_already_cannot_be_selected(state, scope):
    with pytest.raises(ValidationFailed, match="retired already"):
        Selection(Choice(scope=scope, state=state), before=timezone.now())


@pytest.mark.behaviour("F2")
def test_a_scope_of_somebody_else_does_not_exist(owner):
    theirs = make_scope(make_user())
    ten_in(theirs)
    with pytest.raises(NotFound):
        forget_older(owner, theirs)
    assert Memory.objects.live().count() == 10


def test_nothing_that_matches_is_nothing_to_forget(owner, scope):
    with pytest.raises(Conflict, match="Nothing matches"):
        forget_older(owner, scope, expected=0)
    assert not AuditEntry.objects.exists()


def test_every_filter_of_the_list_selects(owner, scope):
    make_memory(scope=scope, author_kind="import", age_days=100)
    ten_in(scope)
    selection = Selection(Choice(scope=scope, author="import"))
    assert counted(selection).count == 1
    assert forget_many(actor=actor_for_user(owner), selection=selection, expected=1).count == 1
    assert Memory.objects.live().count() == 10


def test_many_go_in_batches_of_a_few_statements(owner, scope, monkeypatch):
    ten_in(scope)
    one_batch = queries_of(lambda: take_back(owner, forget_older(owner, scope)))
    monkeypatch.setattr(bulk, "BATCH", 5)
    two_batches = queries_of(lambda: take_back(owner, forget_older(owner, scope)))
    for _ in range(5):
        ten_in(scope)
    monkeypatch.setattr(bulk, "BATCH", 200)
    assert queries_of(lambda: take_back(owner, forget_older(owner, scope, expected=60))) == one_batch
    assert one_batch < two_batches


@pytest.mark.django_db(transaction=True)
def test_what_somebody_is_changing_is_passed_over_and_nobody_waits(owner, scope):
    busy, *rest = ten_in(scope)
    with connection.copy().cursor() as elsewhere:
        elsewhere.execute("BEGIN")
        elsewhere.execute("UPDATE memories SET source = 'mine' WHERE id = %s", [busy.pk])
        done = forget_older(owner, scope)
        elsewhere.execute("COMMIT")
        elsewhere.connection.close()
    assert (done.count, done.left) == (9, 1)
    assert set(Memory.objects.live()) == {busy}
    assert take_back(owner, done).count == len(rest)


@pytest.mark.django_db(transaction=True)
def test_who_finds_all_of_it_being_forgotten_is_told_that_nothing_was_left(owner, scope):
    ten_in(scope)
    with connection.copy().cursor() as elsewhere:
        elsewhere.execute("BEGIN")
        elsewhere.execute("UPDATE memories SET source = 'mine'")
        with pytest.raises(Conflict, match="nothing was left to forget"):
            forget_older(owner, scope)
        elsewhere.execute("COMMIT")
        elsewhere.connection.close()
