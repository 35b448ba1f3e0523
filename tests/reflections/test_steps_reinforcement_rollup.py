from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from memories.models import Reinforcement, UsageEvent
from reflections import hygiene
from tests.factories import make_memory, make_scope
from tests.reflections.stepping import run_step

pytestmark = pytest.mark.django_db


def reported(memory, *, days=1, **said):
    at = timezone.now() - timedelta(days=days)
    UsageEvent.objects.create(memory=memory, at=at, source="direct", **(said or {"useful": True}))


def roll_up(*scopes):
    step = run_step("reinforcement_rollup", *scopes)
    assert step.state == "done", step.note
    return step


def test_the_step_writes_what_signals_amount_to_and_tells_how_many(scope):
    used, misled, faded = (make_memory(scope=scope) for _ in range(3))
    reported(used)
    reported(misled, misled=True)
    reported(faded, days=91)
    Reinforcement.objects.create(memory=faded, multiplier=1.1, useful=1)
    step = roll_up(scope)
    assert (step.found, step.done, step.failed) == (2, 3, 0)
    assert {row.memory_id: round(row.multiplier, 5) for row in Reinforcement.objects.all()} == {
        used.pk: 1.10397,
        misled.pk: 0.82671,
    }


def test_a_second_run_finds_the_same_and_does_nothing(scope):
    reported(make_memory(scope=scope))
    roll_up(scope)
    again = roll_up(scope)
    assert (again.found, again.done) == (1, 0)


def test_another_scope_is_left_alone(scope):
    elsewhere = make_memory(scope=make_scope())
    reported(elsewhere)
    assert roll_up(scope).found == 0
    assert not Reinforcement.objects.exists()


def test_it_is_part_of_the_quick_cycle_with_and_without_a_model(settings):
    for model in ("", "openai:tiny"):
        settings.MODEL = model
        assert hygiene.STEPS["reinforcement_rollup"].in_quick
    names = list(hygiene.STEPS)
    assert names.index("loop_closure") < names.index("reinforcement_rollup") < names.index("entity_merge")


def test_it_makes_the_tables_of_the_coming_months(scope):
    with connection.cursor() as cursor:
        coming = timezone.now() + timedelta(days=62)
        cursor.execute(f"DROP TABLE IF EXISTS usage_event_{coming:%Y_%m}")
        roll_up(scope)
        cursor.execute("SELECT to_regclass(%s)::text", [f"usage_event_{coming:%Y_%m}"])
        assert cursor.fetchone()[0] == f"usage_event_{coming:%Y_%m}"


def test_the_survey_says_how_many_and_writes_nothing(scope):
    reported(make_memory(scope=scope))
    said = hygiene.STEPS["reinforcement_rollup"].survey(scope)
    assert said == "would compute the multiplier of 1 memory with reports of use"
    assert not Reinforcement.objects.exists()
