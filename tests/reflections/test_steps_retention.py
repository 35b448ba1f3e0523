"""The cycle of decaying scopes, as a step of the hygiene cycle and as a command."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from memories.models import AuditEntry, Memory, RetentionCycle
from reflections import hygiene
from tests.factories import make_scope
from tests.memories.retention.cycling import make_decaying, unused_for
from tests.reflections.stepping import run_step
from tests.reflections.summing import fading_scope

pytestmark = pytest.mark.django_db


def said_by(*arguments: Any) -> str:
    out = StringIO()
    call_command("consolidate", *arguments, stdout=out)
    return out.getvalue().strip()


def test_the_step_does_a_cycle_and_reports_it() -> None:
    scope = make_decaying(fill=20)
    unused_for(300, scope=scope)

    step = run_step("retention", scope)

    assert (step.state, step.found, step.done) == ("done", 21, 1)
    # The 20 that were written just now lost a moment's worth; what leaves keeps its weight until then.
    assert step.note.startswith(f"{scope}: Of 21: weight fell for 20, 0 summarised, 1 archived.")
    assert RetentionCycle.objects.get().trigger == "schedule"


def test_the_step_reports_every_scope() -> None:
    scope, few = make_decaying(fill=20), make_decaying(fill=1)

    note = run_step("retention", scope, few).note

    assert f"{scope}: Of 20: weight fell for 20, 0 summarised, 0 archived." in note
    assert f"{few}: Nothing was done: the scope holds 1;" in note


def test_a_scope_that_ages_is_left_alone() -> None:
    scope = make_scope()
    unused_for(3000, scope=scope)

    step = run_step("retention", scope)

    assert (step.state, step.found, step.done, step.note) == ("done", 0, 0, "")
    assert not RetentionCycle.objects.exists()
    assert hygiene.STEPS["retention"].survey(scope) == "would do nothing, because this scope ages"


def everything() -> tuple[list[Any], int]:
    """The memories, and how many acts on anything but runs are on record."""
    return list(Memory.objects.order_by("pk").values()), AuditEntry.objects.exclude(object_type="run").count()


@pytest.mark.behaviour("X7")
def test_the_second_run_changes_nothing() -> None:
    scope, _ = fading_scope(3)
    unused_for(300, scope=scope)
    run_step("retention", scope)
    before = everything()

    step = run_step("retention", scope)

    assert (step.state, step.done) == ("done", 0)
    assert everything() == before


def test_a_survey_counts_what_would_go_and_changes_nothing() -> None:
    scope, few = make_decaying(fill=20), make_decaying(fill=1)
    old = unused_for(300, scope=scope)

    assert hygiene.STEPS["retention"].survey(scope) == "would let go of 1 of 21 memories"
    assert hygiene.STEPS["retention"].survey(few).startswith("Nothing was done: the scope holds 1;")
    old.refresh_from_db()
    assert (old.state, old.weight) == ("live", 1.0)


def test_the_command_says_what_it_would_do_and_then_does_it() -> None:
    scope = make_decaying(fill=19)
    old = unused_for(300, scope=scope)

    assert said_by("--scope", scope.slug, "--dry-run") == f"{scope}: would let go of 1 of 20 memories"
    assert not RetentionCycle.objects.exists()
    assert said_by("--scope", scope.slug) == f"{scope}: Of 20: weight fell for 19, 0 summarised, 1 archived."

    old.refresh_from_db()
    assert old.state == "archived"
    assert RetentionCycle.objects.get().trigger == "command"


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_the_command_refuses_what_does_not_decay_or_is_not_there(more: tuple[str, ...]) -> None:
    scope = make_scope()

    with pytest.raises(CommandError, match="does not decay"):
        said_by("--scope", scope.slug, *more)
    with pytest.raises(CommandError, match="There is no scope 'nowhere'"):
        said_by("--scope", "nowhere", *more)
