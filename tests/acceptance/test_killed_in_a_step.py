"""kill -9 of the worker in the middle of a write of each step: the run goes on by itself, and what there was to do is
done once."""

import contextlib
import signal
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import psycopg
import pytest

from tests.acceptance.instance import Instance, open_folder, wait_until
from zeromemory import embedded

TRUE_AGAIN_SECONDS = 60
EVERYTHING = {
    "live": "SELECT count(*) FROM memories WHERE invalidated_at IS NULL",
    "retired": "SELECT count(*) FROM memories WHERE invalidated_at IS NOT NULL",
    "disputes": "SELECT count(*) FROM dispute",
    "swept": "SELECT count(*) FROM dispute WHERE resolution = 'swept'",
    "drafts": "SELECT count(*) FROM reflection_candidate",
    "members": "SELECT count(*) FROM reflection_member",
    "untyped": "SELECT count(*) FROM memories_memoryentity e JOIN memories_entity n ON n.id = e.entity_id "
    "WHERE n.type = 'thing' AND n.canonical LIKE 'quokka %'",
}


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
def api(running) -> Iterator[httpx.Client]:
    said = running.run("create_token", "cycle", "--scope", "harbour").stdout
    secret = next(word for word in said.split() if word.startswith("zm_"))
    headers = {"Authorization": f"Bearer {secret}"}
    with httpx.Client(base_url=f"{running.address}/api/v1", headers=headers, trust_env=False, timeout=60) as client:
        yield client


def written(api: httpx.Client, content: str, **more: Any) -> str:
    answer = api.post("/memories", json={"content": content, **more})
    assert answer.status_code == 201, answer.text
    identity: str = answer.json()["id"]
    return identity


# What each step finds to do, and what becomes of it ---------------------------------------------


def a_duplicate(api: httpx.Client) -> dict[str, int]:
    written(api, "The quokka gauge is read every six minutes.")
    written(api, "the quokka gauge is read every six minutes")
    return {"live": -1, "retired": 1, "disputes": 1}


def a_stale_dispute(api: httpx.Client) -> dict[str, int]:
    memory = written(api, "The wombat gauge is read by hand.")
    api.post(f"/memories/{memory}/challenge", json={"reason": "It has been automatic for years."})
    api.post(f"/memories/{memory}/forget")
    return {"swept": 1}


def a_cluster(api: httpx.Client) -> dict[str, int]:
    about = {"kind": "episode", "entities": [{"name": "numbat exporter", "type": "component"}]}
    for text in (
        "The numbat exporter ran out of memory on the first node; restarted by hand, twelve minutes to catch up.",
        "Again the numbat exporter was killed for lack of memory, on the second node this time; a restart helped.",
        "Third restart of the numbat exporter in a week: memory ran out while the monthly archive was being written.",
    ):
        written(api, text, **about)
    return {"drafts": 1, "members": 3}


def an_entity_of_two_types(api: httpx.Client) -> dict[str, int]:
    written(api, "The quokka feed is late on Sundays.", entities=[{"name": "quokka feed", "type": "component"}])
    written(api, "Its maintainers know.", entities=[{"name": "Quokka feed", "type": "thing"}])
    return {"untyped": -1}


PLANTED: dict[str, Callable[[httpx.Client], dict[str, int]]] = {
    "pair_scan": a_duplicate,
    "stale_sweep": a_stale_dispute,
    "reflection": a_cluster,
    "entity_merge": an_entity_of_two_types,
}


@contextlib.contextmanager
def connected(running: Instance) -> Iterator[psycopg.Connection]:
    with psycopg.connect(embedded.url(running.folder / "postgres"), autocommit=True) as session:
        yield session


def counts(session: psycopg.Connection) -> dict[str, int]:
    return {name: session.execute(query).fetchone()[0] for name, query in EVERYTHING.items()}


def state(api: httpx.Client, run: str) -> dict[str, Any]:
    answer = api.get(f"/hygiene/runs/{run}")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def run_of(api: httpx.Client, step: str) -> str:
    identity: str = api.post("/hygiene/runs", json={"steps": [step]}).json()["id"]
    return identity


@pytest.mark.slow
@pytest.mark.behaviour("F38")
@pytest.mark.parametrize("step", list(PLANTED))
def test_a_worker_killed_in_the_middle_of_a_write_leaves_a_run_that_is_done_once_within_a_minute(running, api, step):
    with connected(running) as session, connected(running) as looking:
        first = run_of(api, step)
        wait_until(lambda: state(api, first)["state"] == "done", 120, "nothing is left to do")
        expected = PLANTED[step](api)
        waiting = "SELECT count(*) FROM memories WHERE embedded_at IS NULL AND invalidated_at IS NULL"
        wait_until(lambda: not looking.execute(waiting).fetchone()[0], 60, "all is embedded")
        before = counts(looking)
        worker = running.child("worker")
        assert worker
        worker.send_signal(signal.SIGSTOP)
        run = run_of(api, step)
        with session.transaction():
            # Every write of a step ends with an entry in the audit, in the same transaction.
            session.execute("LOCK TABLE audit_entry IN ACCESS EXCLUSIVE MODE")
            worker.send_signal(signal.SIGCONT)
            held_up = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'audit_entry'::regclass"
            wait_until(lambda: looking.execute(held_up).fetchone()[0], 60, f"{step} is in the middle of a write")
            worker.kill()
            worker.wait(10)
        wait_until(lambda: state(api, run)["state"] == "done", TRUE_AGAIN_SECONDS, f"{step} is done by another worker")
        assert state(api, run)["attempts"] == 2
        after = counts(looking)
        changed = {name: after[name] - before[name] for name in before if after[name] != before[name]}
        assert changed == expected
