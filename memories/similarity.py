"""Live memories that say almost the same as a new one: shown to whoever wrote it, never merged on their own."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Final

from django.db.models.functions import Left

from memories.candidates import Filters, Meaning, Search, candidates
from memories.models import Memory
from memories.sql import load
from memories.words import searchable, words_of

ALIKE: Final = 0.8  # SequenceMatcher's ratio
NEAR: Final = 0.75  # cosine; measured in docs/explanation/writing-well.md
MOST: Final = 3
COMPARED: Final = 1500  # characters of each text; the ratio takes quadratic time
_WORDS: Final = 12


@dataclass(frozen=True, slots=True)
class Similar:
    """*likeness*: the cosine, or how much of the wording is shared where that is more; from 0 to 1."""

    memory: Memory
    likeness: float


def near_equal(memory: Memory, meaning: Meaning | None = None) -> tuple[Similar, ...]:
    """At most MOST of the scope's live memories, most alike first: by their words, and with *meaning* by that too."""
    found = _by_words(memory)
    if meaning:
        found += _by_meaning(memory, meaning)
    best: dict[object, Similar] = {}
    for one in sorted(found, key=lambda one: -one.likeness):
        best.setdefault(one.memory.pk, one)
    return tuple(best.values())[:MOST]


def _by_words(memory: Memory) -> list[Similar]:
    words = _telling_words(memory.content)
    if not words:
        return []
    found = Memory.objects.raw(load("sharing_words"), {"memory": memory.pk, "scope": memory.scope_id, "words": words})
    alike = [Similar(other, ratio(memory.content, vars(other)["opening"])) for other in found]
    return [one for one in alike if one.likeness >= ALIKE]


def _by_meaning(memory: Memory, meaning: Meaning) -> list[Similar]:
    found = candidates(Search(Filters([memory.scope_id]), meaning=meaning, pool=MOST + 1)).candidates
    cosines: dict[Any, float] = {hit.id: hit.similarity for hit in found if hit.similarity and hit.similarity >= NEAR}
    rows = Memory.objects.filter(pk__in=cosines.keys() - {memory.pk}).annotate(opening=Left("content", COMPARED))
    return [Similar(row, cosines[row.pk]) for row in rows.defer("content", "verbatim")]


def _telling_words(content: str) -> list[str]:
    """The longest words of the opening: rarer than the short ones, so few memories share them by chance."""
    words = [word.text for word in words_of(searchable(content[:COMPARED]))]
    return sorted(words, key=len, reverse=True)[:_WORDS]


def ratio(mine: str, other: str) -> float:
    """How much of the wording of their openings is shared, from 0 to 1; 0 as well where it is less than ALIKE."""
    matcher = SequenceMatcher(None, mine[:COMPARED], other[:COMPARED], autojunk=False)
    if matcher.real_quick_ratio() < ALIKE or matcher.quick_ratio() < ALIKE:
        return 0.0
    return matcher.ratio()
