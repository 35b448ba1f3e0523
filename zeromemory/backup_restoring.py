"""Restoring a backup: in one transaction, so that a database is whole before and after, whenever it is interrupted."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Final

import psycopg
from django.conf import settings
from django.db import connection
from django.db.backends.postgresql.base import DatabaseWrapper
from django.db.migrations.loader import MigrationLoader
from psycopg import sql

import zeromemory
from zeromemory import database, embedded
from zeromemory.backup import Say, address, counts, environment, first_problem, inspected, one_value, tables
from zeromemory.backup_file import BackupError, Manifest, unpack
from zeromemory.lib.counting import counted
from zeromemory.sql import load

FIRST_WITH_TRANSACTION_TIMEOUT: Final = 17  # the version of the server
TOLD_OF: Final = {"memories_user": "people", "memories_scope": "scopes", "memories": "memories"}
_BEGIN: Final = "BEGIN;\nSET LOCAL lock_timeout = '10s';\n"


def restore(path: Path, *, force: bool = False, say: Say = lambda _: None) -> Manifest:
    """Fill the database from *path*. Raises BackupError, and then the database is as it was.

    An empty database is filled; with *force* another one loses all it holds first, in the same transaction.
    """
    with tempfile.TemporaryDirectory(dir=settings.DATA_FOLDER, prefix="restore.") as folder:
        say("Checking the file")
        manifest, dump = unpack(path, Path(folder))
        _refuse_newer(manifest)
        facts = inspected()
        database.require(facts)
        _leave_database()
        _refuse_where_used(force=force)
        say(f"Restoring {counted(manifest.rows, 'row')} of {manifest.made_at}")
        _fill(manifest, dump, server=facts.version // 10000)
    _look_anew()
    if applied := database.migrate():
        say(f"The backup was older: {counted(applied, 'migration')} applied")
    return manifest


def _refuse_newer(manifest: Manifest) -> None:
    known = _known_migrations()
    if newer := [name for name in manifest.migrations if name not in known]:
        raise BackupError(
            f"This backup is of version {manifest.product}, newer than the {zeromemory.__version__} here (it has "
            f"{newer[0]}). Nothing was touched. Install that version or a later one, and restore again."
        )


def _known_migrations() -> set[str]:
    found: set[str] = set()
    for (app, name), migration in (MigrationLoader(None, ignore_no_migrations=True).disk_migrations or {}).items():
        found.add(f"{app}.{name}")
        found.update(f"{app}.{name}" for app, name in migration.replaces)
    return found


def _leave_database() -> None:
    """This process holds sessions of its own, which would stand in the way."""
    connection.close()
    if isinstance(connection, DatabaseWrapper):
        connection.close_pool()


def _refuse_where_used(*, force: bool) -> None:
    with psycopg.connect(**database.parameters(), autocommit=True) as session:
        if others := one_value(session, load("other_sessions")):
            raise BackupError(
                f"{others} other sessions use this database, and nothing was touched. End what uses it (make up, "
                "agents over mcp_stdio, other commands), and restore again."
            )
        if tables(session) and not force:
            raise BackupError(
                f"This database is not empty: it holds {_in_words(counts(session))}. Nothing was touched. Restore "
                "into an empty one (another ZEROMEMORY_DATA or DATABASE_URL), or lose all of this with --force."
            )


def _in_words(found: Mapping[str, int]) -> str:
    told = [f"{found[table]:,} {word}" for table, word in TOLD_OF.items() if table in found]
    return ", ".join(told) or f"{counted(len(found), 'table')} of something else"


# The transaction -----------------------------------------------------------------------------


def _fill(manifest: Manifest, dump: Path, *, server: int) -> None:
    with tempfile.TemporaryFile() as told, _psql(told) as psql:
        try:
            _say_all(psql, manifest, dump, server)
        except BrokenPipeError:
            psql.wait()  # it has met an error and ended; what it said is below
        if psql.returncode:
            told.seek(0)
            problem = first_problem(told.read().decode(errors="replace"))
            raise BackupError(
                f"The backup could not be restored: {problem}. The database is as it was: everything was one "
                "transaction, and it was taken back."
            )


@contextlib.contextmanager
def _psql(told: IO[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    command: list[str | Path] = [embedded.binary("psql"), "-X", "-q", "-v", "ON_ERROR_STOP=1", f"--dbname={address()}"]
    psql = subprocess.Popen(  # noqa: S603 - our own binary
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=told, env=environment()
    )
    try:
        yield psql
    finally:
        psql.kill()
        psql.wait()
        with contextlib.suppress(BrokenPipeError):
            psql.stdin.close()  # type: ignore[union-attr]  # it was asked for


def _say_all(psql: subprocess.Popen[bytes], manifest: Manifest, dump: Path, server: int) -> None:
    """Without the last word psql takes everything back, so that word comes when all before it is known to be whole."""
    said = psql.stdin
    assert said
    said.write((_BEGIN + load("make_room")).encode())
    _say_dump(said, dump, server)
    said.write(f"{_checks(manifest)}COMMIT;\n".encode())
    said.close()
    psql.wait()


def _say_dump(said: IO[bytes], dump: Path, server: int) -> None:
    command: list[str | Path] = [embedded.binary("pg_restore"), "--no-owner", "--no-privileges", "--file=-", dump]
    with tempfile.TemporaryFile() as told:
        restorer = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=told, env=environment())  # noqa: S603 - our own binary
        assert restorer.stdout
        try:
            said.write(_understood(restorer.stdout.read(4096), server))
            shutil.copyfileobj(restorer.stdout, said)
        finally:
            restorer.stdout.close()
            failed = restorer.wait()
        if failed:
            told.seek(0)
            problem = first_problem(told.read().decode(errors="replace"))
            raise BackupError(f"The backup cannot be read: {problem}. The database is as it was.")


def _understood(beginning: bytes, server: int) -> bytes:
    """Without a setting that older servers do not know."""
    if server >= FIRST_WITH_TRANSACTION_TIMEOUT:
        return beginning
    return beginning.replace(b"SET transaction_timeout = 0;\n", b"")


def _checks(manifest: Manifest) -> str:
    """Whether every table holds as many rows as the manifest says; the transaction fails otherwise."""
    return "".join(_check(name, number) for name, number in manifest.tables.items())


_CHECK: Final = "DO {};\n"
_COUNTS: Final = (
    "BEGIN IF (SELECT count(*) FROM {table}) <> {number} THEN "
    "RAISE EXCEPTION 'error: % does not hold the % rows of the backup', {name}, {number}; END IF; END"
)


def _check(name: str, number: int) -> str:
    block = sql.SQL(_COUNTS).format(
        table=sql.Identifier("public", name), number=sql.Literal(number), name=sql.Literal(name)
    )
    return sql.SQL(_CHECK).format(sql.Literal(block.as_string())).as_string()


def _look_anew() -> None:
    """The planner knows nothing of the new rows yet."""
    with psycopg.connect(**database.parameters(), autocommit=True) as session:
        session.execute("ANALYZE")
