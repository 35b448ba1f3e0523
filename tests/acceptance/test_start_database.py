"""``DATABASE_URL``: which databases are accepted, and the sentence for each that is not."""

import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

from tests.acceptance.instance import Instance, free_port, open_folder, wait_until
from zeromemory import embedded
from zeromemory.lib import server_user

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("F55")]
PASSWORD = """p$w#"o'r d@/:?&="""


@dataclass(frozen=True)
class Server:
    """A PostgreSQL that asks for a password, on a port of this machine."""

    port: int

    def url(self, *, user: str = "postgres", password: str = PASSWORD, name: str = "memory") -> str:
        return f"postgresql://{user}:{password}@127.0.0.1:{self.port}/{name}"

    def run(self, statement: str, name: str = "postgres") -> None:
        with psycopg.connect(self.url(password=quote(PASSWORD, safe=""), name=name), autocommit=True) as session:
            session.execute(statement)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with open_folder() as folder:
        identity = server_user.run_as(folder / "cluster")
        server_user.give(folder, identity)
        secret = folder / "password"
        secret.write_text(PASSWORD)
        initdb = [embedded.binary("initdb"), "-D", folder / "cluster", "-U", "postgres", "-A", "scram-sha-256"]
        subprocess.run([*initdb, f"--pwfile={secret}", "-EUTF8"], check=True, capture_output=True, cwd="/", **identity)
        port = free_port()
        options = ["-p", str(port), "-h127.0.0.1", "-k", "", "-cfsync=off"]
        process = subprocess.Popen(
            [embedded.binary("postgres"), "-D", folder / "cluster", *options],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/", **identity,
        )  # fmt: skip
        found = Server(port)
        wait_until(lambda: _answers(found), 60, "the server answers")
        found.run("CREATE DATABASE memory")
        yield found
        process.terminate()
        process.wait(30)


def _answers(server: Server) -> bool:
    try:
        server.run("SELECT 1")
    except psycopg.OperationalError:
        return False
    return True


def refusal(folder: Path, url: str) -> str:
    """What ``up`` says before it gives up; one sentence without a traceback and without the password."""
    done = Instance(folder, DATABASE_URL=url).run("up")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert PASSWORD not in done.stdout + done.stderr
    return done.stderr


def test_a_password_of_odd_characters_works_as_it_is(folder, server):
    instance = Instance(folder / "data", DATABASE_URL=server.url(), ZEROMEMORY_EMBEDDER="none")
    instance.start()
    assert instance.interrupt() == 0
    assert "127.0.0.1" in instance.output
    assert not (folder / "data" / "postgres").exists()


def test_a_percent_encoded_password_works_too(folder, server):
    instance = Instance(folder / "data", DATABASE_URL=server.url(password=quote(PASSWORD, safe="")))
    assert instance.run("migrate", "--check").returncode in (0, 1)
    assert "database" in (report := instance.run("doctor").stdout)
    assert "PROBLEM  database" not in report


def test_a_wrong_password_is_named_and_not_shown(folder, server):
    said = refusal(folder, server.url(password="wrong$secret"))
    assert "refused the password of user 'postgres'" in said
    assert "wrong$secret" not in said


def test_a_missing_password_is_named(folder, server):
    assert "refused the password" in refusal(folder, f"postgresql://postgres@127.0.0.1:{server.port}/memory")


def test_a_missing_database_is_named_with_the_command_that_makes_it(folder, server):
    assert "createdb -O postgres absent" in refusal(folder, server.url(name="absent"))


def test_an_unreachable_server_is_named_with_its_port(folder):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        said = refusal(folder, f"postgresql://somebody:secret@127.0.0.1:{port}/memory")
    assert f"127.0.0.1, port {port}" in said
    assert "secret" not in said


def test_a_server_without_pgvector_is_refused_with_the_way_to_get_it(folder, server):
    server.run("CREATE DATABASE without_vector")
    server.run("ALTER DATABASE without_vector SET extension_control_path = '/nowhere'")
    said = refusal(folder, server.url(name="without_vector"))
    assert "no pgvector extension" in said
    assert "-pgvector" in said


def test_a_server_whose_pgvector_is_too_old_is_refused(folder, server):
    extension = folder / "extension"
    extension.mkdir()
    (extension / "vector.control").write_text("default_version = '0.7.4'\n")
    server.run("CREATE DATABASE old_vector")
    server.run(f"ALTER DATABASE old_vector SET extension_control_path = '{folder}'")
    assert "pgvector 0.7.4; Zero Memory needs 0.8 or newer" in refusal(folder / "data", server.url(name="old_vector"))


def test_a_user_who_may_not_create_tables_is_told_whom_to_ask(folder, server):
    server.run("CREATE ROLE guest LOGIN PASSWORD 'guest'")
    server.run("CREATE DATABASE not_mine")
    said = refusal(folder, server.url(user="guest", password="guest", name="not_mine"))
    assert "may not set up this database" in said
