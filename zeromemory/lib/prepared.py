"""For long statements that are asked all the time: planned once for each connection, parameters bound in the server."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Final
from weakref import WeakSet

import psycopg
from django.db import connection
from django.db.backends.utils import CursorWrapper
from psycopg.pq import TransactionStatus

_NAMED: Final = re.compile(r"%\((\w+)\)s")
_NEVER: Final = 1 << 62  # executions after which the driver would prepare what nobody asked it to
MOST_KEPT: Final = 8
_kept: set[str] = set()
_told: WeakSet[Any] = WeakSet()


class PreparedCursor(psycopg.RawCursor[Any]):
    """Takes ``%(name)s`` for a parameter, as other cursors do. The driver would look for them in a long statement anew
    each time it is executed."""

    def execute(self, query: Any, params: Any = None, **options: Any) -> "PreparedCursor":
        given: Mapping[str, Any] = params or {}
        statement, names = _numbered(query)
        super().execute(statement, [given[name] for name in names], prepare=_is_kept(statement), **options)
        return self


def _is_kept(statement: str) -> bool:
    """The first few: every connection keeps a plan of each, and a long statement has a large one."""
    if statement not in _kept and len(_kept) < MOST_KEPT:
        _kept.add(statement)
    return statement in _kept


@lru_cache(maxsize=32)
def _numbered(statement: str) -> tuple[str, tuple[str, ...]]:
    """``$1``, ``$2`` … for the names, and which name each number is."""
    names = tuple(dict.fromkeys(_NAMED.findall(statement)))
    numbers = {name: f"${number}" for number, name in enumerate(names, 1)}
    return _NAMED.sub(lambda match: numbers[match[1]], statement), names


@contextmanager
def prepared_cursor() -> Iterator[CursorWrapper]:
    """A cursor of the default connection whose statements are planned once, without the values of their parameters.

    Every parameter needs a type that the server can tell, and limits belong into the text: a plan that does not know
    them reads whole tables.
    """
    connection.ensure_connection()
    raw = connection.connection
    _tell(raw)
    with PreparedCursor(raw) as cursor:
        wrap = connection.make_debug_cursor if connection.queries_logged else connection.make_cursor
        yield wrap(cursor)  # type: ignore[arg-type]  # the stubs name the wrapper where the driver's cursor is wanted


def _tell(raw: Any) -> None:
    """Once for each connection. Left to itself the server plans anew each time as long as it deems the plan for known
    values cheaper. Inside a transaction that might be rolled back it is left to itself."""
    if raw in _told:
        return
    raw.prepare_threshold = _NEVER
    if raw.info.transaction_status == TransactionStatus.IDLE:
        raw.execute("SET plan_cache_mode = force_generic_plan")
        _told.add(raw)
