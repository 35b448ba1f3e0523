"""Facts about the world go stale unseen, so each is to be looked at again within a budget of days. Pure.

Only the fast layer is asked about: what stands in the core scope and is of a kind that the world changes. Being past
the budget moves no score: it is a question to whoever is given the memory.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from zeromemory.lib.counting import counted

FAST_KINDS: Final = ("fact", "reference")
SECONDS_PER_DAY: Final = 86_400
MOST_MEMORIES: Final = 10  # that one run of the scheduled check may look at
MOST_SEARCHES: Final = 5  # of the web, about one of them


@dataclass(frozen=True, slots=True)
class Budgets:
    """Whole days that may pass without a look."""

    fact: int = 180
    reference: int = 90

    def of(self, kind: str, *, is_core: bool) -> int | None:
        """None for what is not of the fast layer, which is never asked about."""
        if not is_core or kind not in FAST_KINDS:
            return None
        return self.reference if kind == "reference" else self.fact


@dataclass(frozen=True, slots=True)
class Look:
    """``days`` are whole days since the last check, or since the creation of what was never checked."""

    days: int
    budget: int

    @property
    def left(self) -> int:
        """Days until it is asked about; 0 and below it is."""
        return self.budget + 1 - self.days

    @property
    def stale_days(self) -> int | None:
        return self.days if self.days > self.budget else None


def look_of(
    kind: str, *, is_core: bool, created_at: datetime, checked_at: datetime | None, now: datetime, budgets: Budgets
) -> Look | None:
    """How long ago a memory was looked at; None outside the fast layer. A date that lies ahead counts as today."""
    budget = budgets.of(kind, is_core=is_core)
    if budget is None:
        return None
    since = max(created_at, checked_at) if checked_at else created_at
    return Look(days=max(0, int((now - since).total_seconds() // SECONDS_PER_DAY)), budget=budget)


def asked_of(stale_days: int) -> str:
    """What an agent is asked to do about a memory past its budget."""
    return f"not checked for {counted(stale_days, 'day')}: verify it, supersede it or challenge it"
