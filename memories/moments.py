"""PURE. The moments that can be stored and shown: a day inside what a date can hold, for the sake of time zones."""

from datetime import UTC, datetime, time, timedelta
from typing import Final
from zoneinfo import available_timezones

EARLIEST: Final = datetime(1, 1, 2, tzinfo=UTC)
LATEST: Final = datetime(9999, 12, 30, tzinfo=UTC)
FURTHEST: Final = timedelta(hours=15)  # no place is further from UTC, and the database takes little more


# Names that the machine may have for its own zone, or for a way of counting: whoever chooses one means another zone.
NO_PLACE: Final = {"localtime", "posixrules", "Factory"}


def time_zones() -> list[str]:
    """The names of all zones a person may choose."""
    return sorted(available_timezones() - NO_PLACE)


def is_within_reach(moment: datetime) -> bool:
    """Whether an aware *moment* survives storage, and display in every time zone."""
    offset = moment.utcoffset()
    return offset is not None and abs(offset) <= FURTHEST and EARLIEST <= moment <= LATEST


def utc_midnight(now: datetime, *, days_ago: int) -> datetime:
    """Where a period of days in UTC begins: ``days_ago`` before the day of *now*."""
    return datetime.combine(now.astimezone(UTC).date() - timedelta(days=days_ago), time(), tzinfo=UTC)
