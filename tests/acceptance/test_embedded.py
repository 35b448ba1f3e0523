"""The embedded PostgreSQL where it is asked of it: odd paths, several holders, killed holders, old files."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import psycopg
import pytest

from tests.acceptance.instance import wait_until
from zeromemory import embedded
from zeromemory.lib.folders import PROJECT

pytestmark = pytest.mark.slow
HOLDER = """
import sys, time
from pathlib import Path
from zeromemory import embedded
with embedded.running(Path(sys.argv[1])):
    print("holding", flush=True)
    sys.stdin.read()
"""


def postmaster(cluster: Path) -> int:
    return int((cluster / "postmaster.pid").read_text().split()[0])


def hold(cluster: Path) -> subprocess.Popen[str]:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, cluster],
        cwd=PROJECT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert holder.stdout
    assert holder.stdout.readline() == "holding\n"
    return holder


def let_go(holder: subprocess.Popen[str]) -> None:
    holder.communicate(timeout=60)
    assert holder.returncode == 0


@pytest.mark.parametrize("name", ["plain", """it's "odd" $HOME, `x`; ü""", "long" * 30])
def test_the_data_folder_may_be_called_anything(folder, name):
    cluster = folder / name / "postgres"
    with embedded.running(cluster, settings=embedded.FOR_TESTS) as url, psycopg.connect(url) as session:
        assert session.execute("SELECT current_database()").fetchone() == ("zeromemory",)
        server = postmaster(cluster)
    assert not psutil.pid_exists(server)


def test_text_is_utf_8_and_folds_case_beyond_ascii(folder):
    with embedded.running(folder / "postgres", settings=embedded.FOR_TESTS) as url, psycopg.connect(url) as session:
        assert session.execute("SHOW server_encoding").fetchone() == ("UTF8",)
        assert session.execute("SELECT lower('ÄÉΩ'), 'ä' ILIKE 'Ä'").fetchone() == ("äéω", True)
        quoted = session.execute("SELECT to_tsvector('simple', '“hello” — world')").fetchone()
    assert quoted == ("'hello':1 'world':2",)


def test_nothing_listens_on_the_network_and_strangers_find_a_closed_folder(folder):
    cluster = folder / "postgres"
    with embedded.running(cluster, settings=embedded.FOR_TESTS):
        assert psutil.Process(postmaster(cluster)).net_connections("inet") == []
        assert cluster.stat().st_mode & 0o777 == 0o700


def test_the_last_of_several_holders_stops_the_server(folder):
    cluster = folder / "postgres"
    first, second = hold(cluster), hold(cluster)
    server = postmaster(cluster)
    let_go(first)
    assert psutil.pid_exists(server)
    let_go(second)
    assert not psutil.pid_exists(server)


def test_a_server_that_outlived_its_killed_holder_is_joined_and_then_stopped(folder):
    cluster = folder / "postgres"
    killed = hold(cluster)
    server = postmaster(cluster)
    killed.kill()
    killed.communicate()
    assert psutil.pid_exists(server)
    with embedded.running(cluster, settings=embedded.FOR_TESTS):
        assert postmaster(cluster) == server
    assert not psutil.pid_exists(server)


def test_a_killed_server_recovers_what_was_committed(folder):
    cluster = folder / "postgres"
    holder = hold(cluster)
    with psycopg.connect(embedded.url(cluster), autocommit=True) as session:
        session.execute("CREATE TABLE kept AS SELECT 42 AS answer")
    server = psutil.Process(postmaster(cluster))
    children = server.children()
    os.kill(server.pid, signal.SIGKILL)
    psutil.wait_procs([server, *children], timeout=10)
    holder.kill()
    holder.communicate()
    with embedded.running(cluster) as url, psycopg.connect(url) as session:
        assert session.execute("SELECT answer FROM kept").fetchone() == (42,)


def test_a_pid_file_that_names_another_program_does_not_stop_the_start(folder):
    cluster = folder / "postgres"
    with embedded.running(cluster, settings=embedded.FOR_TESTS):
        left_behind = (cluster / "postmaster.pid").read_text().split("\n", 1)[1]
    (cluster / "postmaster.pid").write_text(f"{os.getpid()}\n{left_behind}")
    with embedded.running(cluster, settings=embedded.FOR_TESTS) as url:
        psycopg.connect(url).close()


def test_a_first_start_that_was_killed_half_way_starts_over(folder):
    half = folder / "postgres.new"
    half.mkdir()
    (half / "PG_VERSION").write_text("18\n")
    with embedded.running(folder / "postgres", settings=embedded.FOR_TESTS) as url:
        psycopg.connect(url).close()
    assert not half.exists()


def test_files_of_another_major_version_are_left_alone_with_a_sentence(folder):
    cluster = folder / "postgres"
    cluster.mkdir()
    (cluster / "PG_VERSION").write_text("17\n")
    with pytest.raises(embedded.EmbeddedPostgresError, match="was written by PostgreSQL 17"), embedded.running(cluster):
        pass
    assert [path.name for path in cluster.iterdir()] == ["PG_VERSION"]


def test_a_server_that_cannot_start_shows_its_own_last_words(folder):
    cluster = folder / "postgres"
    with embedded.running(cluster, settings=embedded.FOR_TESTS):
        pass
    (cluster / "postgresql.conf").write_text("shared_buffers = nonsense\n")
    with pytest.raises(embedded.EmbeddedPostgresError, match="shared_buffers"), embedded.running(cluster):
        pass
    wait_until(lambda: not (cluster / "postmaster.pid").exists(), 5, "nothing runs")
