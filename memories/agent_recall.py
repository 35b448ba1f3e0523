"""Recall for an agent: the same search that people have, and what it gave is counted and logged."""

from __future__ import annotations

import time
from typing import Any

from django.db import OperationalError

from memories.access import Actor
from memories.errors import ValidationFailed, ZeroMemoryError
from memories.read_only import is_read_only
from memories.recall import USUAL_RESULTS, Recall, Result, recall
from memories.regrets import is_sampled
from memories.retention import at_least
from memories.services.accesses import Answered, Given, kept, note_recall
from memories.tasks import EXPIRES_SECONDS, compare_with_archive
from memories.words import QUERY_LENGTH


def recall_for_agent(*, actor: Actor, query: str, k: int | None = None, session: str = "", **asked: Any) -> Recall:
    """``recall``, with a line in the log also where it found nothing or failed; what was asked wrongly has none."""
    began = time.perf_counter()
    try:
        found = recall(actor=actor, query=query, k=k, **asked)
    except ValidationFailed:
        raise
    except Exception as error:
        failed = Answered(error=_code(error), took_ms=(time.perf_counter() - began) * 1000)
        note_recall(actor=actor, query=query, k=k or USUAL_RESULTS, session=session, answered=failed)
        raise
    line = note_recall(actor=actor, query=query, k=found.k, session=session, answered=_answered(found))
    if found.archives and not asked.get("as_of") and is_sampled(line) and not is_read_only():
        _compare_with_archive(found, query, asked)
    return found


def _compare_with_archive(found: Recall, query: str, asked: dict[str, Any]) -> None:
    """In the background; the message is all that holds the question, and it holds no secret."""
    least = asked.get("min_confidence")
    compare_with_archive.apply_async_on_commit(
        kwargs={
            "query": kept(query, QUERY_LENGTH),
            "scopes": sorted(found.scopes),
            "archives": sorted(found.archives),
            "k": found.k,
            "kinds": sorted(asked["kinds"]) if asked.get("kinds") else None,
            "confidences": at_least(least) if least else None,
            "ignore": sorted(asked.get("ignore", ())),
        },
        retry=False,
        expires=EXPIRES_SECONDS,
    )


def _answered(found: Recall) -> Answered:
    return Answered(
        given=[_given(result) for result in found.results],
        scopes=found.scopes,
        took_ms=found.took_ms,
        words_only=found.words_only,
    )


def _given(result: Result) -> Given:
    return Given(result.memory.pk, result.age_days, result.factors.reinforcement != 1)


def _code(error: Exception) -> str:
    """As the answer over REST names it."""
    if isinstance(error, ZeroMemoryError):
        return error.code
    return "unavailable" if isinstance(error, OperationalError) else ZeroMemoryError.code
