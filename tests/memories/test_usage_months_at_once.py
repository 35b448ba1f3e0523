"""The tables of coming months are made beside long readers and writers, and keep none of them waiting."""

import threading
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest
from django.db import connection, transaction
from django.utils import timezone

from memories.models import UsageEvent
from memories.services.reinforcement import roll_up
from memories.services.usage_months import MONTHS_AHEAD, keep_usage_months
from tests.factories import make_memory

pytestmark = pytest.mark.django_db(transaction=True)
FAR = datetime(2041, 5, 6, tzinfo=UTC)
MONTHS = [f"usage_event_2041_{month:02}" for month in range(5, 6 + MONTHS_AHEAD)]


@pytest.fixture(autouse=True)
def _no_tables_are_left():
    yield
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TABLE IF EXISTS {', '.join(MONTHS)}")


@contextmanager
def meanwhile(act):
    """*act* runs in a thread of its own, from its first step on."""
    begun = threading.Event()

    def run():
        try:
            act(begun)
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        assert begun.wait(10)
        yield thread
    finally:
        thread.join()


@contextmanager
def a_long(reads_or_writes):
    over = threading.Event()

    def hold(begun):
        with transaction.atomic():
            reads_or_writes()
            begun.set()
            over.wait(30)

    with meanwhile(hold):
        try:
            yield
        finally:
            over.set()


def write(memory):
    """A report, and the multiplier that it makes, that wait a twentieth of a second for a table at most."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL lock_timeout = '50ms'")
        UsageEvent.objects.create(memory=memory, at=timezone.now(), source="direct", useful=True)
        roll_up(memory=memory, now=timezone.now())


def read_all():
    UsageEvent.objects.count()


def read_one_month():
    UsageEvent.objects.filter(at=timezone.now()).count()


@pytest.mark.parametrize("read", [read_all, read_one_month])
def test_no_write_waits_for_a_month_that_a_long_reader_keeps_from_being_made(read):
    memory, made = make_memory(), []

    def make(begun):
        begun.set()
        made.append(keep_usage_months(now=FAR))

    with a_long(read), meanwhile(make) as making:
        while making.is_alive():
            write(memory)
    assert made == [0]
    assert keep_usage_months(now=FAR) == MONTHS_AHEAD + 1


def test_neither_does_it_wait_for_whoever_writes_memories():
    with a_long(make_memory):
        assert keep_usage_months(now=FAR) == 0
    assert keep_usage_months(now=FAR) == MONTHS_AHEAD + 1


def test_where_no_table_lacks_nothing_is_locked(caplog):
    keep_usage_months(now=FAR)
    with a_long(read_all):
        assert keep_usage_months(now=FAR) == 0
    assert not caplog.records
