"""The tables of months that usage events fall into, made ahead of time."""

import logging
from datetime import datetime
from typing import Final

from django.db import OperationalError, connection, transaction

logger = logging.getLogger(__name__)

MONTHS_AHEAD: Final = 3
LOCK_TIMEOUT: Final = "2s"
_LOCK_NOT_AVAILABLE: Final = "55P03"


def keep_usage_months(*, now: datetime) -> int:
    """Make the tables of this month and the next ones, as far as there are none; how many were made.

    Until then events go to the default table, and they move over when their month gets its own. It takes a moment's
    lock on the default table; when that is not to be had, the next call makes up for it.
    """
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT set_config('lock_timeout', %s, true)", [LOCK_TIMEOUT])
            cursor.execute(_MONTHS, {"now": now, "ahead": MONTHS_AHEAD})
            return int(cursor.fetchone()[0])
    except OperationalError as error:
        if getattr(error.__cause__, "sqlstate", None) != _LOCK_NOT_AVAILABLE:
            raise
        logger.warning("The tables of the coming months were not made: usage events are being written. Next time.")
        return 0


_MONTHS: Final = """
SELECT count(*) FILTER (WHERE zm_keep_usage_month((%(now)s AT TIME ZONE 'UTC' + make_interval(months => n))::date))
FROM generate_series(0, %(ahead)s) n"""
