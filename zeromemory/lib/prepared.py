"""Statements that the database plans once for a connection, for the few that are long and asked all the time."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from django.db import connection
from django.db.backends.utils import CursorWrapper


class PreparingCursor(psycopg.Cursor[Any]):
    def execute(self, query: Any, params: Any = None, **options: Any) -> "PreparingCursor":
        super().execute(query, params, **{"prepare": True} | options)
        return self


@contextmanager
def prepared_cursor() -> Iterator[CursorWrapper]:
    """A cursor of the default connection that prepares what it executes and binds parameters in the server, where
    Django's own would write them into the text. Every parameter needs a type that the server can tell."""
    connection.ensure_connection()
    with PreparingCursor(connection.connection) as raw:
        wrap = connection.make_debug_cursor if connection.queries_logged else connection.make_cursor
        yield wrap(raw)  # type: ignore[arg-type]  # the stubs name the wrapper where the driver's cursor is wanted
