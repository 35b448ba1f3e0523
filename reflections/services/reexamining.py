"""What is on record about memories that were examined again."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from memories.models import Memory
from reflections.models import Dispute, Examined, Judged, Run
from reflections.nearest import ends_of

SCANNER: Final = "re-examination"
JOB: Final = "reexamination"


def note_examined(*, memory_id: UUID, model: str) -> None:
    """This model does not examine it again."""
    Examined.objects.get_or_create(scanner=JOB, memory_id=memory_id, matter=model, defaults={"model": model})


def note_judged(*, one: Memory, another: Memory, model: str, verdict: str, confidence: float) -> None:
    low, high = ends_of(one.pk, another.pk)
    found = {"verdict": verdict, "confidence": confidence, "model": model}
    Judged.objects.update_or_create(scanner=JOB, low_id=low, high_id=high, defaults=found)


def known_pairs(ids: Sequence[UUID], *, model: str) -> set[tuple[UUID, UUID]]:
    """(low, high) of the pairs with one of *ids* that ever were in dispute, or that this model has judged."""
    return Dispute.objects.known_pairs(ids) | Judged.objects.filter(model=model).pairs_with(ids)


def examined_by(run: Run) -> int:
    """How many memories so far. No other run looks after one of its scopes meanwhile."""
    rows = Examined.objects.filter(scanner=JOB, at__gte=run.requested_at)
    return rows.filter(memory__scope__in=run.scopes.all()).count()


def opened_by(run: Run) -> int:
    """How many disputes so far."""
    rows = Dispute.objects.filter(scanner=SCANNER, opened_at__gte=run.requested_at)
    return rows.filter(scope__in=run.scopes.all()).count()
