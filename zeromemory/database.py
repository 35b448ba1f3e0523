"""Is this a database Zero Memory can live in? Each refusal is one sentence that says what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
from django.core.management import call_command
from django.db import connection, connections
from django.db.migrations.executor import MigrationExecutor
from django.db.utils import Error as DatabaseError

OLDEST_POSTGRES = 16
OLDEST_PGVECTOR = (0, 8)
INSUFFICIENT_PRIVILEGE = "42501"
MIGRATION_LOCK = 5_402_713_009  # any number, the same for every instance
HOW_TO_GET_PGVECTOR = (
    "Install it on the database server (Debian and Ubuntu: the package postgresql-<version>-pgvector; "
    "containers: the image pgvector/pgvector; managed services list it among their extensions), "
    "or unset DATABASE_URL to use the embedded PostgreSQL."
)
_PASSWORD_IN_ADDRESS = re.compile(r"(://[^\s:@/]*:).*@")
_PASSWORD_PARAMETER = re.compile(r"(password\s*=\s*)('(?:[^'\\]|\\.)*'?|\S+)", re.IGNORECASE)


class UnusableDatabaseError(RuntimeError):
    """The database cannot be used; the message says why and what to do, without the password."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What the server says about itself. *vector* is None where the extension cannot be had."""

    version: int  # as libpq counts: 180006 is 18.6
    vector: str | None
    installed_vector: str | None

    @property
    def readable_version(self) -> str:
        return f"{self.version // 10000}.{self.version % 10000}"


def inspect() -> Facts:
    """Ask the configured database for its versions. Raises UnusableDatabaseError when it does not answer."""
    try:
        with psycopg.connect(**parameters()) as session:
            row = session.execute(
                "SELECT default_version, installed_version FROM pg_available_extensions WHERE name = 'vector'"
            ).fetchone()
            available, installed = row or (None, None)
            return Facts(session.info.server_version, available, installed)
    except psycopg.Error as error:
        raise UnusableDatabaseError(explain(error, connection.settings_dict)) from None
    except UnicodeError:  # from the look-up of a name that cannot be one
        raise UnusableDatabaseError(
            f"DATABASE_URL: {connection.settings_dict['HOST'][:80]!r} is not the name of a host."
        ) from None


def require(facts: Facts) -> None:
    """Raises UnusableDatabaseError when the server or its pgvector is missing or too old."""
    if facts.version // 10000 < OLDEST_POSTGRES:
        raise UnusableDatabaseError(
            f"DATABASE_URL: this is PostgreSQL {facts.readable_version}; Zero Memory needs {OLDEST_POSTGRES} or newer. "
            "Upgrade the server, or unset DATABASE_URL to use the embedded one."
        )
    if facts.vector is None:
        raise UnusableDatabaseError(f"DATABASE_URL: this server has no pgvector extension. {HOW_TO_GET_PGVECTOR}")
    if _numbers(facts.vector) < OLDEST_PGVECTOR:
        raise UnusableDatabaseError(
            f"DATABASE_URL: this server has pgvector {facts.vector}; Zero Memory needs 0.8 or newer. "
            f"{HOW_TO_GET_PGVECTOR}"
        )
    if facts.installed_vector and _numbers(facts.installed_vector) < OLDEST_PGVECTOR:
        raise UnusableDatabaseError(
            f"DATABASE_URL: this database still uses pgvector {facts.installed_vector}, and the server has "
            f"{facts.vector}. Run as its owner: ALTER EXTENSION vector UPDATE;"
        )


def migrate() -> int:
    """Apply what is missing, one instance at a time; return how many migrations that was."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(%s)", [MIGRATION_LOCK])
            try:
                missing = len(unapplied())
                if missing:
                    call_command("migrate", verbosity=0, interactive=False)
            finally:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [MIGRATION_LOCK])
    except DatabaseError as error:
        if INSUFFICIENT_PRIVILEGE in _sql_states(error):
            raise UnusableDatabaseError(
                f"DATABASE_URL: the user may not set up this database ({_first_line(error)}). Let the user own the "
                "database, or run once as an administrator: CREATE EXTENSION vector;"
            ) from error
        raise
    return missing


def unapplied() -> list[str]:
    executor = MigrationExecutor(connections["default"])
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return [f"{migration.app_label}.{migration.name}" for migration, _ in plan]


def explain(error: psycopg.Error, settings: dict[str, Any]) -> str:
    """One sentence for a refused connection; never the password."""
    host, port = settings["HOST"] or "the local socket", settings["PORT"] or 5432
    user, name = settings["USER"] or "(none given)", settings["NAME"]
    text = str(error)
    if "password authentication failed" in text or "no password supplied" in text:
        return (
            f"DATABASE_URL: {host} refused the password of user {user!r}. Check it; paste it as it is, "
            "or percent-encode it (% itself is %25)."
        )
    if "role" in text and "does not exist" in text:
        return f"DATABASE_URL: {host} knows no user {user!r}. Create it, or name another one."
    if "database" in text and "does not exist" in text:
        return f"DATABASE_URL: there is no database {name!r} on {host}. Create it: createdb -O {user} {name}"
    if isinstance(error, psycopg.OperationalError):
        return (
            f"DATABASE_URL: no PostgreSQL answers at {host}, port {port} ({_first_line(error)}). "
            "Check the address, that the server runs, and that it accepts connections from here."
        )
    return f"DATABASE_URL: {_first_line(error)}."


def _sql_states(error: BaseException | None) -> Iterator[str]:
    """The SQLSTATE of *error* and of all it came from: Django wraps the driver's errors, sometimes twice."""
    while error is not None:
        yield getattr(error, "sqlstate", None) or ""
        error = error.__cause__ or error.__context__


def parameters() -> dict[str, Any]:
    """What libpq needs to reach the configured database."""
    found = connection.get_connection_params()
    for name in ("pool", "cursor_factory", "context", "prepare_threshold", "isolation_level"):
        found.pop(name, None)
    return found


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return _masked((lines[-1] if lines else type(error).__name__).rstrip("."))


def _masked(line: str) -> str:
    """Without the password of an address or of a list of parameters. A short one may be part of any word."""
    line = _PASSWORD_IN_ADDRESS.sub(r"\1***@", line)
    return _PASSWORD_PARAMETER.sub(r"\1***", line)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdecimal())
