"""What starts a cycle of a decaying scope, and what is dropped."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection

from memories.access import actor_for_user
from memories.errors import Conflict, Forbidden, NotFound
from memories.models import RetentionCycle
from memories.services.retention import is_running
from reflections import consolidation
from reflections.consolidation import consolidate, start
from reflections.tasks import consolidate as task
from tests.factories import make_member, make_scope, make_user
from tests.memories.retention.cycling import make_decaying, unused_for

pytestmark = pytest.mark.django_db
RUNS = "A cycle of this scope runs already, so this one was dropped."


@pytest.fixture
def rung(monkeypatch: pytest.MonkeyPatch) -> list[list[Any]]:
    """What was sent to the worker."""
    sent: list[list[Any]] = []
    monkeypatch.setattr(consolidation.current_app, "send_task", lambda _name, args, **_how: sent.append(args))
    return sent


def test_a_person_has_a_cycle_done() -> None:
    scope = make_decaying(fill=20)
    old = unused_for(300, scope=scope)

    done = consolidate(actor=actor_for_user(scope.owner), scope=scope, trigger="button")

    assert done.cycle
    assert (done.cycle.archived, done.cycle.actor, done.cycle.user) == (1, scope.owner.username, scope.owner)
    old.refresh_from_db()
    assert old.state == "archived"


def test_whoever_starts_one_is_answered_before_it_is_done(rung: list[list[Any]]) -> None:
    scope = make_decaying(fill=20)
    owner = actor_for_user(scope.owner)

    asked = start(actor=owner, scope=scope, trigger="button")

    assert asked.is_started
    assert rung == [[scope.pk, "button", scope.owner_id, owner.label]]
    assert not RetentionCycle.objects.exists()


def test_the_worker_does_it_in_the_name_of_whoever_asked() -> None:
    scope = make_decaying(fill=20)

    task(scope.pk, "agent", scope.owner_id, "claude (token of somebody)")

    done = RetentionCycle.objects.get()
    assert (done.actor, done.user, done.trigger, done.state) == (
        "claude (token of somebody)", scope.owner, "agent", "done",
    )  # fmt: skip


def test_the_worker_passes_over_a_scope_that_is_gone_or_ages_again(caplog: pytest.LogCaptureFixture) -> None:
    ageing = make_scope()

    task(ageing.pk, "write")
    task(ageing.pk + 1000, "write")

    assert not RetentionCycle.objects.exists()
    assert "does not decay" in caplog.text


def test_nothing_is_started_where_too_few_are_held(rung: list[list[Any]]) -> None:
    scope = make_decaying(fill=3)

    asked = start(actor=actor_for_user(scope.owner), scope=scope, trigger="button")

    assert (asked.is_started, rung) == (False, [])
    assert asked.said == "Nothing was done: the scope holds 3; a cycle runs from 20 on."


def test_only_writers_of_a_decaying_scope_start_anything(rung: list[list[Any]]) -> None:
    scope, ageing = make_decaying(fill=20), make_scope()

    with pytest.raises(Forbidden):
        start(actor=actor_for_user(make_member(scope)), scope=scope, trigger="button")
    with pytest.raises(NotFound):
        start(actor=actor_for_user(make_user()), scope=scope, trigger="button")
    with pytest.raises(Conflict, match="does not decay"):
        start(actor=actor_for_user(ageing.owner), scope=ageing, trigger="button")
    assert rung == []


@pytest.mark.parametrize("trigger", ["write", "schedule"])
def test_what_nobody_asked_for_leaves_a_minute_between(trigger: str) -> None:
    scope = make_decaying(fill=20)

    first, second = (consolidate(scope=scope, trigger=trigger) for _ in range(2))

    assert first.cycle
    assert second.said == "A cycle of this scope ended less than a minute ago, so this one was dropped."
    assert consolidate(scope=scope, trigger="command").cycle


@pytest.mark.behaviour("G33")
@pytest.mark.django_db(transaction=True)
def test_ten_that_come_while_one_runs_are_answered_and_dropped(rung: list[list[Any]]) -> None:
    scope = make_decaying(fill=21)
    owner = actor_for_user(scope.owner)
    said: list[str] = []

    def ten_more(*_told: Any) -> int:
        with ThreadPoolExecutor(10) as threads:
            answers = [threads.submit(_started_elsewhere, owner, scope) for _ in range(10)]
            said.extend(answer.result(timeout=30) for answer in answers)
        return 0

    consolidation.run_cycle(scope=scope, trigger="command", summarise=ten_more)

    assert said == [RUNS] * 10
    assert rung == []
    assert RetentionCycle.objects.count() == 1
    assert not is_running(scope)


def _started_elsewhere(actor: Any, scope: Any) -> str:
    try:
        return start(actor=actor, scope=scope, trigger="write").said
    finally:
        connection.close()
