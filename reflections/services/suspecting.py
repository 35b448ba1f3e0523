"""A memory that misled more than once reaches the inbox. It stays live; only a person may retire it."""

from datetime import datetime
from typing import Final
from uuid import UUID

from memories.models import Memory
from memories.services.audit import record
from memories.services.writing import writing
from reflections.models import Dispute
from reflections.querysets import DisputeQuerySet
from reflections.services.disputes.opening import opened
from reflections.suspects import Suspect, in_words, sentence

SCANNER: Final = "stale suspects"
Type, Status = Dispute.Type, Dispute.Status


def suspect(*, found: Suspect, looked_at: datetime) -> Dispute | None:
    """The row that asks a person about *found*; None where it is no longer as it was when it was found.

    A challenge of it that waits becomes that row: two would ask the same about one memory.
    """
    with writing():
        # The row before the memory, as whoever settles it does.
        challenge = _singles(found.memory).filter(type=Type.CHALLENGED).select_for_update(of=("self",)).first()
        rows = Memory.objects.live().select_related("scope").select_for_update(of=("self",))
        memory = rows.filter(pk=found.memory).first()
        if memory is None or _is_answered(found, challenge, looked_at):
            return None
        return _grown(challenge, found) if challenge else _opened(memory, found)


def _singles(memory_id: UUID) -> DisputeQuerySet:
    return Dispute.objects.unsettled().singles().filter(subject=memory_id)


def _is_answered(found: Suspect, challenge: Dispute | None, looked_at: datetime) -> bool:
    """Somebody decided meanwhile, put it off, or raised another doubt."""
    if challenge is not None and not challenge.is_open:
        return True
    others = _singles(found.memory).exclude(pk=challenge.pk if challenge else None)
    decided = Dispute.objects.decided_singles().filter(subject__in=found.wordings, decided_at__gte=looked_at)
    return others.exists() or decided.exists()


def _opened(memory: Memory, found: Suspect) -> Dispute:
    return opened(
        SCANNER,
        "",
        type=Type.STALE_SUSPECT,
        subject=memory,
        rationale=sentence(found.reports),
        evidence="\n".join(in_words(found.reports)),
        reports=found.reports,
    )


def _grown(row: Dispute, found: Suspect) -> Dispute:
    """What the challenger wrote stays as it is. Whoever is about to settle the challenge is told to look again."""
    row.type, row.reports, row.version = Type.STALE_SUSPECT, found.reports, row.version + 1
    row.status, row.snoozed_until = Status.PENDING, None
    row.save(update_fields=["type", "reports", "version", "status", "snoozed_until"])
    record(actor=None, label=SCANNER, action="misled_again", subject=row, scope=row.scope, reports=len(found.reports))
    return row
