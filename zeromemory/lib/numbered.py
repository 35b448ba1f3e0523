"""For long statements that are asked all the time: parameters by number, bound in the server."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import psycopg
from django.db import connection
from django.db.backends.utils import CursorWrapper

_NAMED = re.compile(r"%\((\w+)\)s")


class NumberedCursor(psycopg.RawCursor[Any]):
    """Takes ``%(name)s`` for a parameter, as other cursors do. The driver would look for them in a long statement anew
    each time it is executed."""

    def execute(self, query: Any, params: Any = None, **options: Any) -> "NumberedCursor":
        given: Mapping[str, Any] = params or {}
        statement, names = _numbered(query)
        super().execute(statement, [given[name] for name in names], **options)
        return self


@lru_cache(maxsize=32)
def _numbered(statement: str) -> tuple[str, tuple[str, ...]]:
    """``$1``, ``$2`` … for the names, and which name each number is."""
    names = tuple(dict.fromkeys(_NAMED.findall(statement)))
    numbers = {name: f"${number}" for number, name in enumerate(names, 1)}
    return _NAMED.sub(lambda match: numbers[match[1]], statement), names


@contextmanager
def numbered_cursor() -> Iterator[CursorWrapper]:
    """A cursor of the default connection that binds parameters in the server, where Django's own would write them into
    the text. Every parameter needs a type that the server can tell. It prepares nothing: planned without the values,
    the search would read whole tables."""
    connection.ensure_connection()
    with NumberedCursor(connection.connection) as raw:
        wrap = connection.make_debug_cursor if connection.queries_logged else connection.make_cursor
        yield wrap(raw)  # type: ignore[arg-type]  # the stubs name the wrapper where the driver's cursor is wanted
