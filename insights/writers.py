"""What each agent wrote and what became of it, so that one that floods is seen."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final, NamedTuple

from django.db import connection

from insights.charts import Cell, Table
from insights.sql import load
from insights.words import count
from memories.access import Actor, readable_scopes
from memories.agents import SEPARATORS
from memories.models import Scope, User
from memories.moments import utc_midnight
from memories.services.recognition import RECOGNISED

MOST: Final = 50  # agents
NO_AGENT: Final = "without a name"
COLUMNS: Final = (
    "Agent", "For", "Wrote", "Saved again", "Reworded", "Superseded", "Forgotten", "Useful", "Misleading",
)  # fmt: skip


class Writer(NamedTuple):
    """``written`` are memories, ``repeated`` texts that were stored already and came again. The others are of those
    written: ``reworded`` repeat what their writer had been given."""

    agent: str
    user: str
    written: int
    repeated: int
    reworded: int
    superseded: int
    forgotten: int
    useful: int
    misled: int


def writers(*, actor: Actor, scope: Scope | None = None, days: int, now: datetime) -> list[Writer]:
    """Of all the actor may read, or of one readable *scope*, in the last *days* days; at most MOST, the busiest first.
    Two queries."""
    chosen = [row.pk for row in readable_scopes(actor) if scope is None or row.pk == scope.pk]
    values: dict[str, Any] = {
        "scopes": chosen,
        "since": utc_midnight(now, days_ago=days - 1),
        "recognised": RECOGNISED,
        "most": MOST,
        "separators": SEPARATORS,
    }
    with connection.cursor() as cursor:
        cursor.execute(load("writers").format(users=User._meta.db_table), values)
        return [Writer(*row) for row in cursor.fetchall()]


def writer_table(found: list[Writer]) -> Table:
    return Table(COLUMNS, tuple(_row(writer) for writer in found))


def _row(writer: Writer) -> tuple[Cell, ...]:
    agent = writer.agent or NO_AGENT
    return (Cell(agent, agent), Cell(writer.user, writer.user), *(Cell(count(n), n) for n in writer[2:]))
