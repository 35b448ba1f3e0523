"""A restore that is killed, in a process of its own."""

import signal
import subprocess
import sys
from urllib.parse import quote

import pytest

from tests.acceptance.instance import Instance, wait_until
from tests.acceptance.test_backup import FRESH, filled, fresh, restore, server, taken, there
from zeromemory import database
from zeromemory.lib.folders import PROJECT

__all__ = ["filled", "fresh", "taken"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow, pytest.mark.behaviour("F10")]


def url(name: str) -> str:
    given = database.parameters()
    host, port = quote(str(given["host"]), safe="/"), given.get("port", 5432)
    password = f":{quote(given['password'], safe='')}" if given.get("password") else ""
    return f"postgresql://{given['user']}{password}@:{port}/{name}?host={host}"


def test_a_restore_that_is_killed_leaves_the_database_as_it_was(taken, folder, fresh):
    restore(taken)
    before = there()
    target = Instance(folder / "data", DATABASE_URL=url(FRESH), ZEROMEMORY_EMBEDDER="none")
    restoring = subprocess.Popen(
        [sys.executable, "manage.py", "restore", "--force", str(taken)],
        cwd=PROJECT, env=target.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    with server() as session:
        at_work = "SELECT count(*) FROM pg_stat_activity WHERE datname = %s AND application_name = 'psql'"

        def is_at_work() -> bool:
            return session.execute(at_work, [FRESH]).fetchone() == (1,)

        wait_until(is_at_work, 60, "it restores")
        restoring.send_signal(signal.SIGKILL)
        restoring.wait()
        wait_until(lambda: not is_at_work(), 60, "its transaction is taken back")
    assert there() == before
    assert target.run("restore", "--force", str(taken)).returncode == 0
    assert there() == before
