"""Saying that a memory was looked at. A check is a line in the ledger: the memory itself does not move."""

from datetime import datetime
from typing import Final

from django.utils import timezone

from memories import guard
from memories.access import Actor
from memories.errors import Conflict
from memories.looks import is_fast
from memories.models import Memory, Verification
from memories.services import audit
from memories.services.validation import check_line
from memories.services.writing import locked, writing

Verdict, Method = Verification.Verdict, Verification.Method
LONGEST: Final = 2000  # characters of a note and of a source


def verify(*, actor: Actor, memory: Memory, note: str = "", source: str = "") -> Verification:
    """Say that *memory* still holds. *source* is where that is said: an address, or a sentence.

    Neither version nor dates nor score of the memory move. Raises NotFound, Forbidden, ValidationFailed also for a
    secret in the texts, and Conflict for a memory that is retired.
    """
    check_line(note, "reason")
    check_line(source, "evidence")
    with writing():
        memory = locked(actor, memory)
        if memory.invalidated_at:
            raise Conflict("This memory is retired, so there is nothing to verify. Restore it first.")
        return stamp(actor=actor, memory=memory, note=note, source=source)


def stamp(*, actor: Actor, memory: Memory, note: str = "", source: str = "") -> Verification:
    """The same inside the caller's transaction, which holds the memory."""
    check = _looked_at(actor, memory, timezone.now(), note=note, source=source)
    audit.record(actor=actor, action="verify", subject=memory, scope=memory.scope, reason=note)
    return check


def stamp_new_wording(*, actor: Actor, memory: Memory) -> None:
    """Whoever words a world fact anew has looked at it, though it keeps the date it was learned."""
    if not is_fast(memory):
        return
    _looked_at(actor, memory, memory.recorded_at, note="Worded anew")


def _looked_at(actor: Actor, memory: Memory, at: datetime, *, note: str, source: str = "") -> Verification:
    return Verification.objects.create(
        memory=memory,
        at=at,
        verdict=Verdict.CURRENT,
        method=Method.PERSON if actor.is_person else Method.AGENT,
        user=actor.user,
        actor=actor.label[:200],
        note=note,
        source=source,
    )


def take_back_stamp(*, actor: Actor, memory: Memory, at: datetime, reason: str) -> None:
    """The line of that moment is no look any more; inside the caller's transaction, which holds the memory."""
    Verification.objects.create(
        memory=memory,
        at=at,
        verdict=Verdict.TAKEN_BACK,
        method=Method.PERSON if actor.is_person else Method.AGENT,
        user=actor.user,
        actor=actor.label[:200],
        note=reason,
    )
    audit.record(actor=actor, action="take_back_check", subject=memory, scope=memory.scope, reason=reason)


def stamp_by_search(
    *, memory: Memory, verdict: str, label: str, at: datetime, source: str, note: str, confidence: float, model: str
) -> Verification:
    """What a search of the web says, inside the caller's transaction, which holds the memory."""
    check = Verification.objects.create(
        memory=memory,
        at=at,
        verdict=verdict,
        method=Method.WEB_SEARCH,
        actor=label[:200],
        source=guard.masked(source)[:LONGEST],
        note=guard.masked(note)[:LONGEST],
        confidence=confidence,
        model=model,
    )
    audit.record(
        actor=None,
        label=label,
        action="verify",
        subject=memory,
        scope=memory.scope,
        verdict=verdict,
        confidence=f"{confidence:.2f}",
        model=model,
    )
    return check
