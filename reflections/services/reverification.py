"""What becomes of a world fact that was looked up on the web. Nothing here retires a memory."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Final

from django.db import transaction

from memories.models import AuditEntry, Memory, Scope, Verification
from memories.services.audit import record
from memories.services.verification import stamp_by_search
from memories.services.writing import writing
from reflections.models import Dispute, Examined, Run
from reflections.services.disputes import open_single
from reflections.services.disputes.opening import label_of
from zeromemory.llm import WorldFactVerdict

SCANNER: Final = "web check"
JOB: Final = "external_reverification"
SKIP: Final = "skip_web_check"  # the act of a run whose provider has no web search


class Outcome(StrEnum):
    STAMPED = "stamped"
    QUEUED = "queued"
    LEFT = "left"


def settle(
    *, memory: Memory, verdict: WorldFactVerdict, looked_at: datetime, run: Run, model: str, counts_from: float
) -> Outcome:
    """Stamp the ledger, ask a person, or leave it; and note that *run* has looked at *memory*.

    That nobody can tell counts however sure the model is of it: there was a look, and another one tomorrow would find
    no more. That it holds, or does not, counts from that confidence on.
    """
    with writing():
        rows = Memory.objects.live().select_related("scope").select_for_update(of=("self",))
        row = rows.filter(pk=memory.pk).first()
        note_looked(memory=memory, run=run, model=model)
        if row is None or row.verifications.standing().filter(at__gte=looked_at).exists():
            return Outcome.LEFT
        if verdict.verdict == "unclear":
            return _stamp(row, Verification.Verdict.UNVERIFIABLE, verdict, looked_at, model)
        if verdict.confidence < counts_from:
            return Outcome.LEFT
        if verdict.verdict == "current":
            return _stamp(row, Verification.Verdict.CURRENT, verdict, looked_at, model)
        return _ask_a_person(row, verdict, model)


def _stamp(row: Memory, word: str, verdict: WorldFactVerdict, at: datetime, model: str) -> Outcome:
    stamp_by_search(
        memory=row,
        verdict=word,
        label=label_of(SCANNER, model),
        at=at,
        source=verdict.source or "",
        note="",
        confidence=verdict.confidence,
        model=model,
    )
    return Outcome.STAMPED


def _ask_a_person(row: Memory, verdict: WorldFactVerdict, model: str) -> Outcome:
    """With what changed and the page that says so. The ledger stays as it is: a person has not looked yet."""
    dispute = open_single(
        memory=row,
        type=Dispute.Type.OUTDATED,
        scanner=SCANNER,
        model=model,
        confidence=verdict.confidence,
        rationale=verdict.what_changed,
        evidence=verdict.source or "",
    )
    return Outcome.QUEUED if dispute else Outcome.LEFT


def note_looked(*, memory: Memory, run: Run, model: str) -> None:
    """So that *run* does not look again. Of each memory the last look alone is kept."""
    with transaction.atomic():
        Examined.objects.filter(scanner=JOB, memory=memory).delete()
        Examined.objects.create(scanner=JOB, memory=memory, matter=str(run.pk), model=model)


def looked_at_by(run: Run) -> int:
    return Examined.objects.filter(scanner=JOB, matter=str(run.pk)).count()


def note_skipped(*, scope: Scope, run: Run, provider: str, model: str, due: int) -> None:
    """The provider has no web search, so that nothing of *scope* was looked up."""
    record(
        actor=None,
        label=label_of(SCANNER, model),
        action=SKIP,
        subject=scope,
        scope=scope,
        scanner=SCANNER,
        provider=provider,
        model=model,
        run=str(run.pk),
        skipped=due,
    )


def provider_without_search(run: Run) -> str:
    """Of the provider that *run* has found to have none; empty where it has not asked, or was answered."""
    entry = AuditEntry.objects.filter(action=SKIP, detail__run=str(run.pk), at__gte=run.requested_at).first()
    return str(entry.detail["provider"]) if entry else ""
