"""A worker in a process of its own that is killed in the middle of a step with a model, and another that goes on."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from memories.models import AuditEntry, Memory, Scope
from reflections import hygiene
from reflections.models import Candidate, CandidateMember, Dispute, Run
from reflections.services.runs import requeue_abandoned
from tests.addresses import database_url
from tests.llm.server import ModelServer, answer
from tests.reflections.distilling import distillate
from tests.reflections.stepping import near
from tests.reflections.test_steps_reexamination import given
from zeromemory.lib.folders import PROJECT

SECONDS = 60
WORK = "import sys, django; django.setup(); from reflections import hygiene; hygiene.work_on(sys.argv[1])"
type Answer = dict[str, Any]


# What there is to do, what the model says of it, and what comes of it ---------------------------


def a_cluster(scope: Scope) -> tuple[Answer, dict[str, int]]:
    for number in range(3):
        near(scope, f"Restart {number} of the exporter.", 0.9, axis=number + 1, kind="episode", author=scope.owner,
             entities=["exporter"], age_days=number)  # fmt: skip
    return distillate(), {"drafts": 1, "members": 3}


def two_alike(scope: Scope) -> tuple[Answer, dict[str, int]]:
    near(scope, "The export runs at night.", age_days=2)
    near(scope, "At night the export is run.", 0.9, age_days=1)
    return {"relation": "duplicate", "confidence": 0.95, "rationale": "The same."}, {"retired": 1, "disputes": 1}


def a_settled_task(scope: Scope) -> tuple[Answer, dict[str, int]]:
    near(scope, "Rotate the keys.", kind="task", age_days=5)
    outcome = near(scope, "The keys were rotated.", 0.8, kind="episode", age_days=1)
    said = {"closes": True, "evidence": str(outcome.pk), "confidence": 0.9, "rationale": "It says so."}
    return said, {"retired": 1, "closed": 1}


def a_misfiled_note(scope: Scope) -> tuple[Answer, dict[str, int]]:
    near(scope, "Never deploy on a Friday.", kind="fact")
    return {"kind": "convention", "confidence": 0.9, "rationale": "How things are done."}, {"disputes": 1}


def an_old_contradiction(scope: Scope) -> tuple[Answer, dict[str, int]]:
    given(near(scope, "The export runs on Monday.", age_days=200))
    near(scope, "The export runs on Friday.", 0.9, age_days=300)
    return {"relation": "contradiction", "confidence": 0.9, "rationale": "Two days."}, {"disputes": 1}


PLANTED: dict[str, Callable[[Scope], tuple[Answer, dict[str, int]]]] = {
    "reflection": a_cluster,
    "pair_scan": two_alike,
    "loop_closure": a_settled_task,
    "kind_audit": a_misfiled_note,
    "reexamination": an_old_contradiction,
}


def everything() -> dict[str, int]:
    counted = {
        "retired": Memory.objects.filter(invalidated_at__isnull=False).count(),
        "disputes": Dispute.objects.count(),
        "drafts": Candidate.objects.count(),
        "members": CandidateMember.objects.count(),
        "closed": AuditEntry.objects.filter(action="close").count(),
    }
    return {name: count for name, count in counted.items() if count}


# Killing ----------------------------------------------------------------------------------------


def killed_while_it_asks(run: Run, server: ModelServer, said: Answer) -> None:
    server.will(replace(answer(said), wait=SECONDS))
    with a_worker(run, server):
        until(lambda: server.requests, "the model is asked")


def killed_while_it_writes(run: Run, server: ModelServer, said: Answer) -> None:
    server.will_answer(said)
    with transaction.atomic(), connection.cursor() as cursor:
        # Every write of a step ends with an entry in the audit, in the same transaction.
        cursor.execute("LOCK TABLE audit_entry IN ACCESS EXCLUSIVE MODE")
        with a_worker(run, server):
            until(lambda: waits_for_the_audit(cursor), "a write is in the middle")


MOMENTS = {"asking": killed_while_it_asks, "writing": killed_while_it_writes}


@contextmanager
def a_worker(run: Run, server: ModelServer) -> Iterator[None]:
    """Killed at the end."""
    environment = os.environ | {
        "DATABASE_URL": database_url(),
        "DJANGO_SETTINGS_MODULE": "zeromemory.settings",
        "ZEROMEMORY_MODEL": "openai:scripted-model",
        "ZEROMEMORY_MODEL_BASE_URL": server.base_url("openai"),
        "ZEROMEMORY_MODEL_KEY": "key-of-the-tests",
    }
    worker = subprocess.Popen([sys.executable, "-c", WORK, str(run.pk)], cwd=PROJECT, env=environment)
    try:
        yield
    finally:
        worker.kill()
        worker.wait(10)


def until(done: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + SECONDS
    while not done():
        assert time.monotonic() < deadline, f"after {SECONDS} s still not: {what}"
        time.sleep(0.05)


def waits_for_the_audit(cursor: Any) -> bool:
    cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'audit_entry'::regclass")
    return bool(cursor.fetchone()[0])


def gone_on_with(run: Run) -> Run:
    """By another worker, once the silence of the first is noticed."""
    Run.objects.filter(pk=run.pk).update(heartbeat_at=timezone.now() - timedelta(minutes=1))
    assert requeue_abandoned() == 1
    hygiene.work_on(run.pk)
    return Run.objects.get(pk=run.pk)
