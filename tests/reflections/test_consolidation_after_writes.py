"""A write into a decaying scope rings for a cycle; one into a scope that ages costs nothing."""

from __future__ import annotations

import io
import json
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memories import growth
from memories.access import actor_for_user
from memories.models import Memory, RetentionCycle, Scope
from memories.services.edit import edit
from memories.services.remember import remember
from memories.transfer.importing import import_from
from memories.transfer.registry import format_called
from reflections import consolidation
from tests.factories import make_scope
from tests.memories.retention.cycling import cycle, make_decaying

pytestmark = pytest.mark.django_db


@pytest.fixture
def rung(monkeypatch: pytest.MonkeyPatch) -> list[list[Any]]:
    """What was sent to the worker."""
    sent: list[list[Any]] = []
    monkeypatch.setattr(consolidation.current_app, "send_task", lambda _name, args, **_how: sent.append(args))
    monkeypatch.setattr(consolidation, "_bells", consolidation._Bells())
    return sent


def written(scope: Scope, content: str = "The gate opens at six.") -> Memory:
    return remember(actor=actor_for_user(scope.owner), scope=scope, content=content, compare=False).memory


def test_a_write_that_makes_it_enough_rings_in_nobodys_name(rung: Any, django_capture_on_commit_callbacks: Any) -> None:
    scope = make_decaying(fill=18)

    with django_capture_on_commit_callbacks(execute=True):
        written(scope, "The nineteenth.")
    assert rung == []
    with django_capture_on_commit_callbacks(execute=True):
        written(scope, "The twentieth.")

    assert rung == [[scope.pk, "write", None, ""]]
    assert not RetentionCycle.objects.exists()


def test_a_burst_of_writes_rings_once(rung: Any, django_capture_on_commit_callbacks: Any) -> None:
    scope = make_decaying(fill=20)

    for n in range(5):
        with django_capture_on_commit_callbacks(execute=True):
            written(scope, f"Gate {n} opens at six.")

    assert len(rung) == 1


def test_nothing_is_rung_for_within_a_minute_of_a_cycle(rung: Any, django_capture_on_commit_callbacks: Any) -> None:
    scope = make_decaying(fill=20)
    cycle(scope)

    with django_capture_on_commit_callbacks(execute=True):
        written(scope)
    assert rung == []

    over_a_minute_ago = timezone.now() - timedelta(seconds=61)
    RetentionCycle.objects.update(started_at=over_a_minute_ago, finished_at=over_a_minute_ago)
    with django_capture_on_commit_callbacks(execute=True):
        written(scope, "The gate opens at seven.")
    assert len(rung) == 1


def test_a_new_wording_and_an_import_ring_too(rung: Any, django_capture_on_commit_callbacks: Any) -> None:
    first, second = make_decaying(fill=20), make_decaying(fill=20)
    memory = Memory.objects.filter(scope=first).first()
    assert memory

    with django_capture_on_commit_callbacks(execute=True):
        edit(actor=actor_for_user(first.owner), memory=memory, content="Another wording.", expected_version=1)
    lines = io.BytesIO(json.dumps({"content": "A line."}).encode())
    with django_capture_on_commit_callbacks(execute=True):
        import_from(format_called("jsonl")(), lines, actor=actor_for_user(second.owner), scope=second)

    assert [args[0] for args in rung] == [first.pk, second.pk]


def test_a_write_that_stores_nothing_rings_for_nothing(rung: Any, django_capture_on_commit_callbacks: Any) -> None:
    scope = make_decaying(fill=20)
    written(scope)

    with django_capture_on_commit_callbacks(execute=True):
        written(scope)

    assert rung == []


def test_a_scope_that_ages_pays_nothing(rung: Any, django_capture_on_commit_callbacks: Any) -> None:
    scope = make_scope()

    with CaptureQueriesContext(connection) as asked, django_capture_on_commit_callbacks(execute=True) as callbacks:
        growth.tell(scope)

    assert (callbacks, asked.captured_queries, rung) == ([], [], [])


def test_a_write_costs_a_few_reads_and_none_once_it_rang(rung: Any) -> None:
    few, enough = make_decaying(fill=1), make_decaying(fill=20)

    assert 0 < reads_on_growth(few) <= 4
    assert 0 < reads_on_growth(enough) <= 4
    assert [args[0] for args in rung] == [enough.pk]
    assert reads_on_growth(enough) == 0


def reads_on_growth(scope: Scope) -> int:
    with CaptureQueriesContext(connection) as asked:
        consolidation.on_growth(scope_id=scope.pk)
    return len(asked.captured_queries)


def test_a_broker_that_is_away_fails_no_write(
    monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    def refuse(*_told: Any, **_how: Any) -> None:
        raise OSError("no broker")

    monkeypatch.setattr(consolidation.current_app, "send_task", refuse)
    scope = make_decaying(fill=20)

    with django_capture_on_commit_callbacks(execute=True):
        memory = written(scope)

    assert Memory.objects.filter(pk=memory.pk).exists()
