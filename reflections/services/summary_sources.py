"""What a summary stands for: retired in its favour, and given back when it is undone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from memories.access import Actor
from memories.models import Memory
from memories.services.lifecycle import restore, retire_in_favour
from memories.services.summaries import REASON
from reflections.models import Candidate, CandidateMember

UNDONE: Final = "summary undone"


def add_members(candidate: Candidate, members: Sequence[Memory]) -> None:
    CandidateMember.objects.bulk_create(
        CandidateMember(candidate=candidate, memory=memory, position=position)
        for position, memory in enumerate(members)
    )


def retire_sources(*, actor: Actor, candidate: Candidate, memory: Memory) -> int:
    """Put *memory*, which was just stored, in the place of the candidate's sources; how many that retired.

    Inside the caller's transaction. What was retired or pinned since is left as it is.
    """
    sources = Memory.objects.filter(candidacy__candidate=candidate, invalidated_at=None, pinned=False)
    return sum(
        retire_in_favour(actor=actor, memory=source, replacement=memory, reason=REASON)
        for source in sources.order_by("pk")
    )


def give_back(*, actor: Actor, memory: Memory) -> list[Memory]:
    """Restore what was summarised in *memory*, inside the caller's transaction; those, oldest first.

    What was replaced by it in another way, or restored since, is left as it is. Raises Conflict where a live memory
    says exactly what one of them says.
    """
    sources = Memory.objects.filter(superseded_by=memory, invalidation_reason=REASON).select_related("scope")
    in_order = list(sources.order_by("created_at", "pk"))
    return [restore(actor=actor, memory=source, reason=UNDONE) for source in in_order]
