"""A database of the benchmarks' own, beside the owner's on the same server."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from django.contrib.contenttypes.models import ContentType
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.migrations.loader import MigrationLoader

from zeromemory import database

MARK: Final = "zeromemory benchmark "  # begins the comment on a database of ours; what it holds follows


class ForeignDatabaseError(RuntimeError):
    """There is a database of that name that no benchmark made."""


@contextmanager
def opened(name: str) -> Iterator[Any]:
    """While it lasts, the default connection of this thread leads to *name*, which is made where it is missing."""
    owners = connections[DEFAULT_DB_ALIAS]
    if _comment(owners, name) is None:
        _execute(owners, f"CREATE DATABASE {_quoted(owners, name)}")
        describe(owners, name, "")
    ours = connections[DEFAULT_DB_ALIAS] = _connection_to(name)
    ContentType.objects.clear_cache()  # kept by alias
    try:
        database.migrate()
        yield ours
    finally:
        ours.close()
        connections[DEFAULT_DB_ALIAS] = owners
        ContentType.objects.clear_cache()


@contextmanager
def joined(name: str) -> Iterator[None]:
    """The same for another thread, while the database is open."""
    owners = connections[DEFAULT_DB_ALIAS]
    ours = connections[DEFAULT_DB_ALIAS] = _connection_to(name)
    try:
        yield
    finally:
        ours.close()
        connections[DEFAULT_DB_ALIAS] = owners


def contents(name: str) -> str:
    """What ``describe`` said the database holds; empty where it is missing or half made."""
    return (_comment(connections[DEFAULT_DB_ALIAS], name) or MARK).removeprefix(MARK)


def migrations() -> str:
    """The names of those that decide what a memory looks like in the database."""
    known = MigrationLoader(None).disk_migrations or {}
    return " ".join(sorted(name for app, name in known if app == "memories"))


def describe(connection: Any, name: str, holds: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"COMMENT ON DATABASE {_quoted(connection, name)} IS %s", [MARK + holds])


def drop(name: str) -> None:
    """Raises ForeignDatabaseError rather than drop what is not ours."""
    owners = connections[DEFAULT_DB_ALIAS]
    found = _comment(owners, name)
    if found is None:
        return
    if not found.startswith(MARK):
        raise ForeignDatabaseError(f"No benchmark made the database {name}. Rename it or drop it yourself.")
    _execute(owners, f"DROP DATABASE {_quoted(owners, name)} WITH (FORCE)")


def name_of(part: str) -> str:
    return f"{connections[DEFAULT_DB_ALIAS].settings_dict['NAME']}_bench_{part}"


def _comment(connection: Any, name: str) -> str | None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT coalesce(shobj_description(oid, 'pg_database'), '') FROM pg_database WHERE datname = %s", [name]
        )
        row = cursor.fetchone()
    return row[0] if row else None


def _execute(connection: Any, statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


def _quoted(connection: Any, name: str) -> str:
    return str(connection.ops.quote_name(name))


def _connection_to(name: str) -> Any:
    """Without the pool: pools are kept by alias, so this one would get connections to the owner's database."""
    given = connections[DEFAULT_DB_ALIAS].settings_dict
    options = {key: value for key, value in given["OPTIONS"].items() if key != "pool"}
    return type(connections[DEFAULT_DB_ALIAS])(given | {"NAME": name, "OPTIONS": options}, DEFAULT_DB_ALIAS)
