"""Proposals to file a memory as another kind. A person decides about each."""

from typing import Final

from memories.models import Memory
from memories.services.writing import writing
from reflections.models import Dispute, Examined
from reflections.services.disputes import open_single
from zeromemory.llm import KindVerdict

SCANNER: Final = "kind audit"
JOB: Final = "kind_audit"


def note_audited(*, memory: Memory, model: str) -> None:
    """As the kind it has, *memory* is not looked at again."""
    Examined.objects.get_or_create(scanner=JOB, memory=memory, matter=memory.kind, defaults={"model": model})


def settle(*, memory: Memory, verdict: KindVerdict, model: str, proposes_from: float) -> Dispute | None:
    """Ask a person where the judge is that sure of another kind; and note that *memory* was looked at."""
    with writing():
        note_audited(memory=memory, model=model)
        kept = Memory.objects.filter(pk=memory.pk, kind=memory.kind).exists()
        if not kept or verdict.kind == memory.kind or verdict.confidence < proposes_from:
            return None
        return open_single(
            memory=memory,
            type=Dispute.Type.MISFILED,
            scanner=SCANNER,
            model=model,
            proposed_kind=verdict.kind,
            confidence=verdict.confidence,
            rationale=verdict.rationale,
        )
