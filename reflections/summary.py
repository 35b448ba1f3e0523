"""Fading memories as a question to the model, and the answer as a summary; without a model, their own words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from memories.guard import masked
from memories.models import Memory, Provenance
from memories.retention import INFERRED, lower_of
from reflections import extractive
from reflections.distil import MOST_OF_ALL, MOST_OF_ONE
from reflections.shared import shared_entities
from zeromemory.lib.unseen import is_blank
from zeromemory.llm import Answer, MemoryShown, Summarise, Summary


@dataclass(frozen=True, slots=True)
class Disputed:
    one: Memory
    another: Memory
    rationale: str


@dataclass(frozen=True, slots=True)
class Summed:
    """``consumed`` are those that the text stands for; where there are none of these, or no text, there is no summary.
    ``model`` is empty for what quotes."""

    content: str
    consumed: Sequence[Memory]
    disputed: Sequence[Disputed] = ()
    model: str = ""
    lines: Sequence[dict[str, Any]] = ()

    @property
    def is_empty(self) -> bool:
        return not self.consumed or is_blank(self.content)


def shown_whole(batch: Sequence[Memory]) -> list[Memory]:
    """Those of *batch* that one question has room for, in its order. None is cut: what a summary stands for is
    retired whole, and of what it was not shown it says nothing."""
    room, fitting = MOST_OF_ALL, []
    for memory in batch:
        length = len(memory.content)
        if length <= min(MOST_OF_ONE, room):
            fitting.append(memory)
            room -= length
    return fitting


def question(batch: Sequence[Memory]) -> Summarise:
    """*batch* by short names, which a model copies more surely than ids."""
    return Summarise(tuple(_shown(name, memory) for name, memory in _named(batch).items()))


def summed(answer: Answer[Summary], batch: Sequence[Memory]) -> Summed:
    """What the model says cannot both hold is for a person to decide, so neither side is consumed."""
    named, value = _named(batch), answer.value
    disputed = [Disputed(named[pair.a], named[pair.b], masked(pair.rationale)) for pair in value.contradictions]
    apart = {side for pair in disputed for side in (pair.one, pair.another)}
    named_consumed = set(value.consumed)
    consumed = [memory for name, memory in named.items() if name in named_consumed and memory not in apart]
    content = masked(value.summary)
    return Summed(content, consumed, disputed, answer.model, _lines(content, consumed))


def quoted(batch: Sequence[Memory]) -> Summed:
    """A draft without a model; it stands for what it quotes and for nothing else."""
    sources = [extractive.Source(memory.pk, memory.created_at, memory.content) for memory in batch]
    draft = extractive.draft(sources, [entity.name for entity in shared_entities(batch)])
    said = {sentence.source_id for sentence in draft.sentences}
    lines = [{"text": masked(line.text), "sources": [str(line.source_id)]} for line in draft.sentences]
    return Summed(masked(draft.content), [memory for memory in batch if memory.pk in said], lines=lines)


def confidence_of(sources: Sequence[Memory]) -> str:
    """Nobody has seen for themselves what a summary says, and it is no surer than the least sure of its sources."""
    return lower_of(INFERRED, *(source.confidence for source in sources))


def _named(batch: Sequence[Memory]) -> dict[str, Memory]:
    return {f"m{number}": memory for number, memory in enumerate(batch, 1)}


def _shown(name: str, memory: Memory) -> MemoryShown:
    provenance = Provenance(memory.provenance).name.lower()
    return MemoryShown(name, memory.kind, memory.content, memory.created_at, provenance)


def _lines(content: str, consumed: Sequence[Memory]) -> list[dict[str, Any]]:
    return [{"text": content, "sources": [str(memory.pk) for memory in consumed]}] if content and consumed else []
