"""What ``doctor`` reads in the database: quiet on a fresh instance, and how to mend what is wrong."""

import os
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from memories.models import Memory, Token
from reflections import hygiene
from reflections.models import Run
from tests.factories import make_memory, make_token
from tests.reflections.factories import person
from zeromemory import diagnosis, diagnosis_of_rows

pytestmark = pytest.mark.django_db


def found(name):
    return next(finding for finding in diagnosis_of_rows.findings() if finding.name == name)


def test_nothing_is_wrong_with_a_fresh_instance(owner, scope):
    make_token(owner, [scope])
    make_memory(scope=scope)
    assert [finding for finding in diagnosis_of_rows.findings() if not finding.ok] == []


def test_a_role_without_rights_is_told_what_to_run(owner):
    with connection.cursor() as cursor:
        cursor.execute("CREATE ROLE guest")
        cursor.execute("SET ROLE guest")
        refused = diagnosis_of_rows.rights()
        cursor.execute("RESET ROLE")
    assert not refused.ok
    assert 'GRANT ALL ON ALL TABLES IN SCHEMA public TO "guest";' in refused.detail


def test_clocks_that_differ_are_a_problem(monkeypatch):
    monkeypatch.setattr(diagnosis_of_rows, "CLOCKS_APART", timedelta(microseconds=-1))
    assert "NTP" in diagnosis_of_rows.clock().detail


def test_a_token_that_never_called_is_named_by_its_beginning_and_no_fault(owner, scope):
    make_token(owner, [scope], hint="zm_silent")
    make_token(owner, [scope], hint="zm_busy", last_used_at=timezone.now())
    make_token(owner, [scope], hint="zm_ended", revoked_at=timezone.now())
    assert found("tokens").detail == "2 in force"
    Token.objects.update(created_at=timezone.now() - timedelta(days=2))
    told = found("tokens")
    assert told.ok
    assert "1 of 2 never called: zm_silent…" in told.detail
    assert "Tokens page" in told.detail


def test_an_agent_between_two_renewals_is_counted_like_any_other(owner, scope):
    past, later = timezone.now() - timedelta(hours=1), timezone.now() + timedelta(days=20)
    make_token(owner, [scope], renewable_until=later)
    make_token(owner, [scope])
    make_token(owner, [scope], renewable_until=later, revoked_at=past)
    Token.objects.update(created_at=past - timedelta(hours=1), expires_at=past)
    assert found("tokens").detail == "1 in force"
    assert [token.is_in_force for token in Token.objects.in_force(timezone.now())] == [True]


def test_a_queue_that_does_not_move_is_a_problem(scope, settings):
    make_memory(scope=scope)
    Memory.objects.update(updated_at=timezone.now() - timedelta(hours=1))
    told = found("queue")
    assert not told.ok
    assert "make up" in told.detail
    settings.EMBEDDER = "none"
    assert found("queue").ok


def test_a_run_that_no_worker_takes_up_is_a_problem(owner, scope):
    hygiene.start_cycle(actor=person(owner), scopes=[scope], ring=False)
    assert found("hygiene").ok
    Run.objects.update(requested_at=timezone.now() - timedelta(hours=1))
    assert "1 run waits for a worker" in found("hygiene").detail


def test_a_cycle_that_is_overdue_names_its_scopes(owner, scope, settings):
    settings.HYGIENE_HOURS = 24
    assert found("hygiene").ok
    type(scope).objects.update(created_at=timezone.now() - timedelta(days=3))
    assert "in home" in found("hygiene").detail
    hygiene.start_cycle(actor=person(owner), scopes=[scope], ring=False)
    assert found("hygiene").ok


def test_messages_that_nobody_takes_are_a_problem(settings, tmp_path):
    settings.BROKER_FOLDER = tmp_path
    (tmp_path / "queue").mkdir()
    message = tmp_path / "queue" / "one.msg"
    message.touch()
    assert diagnosis.broker().ok
    hour_ago = timezone.now().timestamp() - 3600
    os.utime(message, (hour_ago, hour_ago))
    assert "1 message waits" in diagnosis.broker().detail
