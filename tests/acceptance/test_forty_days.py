"""A fresh installation left alone: nothing happens to memories without a person."""

from datetime import timedelta

import pytest
import time_machine
from celery import current_app
from django.utils import timezone

from memories.models import Kind, Memory, Reinforcement
from reflections.models import Candidate
from reflections.schedule import EFFECTS, scheduled
from tests.factories import make_memory

pytestmark = pytest.mark.django_db

STATE = (
    "id", "content", "kind", "invalidated_at", "superseded_by_id", "pinned", "created_at", "updated_at", "weight",
    "accessed_at", "access_count", "version", "valid_from", "valid_until",
)  # fmt: skip


def everything_scheduled() -> list[str]:
    from zeromemory.celery import app

    app.loader.import_default_modules()

    return [entry["task"] for entry in app.conf.beat_schedule.values()]


def run_the_clock_for(days: int) -> None:
    from zeromemory.celery import app

    app.loader.import_default_modules()

    start = timezone.now()
    for day in range(1, days + 1):
        with time_machine.travel(start + timedelta(days=day), tick=False):
            for name in everything_scheduled():
                app.tasks[name]()


@pytest.mark.behaviour("F4")
def test_forty_days_without_a_person_change_the_state_of_no_memory(scope):
    for kind in Kind.values:
        for age in (0, 13, 29, 400, 4000):
            make_memory(kind=kind, age_days=age, scope=scope)
    before = list(Memory.objects.order_by("pk").values_list(*STATE))
    run_the_clock_for(40)
    assert list(Memory.objects.order_by("pk").values_list(*STATE)) == before
    assert not Reinforcement.objects.exists()


def test_forty_days_without_a_person_decide_no_draft(scope):
    waiting = Candidate.objects.create(scope=scope, draft="Three times the same.")
    run_the_clock_for(40)
    waiting.refresh_from_db()
    assert (waiting.state, waiting.memory_id, waiting.decided_by_id) == ("pending", None, None)


@pytest.mark.behaviour("F4")
def test_a_page_lists_what_is_scheduled_and_what_it_may_change(client_of, owner):
    page = client_of(owner).get("/runs/").content.decode()
    assert scheduled()
    for job in scheduled():
        assert job.name in page
        assert job.every in page
        assert job.may_change.split(";")[0] in page


def test_every_scheduled_task_says_what_it_does():
    assert set(everything_scheduled()) == set(EFFECTS)
    assert current_app.conf.beat_schedule
