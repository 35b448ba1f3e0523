"""kill -9 of the worker in the middle of an import: nothing half done is there, and it is done once by itself."""

import signal
from collections.abc import Iterator

import psycopg
import pytest

from tests.acceptance.instance import Instance, open_folder, wait_until
from zeromemory import embedded

pytestmark = pytest.mark.slow
HAND_IN = """
import json
from memories.access import actor_for_user
from memories.models import Scope
from memories.services import transfers
scope = Scope.objects.get(slug="harbour")
lines = "".join(json.dumps({"content": f"Told {n}.", "external_id": f"t{n}"}) + "\\n" for n in range(400))
transfers.hand_in(actor=actor_for_user(scope.owner), scope=scope, format="jsonl", file_name="", pieces=[lines.encode()])
"""
CONFIRM = """
from memories.access import actor_for_user
from memories.models import Import
from memories.services import transfers
row = Import.objects.get()
transfers.confirm(actor=actor_for_user(row.user), row=row)
"""


@pytest.fixture
def running() -> Iterator[Instance]:
    with open_folder() as folder:
        instance = Instance(folder / "data")
        try:
            instance.start("demo")
            yield instance
        finally:
            instance.remove()


def one(session: psycopg.Connection, query: str) -> object:
    return session.execute(query).fetchone()[0]


def test_an_import_whose_worker_is_killed_is_done_once_and_leaves_no_half(running):
    with (
        psycopg.connect(embedded.url(running.folder / "postgres"), autocommit=True) as session,
        psycopg.connect(embedded.url(running.folder / "postgres"), autocommit=True) as looking,
    ):
        done = running.run("shell", "-c", HAND_IN)
        assert done.returncode == 0, done.stderr
        state, told = "SELECT state FROM memory_import", "SELECT count(*) FROM memories WHERE content LIKE 'Told %'"
        wait_until(lambda: one(looking, state) == "checked", 60, "it is checked")
        assert one(looking, told) == 0
        worker = running.child("worker")
        assert worker
        worker.send_signal(signal.SIGSTOP)
        assert running.run("shell", "-c", CONFIRM).returncode == 0
        with session.transaction():
            # The entry in the audit is the last that an import writes.
            session.execute("LOCK TABLE audit_entry IN ACCESS EXCLUSIVE MODE")
            worker.send_signal(signal.SIGCONT)
            held_up = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'audit_entry'::regclass"
            wait_until(lambda: one(looking, held_up), 60, "all but the entry is written")
            worker.kill()
            worker.wait(10)
        assert one(looking, told) == 0
        wait_until(lambda: one(looking, state) == "done", 120, "another worker has done it")
        assert one(looking, told) == 400
        assert one(looking, "SELECT count(*) FROM memory_import_member") == 400
        assert list((running.folder / "imports").iterdir()) == []
