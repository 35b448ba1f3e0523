"""Open loops, tasks and questions, are closed by hand and opened again."""

import pytest

from memories.access import actor_for_token, actor_for_user
from memories.errors import Conflict, Forbidden, NotFound, ValidationFailed
from memories.models import AuditEntry, Memory
from memories.services import LinkSpec, close, remember, restore
from tests.factories import make_member, make_memory, make_token, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def actor(owner, scope):
    return actor_for_user(owner)


@pytest.fixture
def task(scope):
    return make_memory("Rotate the keys of the staging cluster.", scope=scope, kind="task")


def fresh(memory):
    return Memory.objects.get(pk=memory.pk)


@pytest.mark.parametrize("kind", ["task", "open-question"])
def test_closing_retires_without_a_successor_and_says_what_showed_it(actor, scope, kind):
    loop = make_memory("Which port does the relay use?", scope=scope, kind=kind)
    closed = close(actor=actor, memory=loop, reason="answered", evidence="port 9090, said in the runbook")
    assert (closed.state, closed.superseded_by) == ("invalidated", None)
    assert closed.invalidation_reason == "answered (shown by: port 9090, said in the runbook)"
    entry = AuditEntry.objects.get(action="close")
    assert (entry.user, entry.object_id, entry.reason) == (actor.user, str(loop.pk), closed.invalidation_reason)


@pytest.mark.behaviour("Z68")
def test_a_gotcha_is_not_an_open_loop(actor, scope):
    gotcha = make_memory("The relay drops packets over 9 kB.", scope=scope, kind="gotcha")
    with pytest.raises(ValidationFailed, match="not an open loop"):
        close(actor=actor, memory=gotcha)
    assert fresh(gotcha).state == "live"


@pytest.mark.behaviour("Z68")
def test_closing_twice_is_a_conflict(actor, task):
    close(actor=actor, memory=task)
    with pytest.raises(Conflict, match="closed already"):
        close(actor=actor, memory=task)
    assert AuditEntry.objects.filter(action="close").count() == 1


@pytest.mark.behaviour("Z68")
def test_restoring_opens_a_loop_again(actor, task):
    close(actor=actor, memory=task, reason="done")
    restore(actor=actor, memory=task)
    assert (fresh(task).state, fresh(task).invalidation_reason) == ("live", "")
    assert close(actor=actor, memory=task).state == "invalidated"


@pytest.mark.behaviour("Z69")
def test_an_outcome_that_supersedes_the_task_closes_it(actor, scope, task):
    outcome = remember(
        actor=actor, scope=scope, content="The keys were rotated.", links=[LinkSpec("supersedes", task.pk)]
    ).memory
    assert (fresh(task).state, fresh(task).superseded_by) == ("superseded", outcome)
    with pytest.raises(Conflict, match="closed already"):
        close(actor=actor, memory=task)


def test_who_may_not_write_closes_nothing(scope, task):
    reader, stranger = make_member(scope), make_user()
    token, _ = make_token(reader, [scope])
    for who, error in (
        (actor_for_user(reader), Forbidden),
        (actor_for_user(stranger), NotFound),
        (actor_for_token(token), Forbidden),
    ):
        with pytest.raises(error):
            close(actor=who, memory=task)
    assert fresh(task).state == "live"


def test_what_is_said_of_it_has_a_length(actor, task):
    for said in ({"reason": "x" * 2001}, {"evidence": "x" * 2001}, {"reason": "x" * 1500, "evidence": "x" * 1500}):
        with pytest.raises(ValidationFailed, match="at most 2000 characters"):
            close(actor=actor, memory=task, **said)
    assert fresh(task).state == "live"
