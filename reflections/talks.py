"""Labelled episodes from conversations in the plain shape of retrieval sets (docs/evaluation.md).

What one speaker says in one session is a piece of work: whoever kept the sessions apart said so. The names of the
sessions are not compared, only when something was said.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from memories.transfer.mentions import mentioned
from reflections.evaluation import Labelled

APART: Final = timedelta(seconds=30)  # sets date whole sessions, so each turn lies so much after the one before


def is_talk(text: str) -> bool:
    first = text.partition("\n")[0]
    return first.startswith("{") and json.loads(first).get("type") in ("doc", "query")


def read(text: str) -> list[Labelled]:
    """Turns that name a session, a time and a speaker. Each speaker of a conversation is an owner."""
    return [_labelled(turn) for turn in _turns(text)]


def _turns(text: str) -> Iterator[dict[str, Any]]:
    for line in text.splitlines():
        told = json.loads(line) if line.strip() else {}
        if told.get("type") == "doc" and all(told.get(name) for name in ("session", "time", "speaker")):
            yield told


def _labelled(turn: dict[str, Any]) -> Labelled:
    at = datetime.fromisoformat(turn["time"])
    speaker = turn["speaker"]
    return Labelled(
        id=str(turn["id"]),
        created_at=(at if at.tzinfo else at.replace(tzinfo=UTC)) + APART * int(turn.get("order") or 0),
        content=f"{speaker}: {turn['text']}",
        entities=frozenset([speaker, *(name for _, name in mentioned(turn["text"]))]),
        place=f"{turn['corpus']}/{speaker}",
        piece=f"{turn['corpus']}/{turn['session']}",
    )
