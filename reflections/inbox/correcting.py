"""Settling a doubt about one memory by correcting it: the doubt ends, and a new version says what holds now."""

from typing import Final

from memories.access import Actor
from memories.errors import Conflict
from memories.models import Memory
from memories.services import lifecycle
from memories.services.edit import EDITED, edit
from memories.services.writing import locked, writing
from reflections.models import Dispute
from reflections.services import disputes
from reflections.services.disputes.waiting import UNDONE

CORRECTED: Final = "Corrected in the inbox"


def correct(*, actor: Actor, dispute: Dispute, version: int, text: str, seen: int) -> Memory:
    """The new version. Raises Conflict when the dispute or the memory changed since, ValidationFailed for the text."""
    with writing():
        row = disputes.resolve(actor=actor, dispute=dispute, version=version, resolution="uphold", reason=CORRECTED)
        # Browsers send a textarea's lines with CRLF.
        text = text.replace("\r\n", "\n").strip()
        new = edit(actor=actor, memory=row.subject, expected_version=seen, content=text)
        if new.pk == row.subject.pk:
            raise Conflict("The text is the same as before. Change it, or uphold the memory as it is.", field="text")
    return new


def undo(*, actor: Actor, dispute: Dispute, version: int) -> Dispute:
    """Take a decision back, that of a correction too: the new version is forgotten, and the old one lives again."""
    with writing():
        if is_correction(dispute):
            _bring_back(actor, locked(actor, dispute.subject))
        return disputes.undo(actor=actor, dispute=dispute, version=version)


def is_correction(dispute: Dispute) -> bool:
    return dispute.resolution == Dispute.Resolution.UPHELD and dispute.reason == CORRECTED


def _bring_back(actor: Actor, old: Memory) -> None:
    if old.invalidated_at is None:
        return
    new = old.superseded_by
    if new is None or old.invalidation_reason != EDITED or new.invalidated_at or new.version != old.version + 1:
        raise Conflict("The corrected memory was changed since, so the decision stands. Open it to go on from there.")
    lifecycle.forget(actor=actor, memory=new, reason=UNDONE)
    lifecycle.restore(actor=actor, memory=old, reason=UNDONE)
