"""A store that is only looked at: whatever would change it is refused, by one error at every door."""

from __future__ import annotations

from typing import Final

from django.conf import settings

from memories.errors import ReadOnly

REFUSED: Final = (
    "This store is opened for reading only (ZEROMEMORY_READ_ONLY): nothing was changed. Write where it is kept, or "
    "start it without that setting."
)
SQLSTATE: Final = "25006"  # read only SQL transaction


def is_read_only() -> bool:
    return bool(settings.READ_ONLY)


def refuse_writes() -> None:
    """Raises ReadOnly where the store is opened for reading only."""
    if is_read_only():
        raise ReadOnly(REFUSED)


def as_read_only(error: BaseException) -> ReadOnly | None:
    """Our error for one of the database, which holds out where no door has; None for any other."""
    is_ours = getattr(error.__cause__, "sqlstate", None) == SQLSTATE
    return ReadOnly(REFUSED) if is_ours else None
