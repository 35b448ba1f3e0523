"""What runs by itself, when, and what it may change. A person should never have to guess."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from celery import current_app

NOTHING: Final = "nothing"
# Task: what it does, and what it may change.
EFFECTS: Final = {
    "zeromemory.heartbeat": ("Shows that a worker is there.", "a file in the data folder"),
    "memories.tasks.embed_pending": (
        "Turns memories that wait for it into vectors, so that they are found by meaning.",
        "vectors; never a memory's text, kind, dates or state",
    ),
    "memories.tasks.forget_activity": (
        "Removes what agents asked more than 30 days ago from the log of recalls.",
        "that log; never a memory",
    ),
    "memories.tasks.make_months": (
        "Makes the tables that reports of use of this month and the next three fall into.",
        "which table those reports lie in; never a report",
    ),
    "memories.tasks.sweep_imports": (
        "Takes up imports whose worker was lost, and removes files that nobody imported within a day.",
        "the state of imports, and their files; never a memory",
    ),
    "reflections.tasks.sweep": (
        "Brings snoozed drafts back on their day, takes up runs and conversations whose worker was lost or which wait "
        "to be judged, and starts the full cycle in each scope every ZEROMEMORY_HYGIENE_HOURS hours (0 unless set: "
        "only when somebody asks).",
        "the state of drafts, runs and conversations; a cycle may change what its steps may",
    ),
}


@dataclass(frozen=True, slots=True)
class Scheduled:
    name: str
    every: str
    does: str
    may_change: str


def scheduled() -> list[Scheduled]:
    """Every entry of the clock. One that nobody described says so, and a test fails."""
    entries: dict[str, Any] = current_app.conf.beat_schedule or {}
    return [
        Scheduled(name, _every(entry["schedule"]), *EFFECTS.get(entry["task"], ("Not described.", "not described")))
        for name, entry in sorted(entries.items())
    ]


def _every(seconds: float) -> str:
    if seconds % 60:
        return f"every {seconds:g} seconds"
    return "every minute" if seconds == 60 else f"every {seconds / 60:g} minutes"
