"""The roll-up beside reports of the same moment: nobody waits for its reading, and nothing newer is overwritten."""

import threading
import time

import pytest
from django.db import connection, transaction
from django.utils import timezone

from memories.access import actor_for_user
from memories.models import Reinforcement, UsageEvent
from memories.services.reinforcement import roll_up_all
from memories.services.signals import mark_used
from tests.factories import make_memory
from tests.reflections.together import at_once

MANY = """
INSERT INTO usage_event (memory_id, at, source, session, useful, misled, confidence)
SELECT %(memory)s, now(), 'direct', n::text, true, false, 1 FROM generate_series(1, 150000) n"""
READING = """
SELECT count(*) FROM pg_stat_activity
WHERE state = 'active' AND query LIKE '%WITH RECURSIVE recent%' AND pid <> pg_backend_pid()"""

pytestmark = pytest.mark.django_db(transaction=True)


def report(memory, session=""):
    UsageEvent.objects.create(memory=memory, at=timezone.now(), source="direct", useful=True, session=session)


def useful(memory):
    return Reinforcement.objects.get(memory=memory).useful


def test_reports_of_several_sessions_at_once_all_count(owner, scope):
    memory, actor = make_memory(scope=scope), actor_for_user(owner)
    acts = [lambda n=n: mark_used(actor=actor, memory=memory, useful=True, session=f"s{n}") for n in range(6)]
    results = at_once(*acts)
    assert not [result for result in results if isinstance(result, Exception)]
    assert useful(memory) == 6
    assert roll_up_all(now=timezone.now()) == (1, 0, 0)


def test_one_session_that_reports_at_once_is_written_once(owner, scope):
    memory, actor = make_memory(scope=scope), actor_for_user(owner)
    at_once(*[lambda: mark_used(actor=actor, memory=memory, useful=True, session="s1")] * 6)
    assert UsageEvent.objects.count() == 1


def holding(memory, until: threading.Event, started: threading.Event):
    """A transaction that has written the row of *memory* and does not end yet."""
    try:
        with transaction.atomic():
            Reinforcement.objects.filter(memory=memory).update(multiplier=1.39, computed_at=timezone.now())
            started.set()
            until.wait(30)
    finally:
        connection.close()


def test_a_row_that_somebody_is_writing_is_passed_by_and_the_others_are_written(scope):
    held, free = make_memory(scope=scope), make_memory(scope=scope)
    for memory in (held, free):
        Reinforcement.objects.create(memory=memory, multiplier=1.2, useful=2)
        report(memory)
    until, started = threading.Event(), threading.Event()
    writer = threading.Thread(target=holding, args=(held, until, started))
    writer.start()
    try:
        assert started.wait(10)
        before = time.monotonic()
        assert roll_up_all(now=timezone.now()) == (2, 1, 0)
        assert time.monotonic() - before < 5
    finally:
        until.set()
        writer.join()
    assert useful(free) == 1
    assert Reinforcement.objects.get(memory=held).multiplier == 1.39
    assert roll_up_all(now=timezone.now()) == (2, 1, 0)
    assert useful(held) == 1


def rolled_up_in_a_thread():
    """Started, and reading: enough signals of another memory keep it busy for a moment."""
    with connection.cursor() as cursor:
        cursor.execute(MANY, {"memory": make_memory().pk})

    def run():
        try:
            roll_up_all(now=timezone.now())
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    with connection.cursor() as cursor:
        for _ in range(1000):
            cursor.execute(READING)
            if cursor.fetchone()[0]:
                return thread
            time.sleep(0.005)
    raise AssertionError("the roll-up did not begin")


def test_a_report_that_comes_while_the_roll_up_reads_is_not_overwritten(owner, scope):
    memory = make_memory(scope=scope)
    report(memory, "s1")
    Reinforcement.objects.create(memory=memory, multiplier=1.3, useful=9)  # so that the roll-up wants to write it
    rolling = rolled_up_in_a_thread()
    mark_used(actor=actor_for_user(owner), memory=memory, useful=True, session="s2")
    rolling.join()
    assert useful(memory) == 2


def test_a_first_report_that_comes_while_the_roll_up_reads_is_not_overwritten(owner, scope):
    memory = make_memory(scope=scope)
    report(memory, "s1")
    rolling = rolled_up_in_a_thread()
    mark_used(actor=actor_for_user(owner), memory=memory, useful=True, session="s2")
    rolling.join()
    assert useful(memory) == 2


def test_a_memory_erased_while_the_roll_up_reads_leaves_nothing(scope):
    memory = make_memory(scope=scope)
    report(memory)
    rolling = rolled_up_in_a_thread()
    memory.delete()
    rolling.join()
    assert not Reinforcement.objects.filter(memory_id=memory.pk).exists()
    assert Reinforcement.objects.count() == 1
