"""Settling a doubt about one memory by correcting it: the doubt ends, and a new version says what holds now."""

from typing import Final

from memories import guard
from memories.access import Actor
from memories.errors import Conflict
from memories.models import Memory
from memories.services.edit import edit
from memories.services.writing import locked, writing
from reflections.models import Dispute
from reflections.services import disputes
from reflections.services.disputes.settling import mark_of

CORRECTED: Final = "Corrected in the inbox"


def correct(*, actor: Actor, dispute: Dispute, version: int, text: str, seen: int) -> Memory:
    """The new version. Raises Conflict when the dispute or the memory changed since, ValidationFailed for the text."""
    guard.refuse_secrets(text, "text")
    with writing():
        row = disputes.resolve(actor=actor, dispute=dispute, version=version, resolution="uphold", reason=CORRECTED)
        # Browsers send a textarea's lines with CRLF.
        text = text.replace("\r\n", "\n").strip()
        new = edit(actor=actor, memory=row.subject, expected_version=seen, content=text)
        if new.pk == row.subject.pk:
            raise Conflict("The text is the same as before. Change it, or uphold the memory as it is.", field="text")
        _note(row, locked(actor, row.subject), new)
    return new


def _note(row: Dispute, old: Memory, new: Memory) -> None:
    """What undoing it needs; ``row.subject`` is the old version as it was before."""
    row.merged, row.retired = new, [mark_of(old, row.subject.updated_at)]
    row.save(update_fields=["merged", "retired"])
