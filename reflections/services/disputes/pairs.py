"""Two memories as the ladder looks at them."""

import re
from typing import Final

from memories.models import Memory, Provenance
from reflections.ladder import Pair, Side
from reflections.models import Dispute
from zeromemory.llm import MemoryShown

LONGEST_SHOWN: Final = 6000  # characters of a memory that a judge reads
_GIT: Final = re.compile(r"git:(?P<repository>.+)@[0-9a-f]{7,64}$")


def pair_of(one: Memory, another: Memory, *, cosine: float | None = None, known: bool | None = None) -> Pair:
    """Prefetch ``entities`` of both. Whether the pair is *known* is looked up when it is not told."""
    if known is None:
        known = Dispute.objects.of_pair(one, another).exists()
    return Pair(side_of(one), side_of(another), cosine=cosine, known=known)


def side_of(memory: Memory) -> Side:
    return Side(
        id=memory.pk,
        content=memory.content,
        created_at=memory.created_at,
        kind=memory.kind,
        provenance=memory.provenance,
        pinned=memory.pinned,
        session=_session_of(memory),
        project=_project_of(memory),
        entities=frozenset(entity.canonical for entity in memory.entities.all()),
        valid_from=memory.valid_from,
        valid_until=memory.valid_until,
    )


def in_order(one: Memory, another: Memory) -> tuple[Memory, Memory]:
    """The older and the newer one."""
    older, newer = sorted((one, another), key=lambda memory: (memory.created_at, str(memory.pk)))
    return older, newer


def _session_of(memory: Memory) -> str:
    """Two people may name their sessions alike."""
    return f"{memory.author_id}:{memory.session}" if memory.session else ""


def _project_of(memory: Memory) -> str:
    """The repository that an imported commit comes from; of other memories nobody can tell within a scope. Two scopes
    are always two projects."""
    found = _GIT.match(memory.source)
    return f"{memory.scope_id}:{found['repository']}" if found else ""


def shown(memory: Memory) -> MemoryShown:
    """The memory as a judge is shown it."""
    return MemoryShown(
        id=str(memory.pk),
        kind=memory.kind,
        text=memory.content[:LONGEST_SHOWN],
        captured_at=memory.created_at,
        provenance=Provenance(memory.provenance).name.lower(),
    )
