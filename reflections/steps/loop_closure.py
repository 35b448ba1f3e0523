"""Close the tasks and questions that a newer memory settles, as a judge sees it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import batched, groupby
from operator import attrgetter
from typing import Final, NamedTuple
from uuid import UUID

from django.utils import timezone

from memories.models import Memory, Scope
from memories.models.memory import LOOPS
from reflections import configuration
from reflections.eligible import current_stamp
from reflections.models import HygieneConfig
from reflections.nearest import loop_evidence
from reflections.presentation import counted
from reflections.services import asking
from reflections.services.disputes.pairs import shown
from reflections.services.loops import JOB, Outcome, closed_by, note_rejected, seen_with, settle
from reflections.services.progress import Progress
from reflections.steps import with_model
from zeromemory.llm import CloseLoop, ModelRejected

LOOPS_AT_ONCE: Final = 200


class Found(NamedTuple):
    """A loop and its evidence, as they were at that moment."""

    loop: UUID
    evidence: list[UUID]
    looked_at: datetime


def work(scope: Scope, progress: Progress) -> None:
    if not with_model.is_ready(progress):
        return
    rule, closed = configuration.hygiene(), closed_by(progress.run)
    if closed >= rule.loop_most:
        return
    for found in _with_new_evidence(scope, rule):
        outcome = _judge(scope, progress, rule, found)
        closed += outcome == Outcome.CLOSED
        if closed >= rule.loop_most:
            progress.note(f"{counted(closed, 'loop')} were closed. The next run goes on from here.")
            return


def survey(scope: Scope) -> str:
    if not asking.is_model_configured():
        return with_model.SURVEY
    loops = sum(1 for _ in _with_new_evidence(scope, configuration.hygiene()))
    return f"would ask about {counted(loops, 'open loop')}"


def _with_new_evidence(scope: Scope, rule: HygieneConfig) -> Iterator[Found]:
    """Oldest loops first."""
    rows = Memory.objects.live().filter(scope=scope, kind__in=LOOPS).order_by("created_at", "pk")
    for loops in batched(list(rows.values_list("pk", flat=True)), LOOPS_AT_ONCE):
        looked_at = timezone.now()  # before the look: the judge takes its time, and what comes meanwhile is new
        found = _new_evidence(loops, rule)
        yield from (Found(loop, found[loop], looked_at) for loop in loops if loop in found)


def _new_evidence(loops: Sequence[UUID], rule: HygieneConfig) -> dict[UUID, list[UUID]]:
    near = loop_evidence(loops, scanner=JOB, stamp=current_stamp(), cosine=rule.loop_cosine, nearest=rule.loop_evidence)
    seen = seen_with(loops)
    fresh = [pair for pair in near if pair.ends not in seen]
    return {loop: [pair.other for pair in group] for loop, group in groupby(fresh, key=attrgetter("subject"))}


def _judge(scope: Scope, progress: Progress, rule: HygieneConfig, found: Found) -> Outcome:
    """Raises ModelError where the model does not answer."""
    rows = Memory.objects.live().select_related("scope").in_bulk([found.loop, *found.evidence])
    loop, evidence = rows.get(found.loop), [rows[pk] for pk in found.evidence if pk in rows]
    if loop is None or not evidence:
        return Outcome.LEFT
    question = CloseLoop(shown(loop), tuple(map(shown, evidence)))
    try:
        answer = asking.ask(question, job=JOB, scope=scope, run_id=progress.run.pk)
    except ModelRejected:
        note_rejected(loop=loop, evidence=evidence, looked_at=found.looked_at, model=asking.model_name())
        progress.count(found=1, failed=1)
        return Outcome.LEFT
    outcome = settle(
        loop=loop,
        evidence=evidence,
        looked_at=found.looked_at,
        verdict=answer.value,
        model=answer.model,
        closes_from=rule.loop_confidence,
        asks_from=rule.loop_ask_confidence,
    )
    progress.count(found=1, done=int(outcome != Outcome.LEFT), skipped=int(outcome == Outcome.LEFT))
    return outcome
