"""Summaries of what is fading: drafted for a person, or put in the place of their sources at once; and taken back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from django.db import IntegrityError, transaction
from django.utils import timezone

from memories.access import Actor
from memories.entities import EntitySpec
from memories.errors import Conflict
from memories.models import Memory, RetentionCycle
from memories.retention import AUTOMATIC, RetentionRule
from memories.services.audit import record
from memories.services.lifecycle import forget
from memories.services.retention import SCANNER, summary_source
from memories.services.summaries import replace_by_summary
from memories.services.validation import MOST_ENTITIES
from memories.services.writing import locked, writing
from reflections.fading import FEWEST, JOB, fading, waiting_summaries, was_made_lately
from reflections.models import Candidate, CandidateMember
from reflections.presentation import counted, counted_memories
from reflections.services.asking import ask, is_model_configured
from reflections.services.disputes import open_pair
from reflections.services.disputes.opening import label_of
from reflections.services.summary_sources import UNDONE, add_members, give_back
from reflections.shared import shared_entities
from reflections.summary import Disputed, Summed, confidence_of, question, quoted, shown_whole, summed
from zeromemory.llm import ModelError

Trigger = RetentionCycle.Trigger

UNASKED: Final = (Trigger.WRITE, Trigger.SCHEDULE, Trigger.AGENT)  # such cycles come as often as an agent writes
WAITS_ALREADY: Final = "A summary waits in the inbox, so no other was drafted."
NOTHING: Final = "No summary: nothing that one text could stand in for was found among what is fading."
NO_MORE_A_SUMMARY: Final = "This memory is no summary that was made by itself, or it was retired since."


def summarise(cycle: RetentionCycle, rule: RetentionRule, *, may_ask: bool = True) -> int:
    """Summarise what is fading in the cycle's scope; how many memories that retired at once. The cycle's note says
    what came of it.

    Without a model the draft quotes, and a person decides about it, whatever the scope's policy. A model that does not
    answer, or not usably, changes nothing. No transaction may be open.
    """
    asks = may_ask and is_model_configured()
    is_automatic = asks and rule.summaries == AUTOMATIC
    if not is_automatic and waiting_summaries(cycle.scope).exists():
        return _noted(cycle, WAITS_ALREADY)
    if cycle.trigger in UNASKED and was_made_lately(cycle.scope, timezone.now()):
        return 0
    batch = fading(cycle.scope)
    if asks:
        batch = shown_whole(batch)
    if len(batch) < FEWEST:
        return 0
    return _from(cycle, batch, asks=asks, is_automatic=is_automatic)


def _from(cycle: RetentionCycle, batch: Sequence[Memory], *, asks: bool, is_automatic: bool) -> int:
    try:
        found = summed(ask(question(batch), job=JOB, scope=cycle.scope), batch) if asks else quoted(batch)
    except ModelError as error:
        return _noted(cycle, f"No summary: {error}")
    opened = sum(_dispute(pair, found.model) for pair in found.disputed)
    if opened:
        was = "was" if opened == 1 else "were"
        _noted(cycle, f"{counted(opened, 'dispute')} about what cannot both hold {was} opened.")
    if found.is_empty:
        return _noted(cycle, NOTHING)
    return _replace(cycle, found) if is_automatic else _propose(cycle, found)


def _noted(cycle: RetentionCycle, sentence: str) -> int:
    cycle.note = f"{cycle.note} {sentence}".strip()
    return 0


def _dispute(pair: Disputed, model: str) -> bool:
    opened = open_pair(
        one=pair.one, another=pair.another, type="contradiction", scanner=SCANNER, model=model, rationale=pair.rationale
    )
    return opened is not None


# At once -------------------------------------------------------------------------------------


def _replace(cycle: RetentionCycle, found: Summed) -> int:
    try:
        replace_by_summary(
            scope=cycle.scope,
            content=found.content,
            sources=found.consumed,
            confidence=confidence_of(found.consumed),
            source=summary_source(cycle),
            agent=SCANNER,
            label=label_of(SCANNER, found.model),
            named=_shared(found.consumed),
        )
    except Conflict as error:
        return _noted(cycle, f"No summary: {error}")
    return len(found.consumed)


def _shared(sources: Sequence[Memory]) -> list[EntitySpec]:
    return [EntitySpec(entity.name, entity.type) for entity in shared_entities(sources)[:MOST_ENTITIES]]


def take_back(*, actor: Actor, memory: Memory) -> int:
    """Undo a summary that was made by itself: it is forgotten, and what it stood for is restored; how many that were.

    They are not summarised again: the summary goes to the dismissed drafts, from where it can be asked about anew.
    Raises Conflict for another memory, or for one that was retired, NotFound or Forbidden like every write.
    """
    with writing():
        summary = locked(actor, memory)
        if summary.agent != SCANNER or not summary.source.startswith(f"{SCANNER}:") or summary.invalidated_at:
            raise Conflict(NO_MORE_A_SUMMARY)
        sources = give_back(actor=actor, memory=summary)
        forget(actor=actor, memory=summary, reason=UNDONE)
        _set_aside(actor, summary, sources)
    return len(sources)


def _set_aside(actor: Actor, summary: Memory, sources: Sequence[Memory]) -> None:
    free = [source for source in sources if not CandidateMember.objects.filter(memory=source).exists()]
    if not free:
        return
    candidate = Candidate.objects.create(
        scope=summary.scope,
        purpose=Candidate.Purpose.SUMMARY,
        draft=summary.content,
        origin=SCANNER,
        state=Candidate.State.DISMISSED,
        reason=UNDONE,
        decided_by=actor.user,
        decided_at=timezone.now(),
    )
    add_members(candidate, free)
    record(actor=actor, action="dismiss", subject=candidate, scope=candidate.scope, reason=UNDONE)


# Through the inbox ---------------------------------------------------------------------------


def _propose(cycle: RetentionCycle, found: Summed) -> int:
    try:
        with transaction.atomic():
            _proposed(cycle, found)
    except IntegrityError:  # another run claimed one of them for a draft at this moment
        return _noted(cycle, "No summary: what it was to stand for went into another draft meanwhile.")
    return _noted(cycle, f"A summary of {counted_memories(len(found.consumed))} waits in the inbox.")


def _proposed(cycle: RetentionCycle, found: Summed) -> None:
    candidate = Candidate.objects.create(
        scope=cycle.scope,
        purpose=Candidate.Purpose.SUMMARY,
        draft=found.content,
        sentences=list(found.lines),
        origin=found.model or "extractive",
        rationale=_rationale(found),
    )
    add_members(candidate, found.consumed)
    members = len(found.consumed)
    record(
        actor=None, label=label_of(SCANNER, found.model), action="propose", subject=candidate, scope=cycle.scope,
        members=members, cycle=str(cycle.pk), origin=candidate.origin,
    )  # fmt: skip


def _rationale(found: Summed) -> str:
    how = "" if found.model else " It quotes each of them, because no model is configured."
    return (
        f"Summary of what is fading, {counted_memories(len(found.consumed))}: hardly anybody asks for it any more.{how}"
    )
