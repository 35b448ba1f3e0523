"""What becomes of an open loop that a judge has looked at."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Final
from uuid import UUID

from memories.models import AuditEntry, Memory
from memories.services import lifecycle
from memories.services.writing import writing
from reflections.models import Dispute, Judged, Run
from reflections.nearest import ends_of
from reflections.services.disputes import open_single
from reflections.services.disputes.opening import label_of
from zeromemory.llm import LoopVerdict

SCANNER: Final = "loop closure"
JOB: Final = "loop_closure"
REJECTED: Final = "rejected"  # the verdict where the judge gave no usable answer


class Outcome(StrEnum):
    CLOSED = "closed"
    QUEUED = "queued"
    LEFT = "left"


def seen_with(loops: Sequence[UUID]) -> set[tuple[UUID, UUID]]:
    """(low, high) of the pairs with one of *loops* that a judge was shown before."""
    return Judged.objects.filter(scanner=JOB).pairs_with(loops)


def closed_by(run: Run) -> int:
    """How many loops *run* has closed so far. No other run looks after one of its scopes meanwhile."""
    acts = AuditEntry.objects.filter(scope__in=run.scopes.all(), at__gte=run.requested_at)
    return acts.filter(action="close", user=None, detail__scanner=SCANNER).count()


def settle(
    *,
    loop: Memory,
    evidence: Sequence[Memory],
    looked_at: datetime,
    verdict: LoopVerdict,
    model: str,
    closes_from: float,
    asks_from: float,
) -> Outcome:
    """Close *loop* from that confidence on, or ask a person; note what the judge was shown, so that it is not shown
    again. What is pinned is a person's to close. What came after *looked_at*, when *evidence* was looked for, is new.
    """
    with writing():
        row = Memory.objects.live().select_for_update(of=("self",)).select_related("scope").filter(pk=loop.pk).first()
        found = next((memory for memory in evidence if verdict.closes and str(memory.pk) == verdict.evidence), None)
        verdicts = {memory.pk: "closes" if memory == found else "open" for memory in evidence}
        _note(loop, verdicts, looked_at, verdict.confidence, model)
        if row is None or found is None or not Memory.objects.live().filter(pk=found.pk).exists():
            return Outcome.LEFT
        if verdict.confidence >= closes_from and not row.pinned:
            _close(row, found, model, verdict)
            return Outcome.CLOSED
        if verdict.confidence < asks_from:
            return Outcome.LEFT
        return _ask_a_person(row, found, model, verdict)


def note_rejected(*, loop: Memory, evidence: Sequence[Memory], looked_at: datetime, model: str) -> None:
    """The judge gave no usable answer: the same evidence would get none tomorrow."""
    _note(loop, dict.fromkeys((memory.pk for memory in evidence), REJECTED), looked_at, 0, model)


def _note(loop: Memory, verdicts: dict[UUID, str], looked_at: datetime, confidence: float, model: str) -> None:
    found = {"scanner": JOB, "confidence": confidence, "model": model, "at": looked_at}
    rows = []
    for memory_id, verdict in verdicts.items():
        low, high = ends_of(loop.pk, memory_id)
        rows.append(Judged(low_id=low, high_id=high, verdict=verdict, **found))
    Judged.objects.bulk_create(rows, ignore_conflicts=True)


def _close(loop: Memory, evidence: Memory, model: str, verdict: LoopVerdict) -> None:
    lifecycle.close_by_scanner(
        memory=loop,
        label=label_of(SCANNER, model),
        reason=f"Settled by what was noted on {evidence.created_at:%Y-%m-%d}: memory {evidence.pk}",
        scanner=SCANNER,
        model=model,
        evidence=str(evidence.pk),
        confidence=f"{verdict.confidence:.2f}",
    )


def _ask_a_person(loop: Memory, evidence: Memory, model: str, verdict: LoopVerdict) -> Outcome:
    dispute = open_single(
        memory=loop,
        type=Dispute.Type.LOOP_DONE,
        scanner=SCANNER,
        model=model,
        confidence=verdict.confidence,
        rationale=verdict.rationale,
        evidence=f"{evidence.headline} (noted on {evidence.created_at:%Y-%m-%d}: memory {evidence.pk})",
    )
    return Outcome.QUEUED if dispute else Outcome.LEFT
