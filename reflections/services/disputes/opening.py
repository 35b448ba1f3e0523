"""How a doubt reaches the inbox: a scanner finds it, or somebody whom a memory misled raises it."""

from typing import Any, Final, NamedTuple

from memories import guard
from memories.access import Actor
from memories.errors import Conflict, ValidationFailed
from memories.models import Memory
from memories.services.audit import record
from memories.services.reinforcement import record_challenge
from memories.services.validation import check_line, check_storable
from memories.services.writing import locked, take_turns, writing
from reflections.models import Dispute
from reflections.models.disputes import EVIDENCE_LENGTH, PAIR_TYPES, RATIONALE_LENGTH, SINGLE_TYPES
from reflections.services.disputes.pairs import in_order

MATTER: Final = "dispute"


class Challenged(NamedTuple):
    """``already_pending`` is True when the challenge joined one that was open before."""

    dispute: Dispute
    already_pending: bool


def challenge(*, actor: Actor, memory: Memory, reason: str = "", evidence: str = "", session: str = "") -> Challenged:
    """Say that *memory* misled. It stays live, is flagged in recall until somebody has settled it, and ranks lower
    unless it is upheld or corrected.

    While a challenge is open, another one changes nothing. Raises ValidationFailed, also for a secret in the texts,
    NotFound, Forbidden, or Conflict for a memory that is retired.
    """
    _check_challenge(reason, evidence, session)
    with writing():
        memory = locked(actor, memory)
        if memory.invalidated_at:
            raise Conflict("This memory is retired already, so there is nothing to challenge.")
        if pending := _open_challenge(memory):
            return Challenged(pending, already_pending=True)
        dispute = Dispute.objects.create(
            scope=memory.scope,
            type=Dispute.Type.CHALLENGED,
            subject=memory,
            rationale=reason,
            evidence=evidence,
            opened_by=actor.user,
            opened_actor=actor.label[:200],
        )
        record_challenge(memory=memory, user=actor.user, session=session, at=dispute.opened_at)
        record(actor=actor, action="challenge", subject=memory, scope=memory.scope, dispute=str(dispute.pk))
        record(actor=actor, action="open_dispute", subject=dispute, scope=memory.scope, type=dispute.type)
    return Challenged(dispute, already_pending=False)


def open_pair(
    *,
    one: Memory,
    another: Memory,
    type: str,
    scanner: str,
    model: str = "",
    proposed_winner: Memory | None = None,
    **judged: Any,
) -> Dispute | None:
    """Queue two memories; None when they were queued before, in whatever status, or one of them is retired.

    *judged* are ``confidence``, ``rationale`` and ``evidence``. Secrets that a model quotes in them are masked.
    """
    _check_pair(one, another, type)
    with writing():
        take_turns_over(one, another)
        if Dispute.objects.of_pair(one, another).exists() or _is_one_retired(one, another):
            return None
        older, newer = in_order(one, another)
        return opened(scanner, model, type=type, subject=older, other=newer, proposed_winner=proposed_winner, **judged)


def open_single(*, memory: Memory, type: str, scanner: str, model: str = "", **judged: Any) -> Dispute | None:
    """Queue one memory; None when such a doubt about it is open already, or it is retired.

    *judged* are those of ``open_pair``, and of a misfiled memory the ``proposed_kind``.
    """
    if type not in SINGLE_TYPES:
        raise ValidationFailed(f"The type must be one of {', '.join(SINGLE_TYPES)}.", field="type")
    with writing():
        take_turns(memory.scope_id, MATTER, f"{memory.pk}:{type}")
        if _open_single(memory, type) or _is_one_retired(memory):
            return None
        return opened(scanner, model, type=type, subject=memory, **judged)


def opened(
    scanner: str, model: str, *, subject: Memory, rationale: str = "", evidence: str = "", **columns: Any
) -> Dispute:
    """The new row of a scanner, in the caller's transaction, with the audit entry that names scanner and model."""
    dispute = Dispute.objects.create(
        scope=subject.scope,
        subject=subject,
        rationale=guard.masked(rationale)[:RATIONALE_LENGTH],
        evidence=guard.masked(evidence)[:EVIDENCE_LENGTH],
        scanner=scanner,
        model=model,
        opened_actor=label_of(scanner, model),
        **columns,
    )
    record(
        actor=None,
        label=label_of(scanner, model),
        action="open_dispute",
        subject=dispute,
        scope=dispute.scope,
        type=dispute.type,
        scanner=scanner,
        model=model,
    )
    return dispute


def label_of(scanner: str, model: str) -> str:
    """``pair scan (openai:gpt-x)``: who acts when nobody asked."""
    return f"{scanner} ({model})"[:200] if model else scanner


def take_turns_over(one: Memory, another: Memory) -> None:
    low, high = sorted((one.pk, another.pk))
    take_turns(one.scope_id, MATTER, f"{low}:{high}")


def _open_single(memory: Memory, type: str) -> Dispute | None:
    return Dispute.objects.unsettled().singles().filter(subject=memory, type=type).first()


def _open_challenge(memory: Memory) -> Dispute | None:
    """Also one that has become a suspect."""
    rows = Dispute.objects.unsettled().singles().filter(subject=memory).order_by("pk")
    return next((row for row in rows if row.is_challenge), None)


def _is_one_retired(*memories: Memory) -> bool:
    ids = [memory.pk for memory in memories]
    return Memory.objects.filter(pk__in=ids, invalidated_at__isnull=True).count() < len(ids)


def _check_pair(one: Memory, another: Memory, type: str) -> None:
    if type not in PAIR_TYPES:
        raise ValidationFailed(f"The type must be one of {', '.join(PAIR_TYPES)}.", field="type")
    if one.pk == another.pk or one.scope_id != another.scope_id:
        raise ValidationFailed("A pair is two memories of one scope.", field="other")


def _check_challenge(reason: str, evidence: str, session: str) -> None:
    check_line(reason, "reason")
    check_line(session, "session")
    check_storable(evidence, "evidence")
    if len(evidence) > EVIDENCE_LENGTH:
        raise ValidationFailed(f"The evidence may have at most {EVIDENCE_LENGTH} characters.", field="evidence")
