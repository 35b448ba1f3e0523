"""Usage events lie in a table for each month, and nothing that is written falls between them."""

from datetime import UTC, datetime, timedelta

import pytest
from celery import current_app
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from memories.models import Memory, UsageEvent
from memories.services.usage_months import MONTHS_AHEAD, keep_usage_months
from memories.tasks import make_months
from tests.factories import make_memory

pytestmark = pytest.mark.django_db
LATER = datetime(2031, 12, 31, 23, 30, tzinfo=UTC)


def report(memory, at):
    return UsageEvent.objects.create(memory=memory, at=at, source="direct", useful=True)


def lies_in(event) -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT tableoid::regclass::text FROM usage_event WHERE id = %s", [event.pk])
        return cursor.fetchone()[0]


def remove_for_good(rows) -> None:
    """Deleted, and looked at by the constraints that wait for the commit."""
    with transaction.atomic():
        rows.delete()
        connection.check_constraints()


def test_an_event_lies_in_the_table_of_its_month():
    now = timezone.now()
    assert lies_in(report(make_memory(), now)) == f"usage_event_{now:%Y_%m}"


def test_an_event_of_a_month_without_a_table_is_kept_all_the_same():
    event = report(make_memory(), datetime(2019, 3, 4, tzinfo=UTC))
    assert lies_in(event) == "usage_event_default"


def test_months_are_made_ahead_and_once():
    assert keep_usage_months(now=LATER) == MONTHS_AHEAD + 1
    assert keep_usage_months(now=LATER) == 0
    assert lies_in(report(make_memory(), LATER)) == "usage_event_2031_12"
    assert lies_in(report(make_memory(), LATER + timedelta(hours=1))) == "usage_event_2032_01"


def test_the_clock_makes_them_where_nobody_runs_the_cycle():
    made = f"usage_event_{timezone.now() + timedelta(days=28 * MONTHS_AHEAD):%Y_%m}"
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TABLE IF EXISTS {made}")
        make_months()
        cursor.execute("SELECT to_regclass(%s) IS NOT NULL", [made])
        assert cursor.fetchone()[0]
    assert "memories.tasks.make_months" in {entry["task"] for entry in current_app.conf.beat_schedule.values()}


def test_what_came_before_its_table_moves_there_and_stays_the_same_event():
    memory = make_memory()
    event, elsewhere = report(memory, LATER), report(memory, datetime(2019, 3, 4, tzinfo=UTC))
    assert lies_in(event) == "usage_event_default"
    keep_usage_months(now=LATER)
    assert lies_in(event) == "usage_event_2031_12"
    assert lies_in(elsewhere) == "usage_event_default"
    assert UsageEvent.objects.get(pk=event.pk).at == LATER
    assert report(memory, LATER).pk > event.pk


@pytest.mark.parametrize("at", [timezone.now, lambda: LATER, lambda: datetime(2019, 3, 4, tzinfo=UTC)])
def test_evidence_is_never_changed_and_never_removed_in_any_table(at):
    memory = make_memory()
    report(memory, LATER)
    keep_usage_months(now=LATER)
    event = report(memory, at())
    with pytest.raises(IntegrityError, match="never changed"), transaction.atomic():
        UsageEvent.objects.filter(pk=event.pk).update(useful=False)
    with pytest.raises(IntegrityError, match="never removed"):
        remove_for_good(UsageEvent.objects.filter(pk=event.pk))
    remove_for_good(Memory.objects.filter(pk=memory.pk))
    assert not UsageEvent.objects.exists()


def test_only_a_judge_says_whether_a_memory_was_relevant():
    memory = make_memory()
    UsageEvent.objects.create(memory=memory, at=timezone.now(), source="judge", relevant=True)
    with pytest.raises(IntegrityError, match="relevant"), transaction.atomic():
        UsageEvent.objects.create(memory=memory, at=timezone.now(), source="direct", relevant=True)
