"""Decaying scopes with something to summarise, and answers of the model about it."""

from __future__ import annotations

import re
from typing import Any

from memories.models import Memory, RetentionCycle, Scope
from reflections.consolidation import consolidate
from reflections.models import Candidate
from tests.llm.server import ModelServer
from tests.memories.retention.cycling import make_decaying, unused_for

SUMMARY = "The harbour gauges are read by hand and sent to the office."


def fading_scope(fading: int = 3, **policy: Any) -> tuple[Scope, list[Memory]]:
    """A scope of twice as many memories, of which as many are used as are not; those that are not, oldest first."""
    scope = make_decaying(threshold=2 * fading - 1, **policy)
    weak = [
        unused_for(60 - n, scope=scope, content=f"The harbour gauge {chr(65 + n)} is read by hand every morning.")
        for n in range(fading)
    ]
    for n in range(fading):
        unused_for(1, scope=scope, content=f"Crane {n} was painted in spring.")
    return scope, weak


def summarised(scope: Scope, *, trigger: str = "command") -> RetentionCycle:
    """The cycle that was done."""
    done = consolidate(scope=scope, trigger=trigger).cycle
    assert done
    return done


def summary_of(*consumed: str, text: str = SUMMARY, contradictions: Any = ()) -> dict[str, Any]:
    return {"summary": text, "consumed": list(consumed), "contradictions": list(contradictions)}


def against(a: str, b: str, rationale: str = "They name two mornings.") -> dict[str, str]:
    return {"a": a, "b": b, "rationale": rationale}


def shown_to(server: ModelServer) -> list[str]:
    """The first lines of the texts that the model was shown, in order."""
    return re.findall(r"^text:\n(.*)$", server.requests[0].prompt, re.MULTILINE)


def waiting_in(scope: Scope) -> Candidate:
    return Candidate.objects.pending().get(scope=scope)


def states(memories: list[Memory]) -> list[str]:
    found = Memory.objects.in_bulk([memory.pk for memory in memories])
    return [found[memory.pk].state for memory in memories]
