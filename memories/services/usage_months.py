"""The tables of months that usage events fall into, made ahead of time."""

import logging
import time
from datetime import datetime
from typing import Any, Final

from django.db import OperationalError, connection, transaction

logger = logging.getLogger(__name__)

MONTHS_AHEAD: Final = 3
TRIES: Final = 5
PAUSE: Final = 0.1  # seconds between them
_LOCK_NOT_AVAILABLE: Final = "55P03"


def keep_usage_months(*, now: datetime) -> int:
    """Make the tables of this month and the next ones, as far as there are none; how many were made.

    Until then events go to the default table, and they move over when their month gets its own. It needs all tables of
    events for a moment and waits for none of them: whoever waits for a long reader keeps all writers waiting behind
    it. Where a few tries find no such moment, the next call makes up for it.
    """
    wanted: dict[str, Any] = {"now": now, "ahead": MONTHS_AHEAD}
    if not _first_of(_LACKING, wanted):
        return 0
    for attempt in range(TRIES):
        time.sleep(PAUSE if attempt else 0)
        made = _made(wanted)
        if made is not None:
            return made
    logger.warning("The tables of the coming months were not made: usage events are being read or written. Next time.")
    return 0


def _made(wanted: dict[str, Any]) -> int | None:
    """None where somebody holds one of the tables."""
    try:
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute(_LOCKS)
            return _first_of(_MONTHS, wanted)
    except OperationalError as error:
        if getattr(error.__cause__, "sqlstate", None) != _LOCK_NOT_AVAILABLE:
            raise
        return None


def _first_of(statement: str, wanted: dict[str, Any]) -> int:
    with connection.cursor() as cursor:
        cursor.execute(statement, wanted)
        return int(cursor.fetchone()[0])


_LACKING: Final = """
SELECT count(*) FILTER (WHERE to_regclass('usage_event_' || to_char(day, 'YYYY_MM')) IS NULL)
FROM generate_series(0, %(ahead)s) n, LATERAL (SELECT %(now)s AT TIME ZONE 'UTC' + make_interval(months => n)) m(day)"""
# The foreign keys of a new table are noted at the tables that they point to.
_LOCKS: Final = """
LOCK TABLE usage_event IN ACCESS EXCLUSIVE MODE NOWAIT;
LOCK TABLE memories, memories_user IN SHARE ROW EXCLUSIVE MODE NOWAIT"""
_MONTHS: Final = """
SELECT count(*) FILTER (WHERE zm_keep_usage_month((%(now)s AT TIME ZONE 'UTC' + make_interval(months => n))::date))
FROM generate_series(0, %(ahead)s) n"""
