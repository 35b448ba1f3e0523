"""kill -9 of the worker in the middle of a step of the cycle: the run goes on by itself, and nothing is done twice."""

import contextlib
from collections.abc import Iterator

import httpx
import psycopg
import pytest

from tests.acceptance.instance import Instance, open_folder, wait_until
from zeromemory import embedded

# A table that the step needs and that holds it up while somebody else has it.
HELD_UP_BY = {
    "pair_scan": "reflection_watermark",
    "stale_sweep": "dispute",
    "reflection": "reflection_member",
    "entity_merge": "memories_entity",
}
TRUE_AGAIN_SECONDS = 60
COUNTS = (
    "SELECT (SELECT count(*) FROM memories), (SELECT count(*) FROM dispute), "
    "(SELECT count(*) FROM reflection_candidate), (SELECT count(*) FROM memories_entity), "
    "(SELECT count(*) FROM memories WHERE invalidated_at IS NOT NULL)"
)


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


@contextlib.contextmanager
def held(session: psycopg.Connection, table: str) -> Iterator[None]:
    with session.transaction():
        session.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
        yield


def state(api: httpx.Client, run: str) -> dict[str, object]:
    answer = api.get(f"/hygiene/runs/{run}")
    assert answer.status_code == 200, answer.text
    found: dict[str, object] = answer.json()
    return found


@pytest.mark.slow
@pytest.mark.behaviour("F38")
@pytest.mark.parametrize("step", list(HELD_UP_BY))
def test_a_run_whose_worker_is_killed_in_a_step_is_done_within_a_minute(running, api, step):
    with psycopg.connect(embedded.url(running.folder / "postgres"), autocommit=True) as session:
        assert done(api, step), "a cycle before, so that the next finds the same"
        before = session.execute(COUNTS).fetchone()
        with held(session, HELD_UP_BY[step]):
            run = api.post("/hygiene/runs", json={"steps": [step]}).json()["id"]
            waits = "SELECT count(*) FROM pg_locks WHERE NOT granted"
            with psycopg.connect(embedded.url(running.folder / "postgres"), autocommit=True) as looking:
                wait_until(lambda: looking.execute(waits).fetchone()[0], 60, f"{step} is held up")
            worker = running.child("worker")
            assert worker
            worker.kill()
            worker.wait(10)
        wait_until(lambda: state(api, run)["state"] == "done", TRUE_AGAIN_SECONDS, f"{step} is done by another worker")
        assert state(api, run)["attempts"] == 2
        assert session.execute(COUNTS).fetchone() == before


def done(api: httpx.Client, step: str) -> bool:
    run = api.post("/hygiene/runs", json={"steps": [step]}).json()["id"]
    wait_until(lambda: state(api, run)["state"] in ("done", "failed"), 120, f"{step} has ended")
    return state(api, run)["state"] == "done"
