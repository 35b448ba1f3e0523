"""Memories that misled more than once since somebody last decided about them."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

from django.db import connection

from memories.services.edit import EDITED
from reflections.sql import load

MOST_LISTED: Final = 12
_DONE: Final = {"challenge": "challenged it", "direct": "reported it", "judge": "read the conversation"}

type Report = dict[str, Any]  # at, source, by, session, confidence


class Suspect(NamedTuple):
    """``wordings`` are the memory and what it was edited from; ``reports`` go one a session, oldest first."""

    memory: UUID
    wordings: list[UUID]
    reports: list[Report]


def suspects(scope_id: int, *, now: datetime, since: datetime, reports: int, judge_minimum: float) -> Iterator[Suspect]:
    """The live memories of a scope that misled in at least so many sessions since then, and since the last decision."""
    wanted: dict[str, Any] = {
        "scope": scope_id,
        "now": now,
        "since": since,
        "reports": reports,
        "judge_minimum": judge_minimum,
        "edited": EDITED,
    }
    with connection.cursor() as cursor:
        cursor.execute(load("stale_suspects"), wanted)
        rows = cursor.fetchall()
    return iter([Suspect(memory, wordings, json.loads(found)) for memory, wordings, found in rows])


def sentence(reports: list[Report]) -> str:
    return f"It misled {len(reports)} times, from {_at(reports[0])} to {_at(reports[-1])}."


def in_words(reports: list[Report]) -> list[str]:
    """A line for each of the newest, newest first, and one that counts the rest."""
    newest = [_line(report) for report in reversed(reports[-MOST_LISTED:])]
    more = len(reports) - len(newest)
    return [*newest, f"and {more} earlier"] if more > 0 else newest


def _line(report: Report) -> str:
    who = "The judge" if report["source"] == "judge" else report["by"] or "Somebody who is gone"
    session = f", session {report['session']}" if report["session"] else ""
    sure = f", confidence {report['confidence']:.2f}" if report["source"] == "judge" else ""
    return f"{_at(report)}: {who} {_DONE.get(report['source'], 'said so')}{session}{sure}"


def _at(report: Report) -> str:
    return f"{datetime.fromisoformat(report['at']).astimezone(UTC):%Y-%m-%d %H:%M} UTC"
