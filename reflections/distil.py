"""A cluster as a question to the model, and the answer as a draft. Dates are those of the sources; text gives none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from memories.guard import masked
from memories.models import Memory
from reflections import extractive
from zeromemory.lib.unseen import is_blank
from zeromemory.llm import Answer, Distil, Distillate, Episode, Sentence

SURE: Final = 0.6  # confidence from which a draft is worth a person's time
LOW_CONFIDENCE: Final = "low_confidence"
MOST_OF_ALL, MOST_OF_ONE = 60_000, 6_000  # characters shown to the model

type Line = dict[str, Any]  # {text, sources}: a sentence and the ids of the episodes that say it


@dataclass(frozen=True, slots=True)
class Drafted:
    """``refused`` says why nobody is asked about it; empty where somebody is."""

    kind: str
    content: str
    lines: list[Line]
    rationale: str
    origin: str = "extractive"
    confidence: float | None = None
    refused: str = ""


def quoted(draft: extractive.Draft) -> Drafted:
    """A draft without a model. An episode may be older than the guard, so what it gives away is masked."""
    lines = [{"text": masked(sentence.text), "sources": [str(sentence.source_id)]} for sentence in draft.sentences]
    return Drafted(draft.kind, masked(draft.content), lines, masked(draft.rationale))


def question(members: Sequence[Memory]) -> Distil:
    """*members* by short names, which a model copies more surely than ids."""
    most = min(MOST_OF_ONE, MOST_OF_ALL // len(members))
    names = _names(members)
    return Distil(tuple(Episode(names[m], _shown(m.content, most), m.created_at, m.agent) for m in members))


def drafted(answer: Answer[Distillate], members: Sequence[Memory]) -> Drafted:
    """What is below SURE, no common outcome, or empty is refused, and kept so that the same is not asked again."""
    value = answer.value
    ids = {name: str(member.pk) for member, name in _names(members).items()}
    is_worth_it = value.consolidate and not is_blank(value.content) and value.confidence >= SURE
    return Drafted(
        kind=value.kind,
        content=masked(value.content),
        lines=[_line(sentence, ids) for sentence in value.sentences],
        rationale=masked(value.rationale),
        origin=answer.model,
        confidence=value.confidence,
        refused="" if is_worth_it else LOW_CONFIDENCE,
    )


def _names(members: Sequence[Memory]) -> dict[Memory, str]:
    return {member: f"e{number}" for number, member in enumerate(members, 1)}


def _line(sentence: Sentence, ids: dict[str, str]) -> Line:
    return {"text": masked(sentence.text), "sources": [ids[name] for name in sentence.sources]}


def _shown(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    return f"{text[:most]}\n[{len(text) - most} more characters are not shown]"
