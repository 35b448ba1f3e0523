"""The row of a dispute, held for a decision by somebody who may decide."""

from datetime import datetime
from typing import Any

from django.utils import timezone

from memories.access import Actor, require_write
from memories.errors import Conflict, Forbidden, NotFound
from reflections.access import NO_DISPUTE
from reflections.dispute_wording import settled_already
from reflections.models import Dispute


def held(actor: Actor, dispute: Dispute, version: int | None) -> Dispute:
    """The row as it stands now, held until the end of the transaction. Without a *version* it is taken as it stands."""
    rows = Dispute.objects.visible_to(actor).select_for_update(of=("self",)).whole()
    row = rows.filter(pk=dispute.pk).first()
    if row is None:
        raise NotFound(NO_DISPUTE)
    if not actor.may_adjudicate:
        raise Forbidden("This token may not settle disputes. A person can, or a token that was created for it.")
    require_write(actor, row.scope_id)
    if version is not None and row.version != version:
        raise Conflict(settled_already(row))
    return row


def held_open(actor: Actor, dispute: Dispute, version: int | None) -> Dispute:
    row = held(actor, dispute, version)
    if not row.is_open:
        raise Conflict(settled_already(row))
    return row


def decide(row: Dispute, *, by: Actor | None, label: str = "", status: str, **columns: Any) -> None:
    """Write a decision of *by*, or of the scanner called *label*, into the row."""
    _write(row, by, label, timezone.now(), {"status": status, "snoozed_until": None} | columns)


def _write(row: Dispute, by: Actor | None, label: str, at: datetime, columns: dict[str, Any]) -> None:
    for name, value in columns.items():
        setattr(row, name, value)
    row.decided_at, row.decided_by = at, by.user if by else None
    row.decided_actor = (by.label if by else label)[:200]
    row.version += 1
    row.save(update_fields=[*columns, "decided_at", "decided_by", "decided_actor", "version"])
