"""Several writers at the same moment, each with a real connection and a real transaction."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, connections, transaction

from memories import embedding_queue
from memories.access import actor_for_user
from memories.errors import Conflict, ZeroMemoryError
from memories.models import AuditEntry, Embedding, Entity, Link, Memory
from memories.services import LATEST, EntitySpec, LinkSpec, edit, forget, pin, remember, restore, supersede, writing
from tests.factories import make_memory

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def actor(owner, scope):
    return actor_for_user(owner)


def at_once(*acts):
    """Start all *acts* at the same moment; what each returned, or the error of ours that it raised."""
    start = threading.Barrier(len(acts))

    def run(act):
        try:
            start.wait(timeout=30)
            return act()
        except ZeroMemoryError as error:
            return error
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(run, acts))


def errors(outcomes):
    return [outcome for outcome in outcomes if isinstance(outcome, ZeroMemoryError)]


@pytest.mark.parametrize("asked", [{}, {"idempotency_key": "k"}, {"external_id": "e"}])
def test_eight_writers_of_one_text_make_one_memory(actor, scope, asked):
    outcomes = at_once(*[lambda: remember(actor=actor, scope=scope, content="the same", **asked)] * 8)
    assert sorted(outcome.deduplicated for outcome in outcomes) == [False] + [True] * 7
    memory = Memory.objects.get()
    assert memory.windows.count() == 1
    assert AuditEntry.objects.count() == 1


def test_writers_that_name_the_same_new_entities_do_not_deadlock(actor, scope):
    names = [EntitySpec(f"thing {number}") for number in range(30)]
    acts = [
        lambda number=number: remember(
            actor=actor, scope=scope, content=f"x{number}", entities=names if number % 2 else names[::-1]
        )
        for number in range(8)
    ]
    assert errors(at_once(*acts)) == []
    assert Entity.objects.count() == 30


@pytest.mark.behaviour("G34")
def test_twenty_writers_of_ten_memories_make_two_hundred(actor, scope):
    def ten(writer):
        return [remember(actor=actor, scope=scope, content=f"{writer}: {number}") for number in range(10)]

    assert errors(at_once(*[lambda writer=writer: ten(writer) for writer in range(20)])) == []
    assert Memory.objects.count() == 200


def test_of_two_edits_of_one_version_one_wins_and_the_other_is_told(actor, scope):
    memory = make_memory("old", scope=scope)
    outcomes = at_once(
        *[
            lambda text=text: edit(actor=actor, memory=memory, expected_version=1, content=text)
            for text in ("this", "that")
        ]
    )
    assert [type(error) for error in errors(outcomes)] == [Conflict]
    assert Memory.objects.count() == 2
    assert Memory.objects.live().count() == 1


@pytest.mark.parametrize("field", ["source", "content"])
def test_twenty_edits_of_whatever_stands_all_succeed_one_after_the_other(actor, scope, field):
    memory = make_memory("old", scope=scope)
    asked = [{field: f"number {number}"} for number in range(20)]
    acts = [
        lambda change=change: edit(actor=actor, memory=memory, expected_version=LATEST, **change) for change in asked
    ]
    assert errors(at_once(*acts)) == []
    newest = Memory.objects.live().get()
    assert newest.version == 21
    assert {field: getattr(newest, field)} in asked


def test_an_edit_of_whatever_stands_does_not_follow_to_a_memory_that_took_its_place(actor, scope):
    memory, other = make_memory("old", scope=scope), make_memory("other", scope=scope)
    supersede(actor=actor, memory=memory, replacement=other)
    with pytest.raises(Conflict, match="retired"):
        edit(actor=actor, memory=memory, expected_version=LATEST, content="new")


def test_two_memories_cannot_supersede_each_other(actor, scope):
    one, two = make_memory(scope=scope), make_memory(scope=scope)
    outcomes = at_once(
        lambda: supersede(actor=actor, memory=one, replacement=two),
        lambda: supersede(actor=actor, memory=two, replacement=one),
    )
    assert [type(error) for error in errors(outcomes)] == [Conflict]
    assert Memory.objects.live().count() == Link.objects.count() == 1


def test_a_restore_and_a_new_write_of_one_text_leave_one_live(actor, scope):
    for _ in range(5):
        Memory.objects.all().delete()
        memory = remember(actor=actor, scope=scope, content="the same").memory
        forget(actor=actor, memory=memory)
        at_once(
            lambda memory=memory: restore(actor=actor, memory=memory),
            lambda: remember(actor=actor, scope=scope, content="the same"),
        )
        assert Memory.objects.live().count() == 1


def test_pinning_while_somebody_forgets_loses_neither_act(actor, scope):
    memory = make_memory(scope=scope)
    outcomes = at_once(lambda: pin(actor=actor, memory=memory), lambda: forget(actor=actor, memory=memory))
    memory.refresh_from_db()
    assert memory.invalidated_at
    assert memory.pinned is (errors(outcomes) == [])


@pytest.mark.behaviour("F8")
def test_a_writer_that_meets_a_held_lock_is_told_to_retry_and_the_retry_writes_once(actor, scope, monkeypatch):
    monkeypatch.setattr(writing, "LOCK_TIMEOUT", "100ms")
    write = {"actor": actor, "scope": scope, "content": "x", "idempotency_key": "k"}
    with somebody_holding(f"idempotency_key:{scope.pk}:k"):
        with pytest.raises(Conflict, match="Try again"):
            remember(**write)
        assert not Memory.objects.exists()
    first = remember(**write)
    assert remember(**write).memory == first.memory
    assert Memory.objects.count() == 1


@pytest.mark.behaviour("F8")
def test_a_writer_that_runs_into_the_statement_timeout_is_told_to_retry(actor, scope):
    with somebody_holding(f"idempotency_key:{scope.pk}:k"), connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = '100ms'")
        try:
            with pytest.raises(Conflict, match="Try again"):
                remember(actor=actor, scope=scope, content="x", idempotency_key="k")
        finally:
            cursor.execute("RESET statement_timeout")
    assert not Memory.objects.exists()


@pytest.mark.behaviour("F8")
def test_a_change_that_meets_a_locked_row_is_told_to_retry(actor, scope, monkeypatch):
    monkeypatch.setattr(writing, "LOCK_TIMEOUT", "100ms")
    memory = make_memory(scope=scope)
    held, done = threading.Event(), threading.Event()

    def hold():
        with transaction.atomic():
            Memory.objects.select_for_update().get(pk=memory.pk)
            held.set()
            done.wait(timeout=30)
        connections.close_all()

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait(timeout=30)
    with pytest.raises(Conflict, match="Try again"):
        forget(actor=actor, memory=memory)
    done.set()
    holder.join()
    assert forget(actor=actor, memory=memory).invalidated_at


class somebody_holding:  # noqa: N801  reads as a phrase where it is used
    """Another session that holds the turn of one matter."""

    def __init__(self, turn):
        self.turn, self.held, self.done = turn, threading.Event(), threading.Event()

    def __enter__(self):
        self.thread = threading.Thread(target=self.hold)
        self.thread.start()
        self.held.wait(timeout=30)

    def hold(self):
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(hashtextextended(%s, 0))", [self.turn])
            self.held.set()
            self.done.wait(timeout=30)
            cursor.execute("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", [self.turn])
        connections.close_all()

    def __exit__(self, *_):
        self.done.set()
        self.thread.join()


def test_two_duplicates_that_supersede_each_other_leave_one_live(actor, scope):
    one, two = make_memory("one", scope=scope), make_memory("two", scope=scope)
    outcomes = at_once(
        lambda: remember(actor=actor, scope=scope, content="one", links=[LinkSpec("supersedes", two.pk)]),
        lambda: remember(actor=actor, scope=scope, content="two", links=[LinkSpec("supersedes", one.pk)]),
    )
    assert len(errors(outcomes)) <= 1
    assert Memory.objects.live().count() == 1


def test_a_duplicate_waits_for_whoever_is_retiring_its_twin_and_becomes_a_memory_of_its_own(actor, scope):
    twin, replacement = make_memory("one", scope=scope), make_memory("two", scope=scope)
    retiring, written = threading.Event(), []

    def write():
        retiring.wait(timeout=30)
        written.append(remember(actor=actor, scope=scope, content="one"))
        connections.close_all()

    writer = threading.Thread(target=write)
    writer.start()
    with transaction.atomic():
        supersede(actor=actor, memory=twin, replacement=replacement)
        retiring.set()
        time.sleep(1)
    writer.join()
    assert not written[0].deduplicated
    assert written[0].memory.state == "live"


@pytest.mark.parametrize("name", ["idempotency_key", "external_id"])
def test_a_key_taken_meanwhile_by_a_writer_that_takes_no_turns_is_a_conflict(actor, scope, name):
    inserted, done = threading.Event(), threading.Event()

    def insert():
        with transaction.atomic():
            make_memory("imported", scope=scope, **{name: "k"})
            inserted.set()
            done.wait(timeout=1)
        connections.close_all()

    importer = threading.Thread(target=insert)
    importer.start()
    inserted.wait(timeout=30)
    with pytest.raises(Conflict) as refused:
        remember(actor=actor, scope=scope, content="x", **{name: "k"})
    done.set()
    importer.join()
    assert refused.value.field == name
    assert [memory.content for memory in Memory.objects.all()] == ["imported"]


def test_two_sweeps_at_once_embed_each_window_once(actor, scope):
    for number in range(40):
        remember(actor=actor, scope=scope, content=f"number {number}", ring=False)
    taken = at_once(embedding_queue.embed_waiting, embedding_queue.embed_waiting)
    assert sum(taken) == 40
    assert Embedding.objects.count() == 40
    assert not Memory.objects.filter(embedded_at__isnull=True).exists()
