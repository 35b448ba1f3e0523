"""A real worker in the middle of a cycle: it is killed, or asked to end."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import psutil
import psycopg
import pytest

from tests.acceptance.instance import Instance, open_folder, wait_until
from zeromemory import embedded

pytestmark = pytest.mark.slow
CYCLES = "SELECT state, archived FROM retention_cycle ORDER BY started_at"


@pytest.fixture(scope="module")
def running() -> Iterator[Instance]:
    with open_folder() as folder:
        instance = Instance(folder / "data")
        try:
            instance.start("demo")
            yield instance
        finally:
            instance.remove()


@pytest.fixture(scope="module")
def api(running: Instance) -> Iterator[httpx.Client]:
    said = running.run("create_token", "cycle", "--scope", "harbour").stdout
    secret = next(word for word in said.split() if word.startswith("zm_"))
    headers = {"Authorization": f"Bearer {secret}"}
    with httpx.Client(base_url=f"{running.address}/api/v1", headers=headers, trust_env=False, timeout=60) as client:
        yield client


@contextmanager
def connected(running: Instance) -> Iterator[psycopg.Connection]:
    with psycopg.connect(embedded.url(running.folder / "postgres"), autocommit=True) as session:
        yield session


def one(session: psycopg.Connection, query: str) -> Any:
    found = session.execute(query).fetchone()
    assert found
    return found[0]


def forgotten_by_all(session: psycopg.Connection, count: int) -> list[str]:
    """So many memories of the scope, which decays from now on, were last used long ago; their ids."""
    session.execute("UPDATE memories_scope SET retention = 'decaying' WHERE slug = 'harbour'")
    session.execute("UPDATE memories SET accessed_at = now()")
    rows = session.execute(
        "UPDATE memories SET accessed_at = now() - interval '300 days' WHERE id IN ("
        "SELECT m.id FROM memories m JOIN memories_scope s ON s.id = m.scope_id WHERE s.slug = 'harbour' "
        "AND m.invalidated_at IS NULL AND NOT m.pinned AND m.kind = 'task' LIMIT %s) RETURNING id",
        [count],
    ).fetchall()
    if len(rows) < count:
        raise AssertionError(f"the demo has too few tasks: {len(rows)}")
    return [str(row[0]) for row in rows]


@contextmanager
def in_a_cycle(running: Instance, api: httpx.Client, looking: psycopg.Connection) -> Iterator[psutil.Process]:
    """The worker, held up in the middle of a write of a cycle until this ends."""
    worker = running.child("worker")
    assert worker
    with connected(running) as session, session.transaction():
        session.execute("LOCK TABLE audit_entry IN ACCESS EXCLUSIVE MODE")
        assert api.post("/scopes/harbour/consolidate").json()["started"] is True
        held_up = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'audit_entry'::regclass"
        wait_until(lambda: one(looking, held_up), 60, "the cycle is in the middle of a write")
        yield worker


def archived(session: psycopg.Connection, ids: list[str]) -> int:
    return int(
        session.execute(
            "SELECT count(*) FROM memories WHERE archived_at IS NOT NULL AND id = ANY (%s::uuid[])", [ids]
        ).fetchone()[0]  # type: ignore[index]  # a count has a row
    )


def test_a_cycle_whose_worker_is_killed_is_gone_on_with_and_nothing_is_done_twice(
    running: Instance, api: httpx.Client
) -> None:
    with connected(running) as looking:
        old = forgotten_by_all(looking, 3)
        with in_a_cycle(running, api, looking) as worker:
            worker.kill()
            worker.wait(10)
        assert archived(looking, old) == 0

        def is_done() -> bool:
            done = archived(looking, old) == len(old)
            if not done and running.child("worker"):
                api.post("/scopes/harbour/consolidate")
                time.sleep(1)
            return done

        wait_until(is_done, 120, "the next cycle has let them go")
        wait_until(lambda: not one(looking, "SELECT count(*) FROM retention_cycle WHERE state = 'running'"), 60, "ends")
        cycles = looking.execute(CYCLES).fetchall()
        assert ("failed", 0) in cycles
        assert sum(count for _, count in cycles) == len(old)
        entries = "SELECT count(*) FROM audit_entry WHERE action = 'archive'"
        assert one(looking, entries) == len(old)
        assert one(looking, "SELECT count(*) FROM reflection_candidate WHERE purpose = 'summary'") <= 1


@pytest.mark.behaviour("G33")
def test_a_worker_that_is_to_end_ends_its_cycle_first_and_what_comes_meanwhile_is_dropped(
    running: Instance, api: httpx.Client
) -> None:
    with connected(running) as looking:
        wait_until(lambda: running.child("worker"), 60, "there is a worker")
        old = forgotten_by_all(looking, 2)
        with in_a_cycle(running, api, looking) as worker:
            began = one(looking, "SELECT count(*) FROM retention_cycle")
            answers = [api.post("/scopes/harbour/consolidate").json() for _ in range(10)]
            worker.terminate()
            time.sleep(2)
            assert worker.is_running()
            assert worker.status() != psutil.STATUS_ZOMBIE

        worker.wait(60)
        assert {answer["started"] for answer in answers} == {False}
        assert archived(looking, old) == len(old)
        cycles = looking.execute(CYCLES).fetchall()
        assert (len(cycles), cycles[-1]) == (began, ("done", len(old)))
