"""What is stored already and lies near a draft: it may be said twice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from django.urls import reverse

from memories.candidates import Filters, Meaning, Search, candidates
from memories.differences import difference
from memories.embedder_in_use import query_embedder
from memories.models import Kind, Memory
from reflections.models import Candidate
from zeromemory.embedding import EmbedderError

MOST: Final = 3
ALIKE: Final = 0.6  # cosine from which a memory is worth a look
DUPLICATE: Final = 0.85  # cosine from which the draft may say the same
KINDS: Final = tuple(kind for kind in Kind.values if kind != Kind.EPISODE)


@dataclass(frozen=True, slots=True)
class Similar:
    """The nearest first. ``problem`` says why nothing was compared."""

    rows: list[dict[str, Any]]
    problem: str = ""

    @property
    def at_risk(self) -> bool:
        return any(row["at_risk"] for row in self.rows)


def similar_to(candidate: Candidate) -> Similar:
    """Live memories of the draft's scope, episodes left aside, by the cosine of their nearest window."""
    try:
        meaning = _meaning(candidate.draft)
    except EmbedderError as error:
        return Similar([], f"Similar memories are not shown: {error}")
    if meaning is None:
        return Similar([], "Similar memories are not shown: no embedder is configured.")
    found = candidates(Search(Filters([candidate.scope_id], kinds=KINDS), meaning=meaning, pool=MOST)).candidates
    cosines: dict[Any, float] = {hit.id: hit.similarity for hit in found if hit.similarity and hit.similarity >= ALIKE}
    memories = Memory.objects.for_list().filter(pk__in=list(cosines))
    nearest = sorted(memories, key=lambda memory: -cosines[memory.pk])
    return Similar([_row(memory, cosines[memory.pk], candidate.draft) for memory in nearest])


def _meaning(text: str) -> Meaning | None:
    embedder = query_embedder()
    if embedder is None:
        return None
    # As a document, like what it is compared with: some embedders encode queries otherwise.
    (vector,) = embedder.encode_documents([text])
    return Meaning(vector, embedder.name, embedder.version)


def _row(memory: Memory, cosine: float, draft: str) -> dict[str, Any]:
    opening: str = memory.opening  # type: ignore[attr-defined]  # annotated by for_list()
    return {
        "url": reverse("memory_detail", args=[memory.pk]),
        "kind": memory.kind,
        "created_at": memory.created_at,
        "similarity": f"{cosine:.2f}",
        "at_risk": cosine >= DUPLICATE,
        "parts": difference(opening, draft),
        "truncated": memory.length > len(opening),  # type: ignore[attr-defined]
    }
