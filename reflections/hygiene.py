"""The hygiene cycle: named steps in a fixed order. Each finds what may have drifted and reports what it did about it.

A step reads what is to be done from the rows as they are, so it may be run twice, interrupted at any point and taken up
by another worker. Nothing it does needs a model; with one it does more.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Literal

from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.utils import timezone

from memories.access import Actor
from memories.errors import ValidationFailed, ZeroMemoryError
from memories.models import Scope
from reflections.models import Run, RunStep
from reflections.services import asking, runs
from reflections.services.asking import BudgetSpent
from reflections.services.progress import CancelledError, Progress, TakenOverError, beat, heard_of
from reflections.services.runs import Started
from reflections.steps import (
    code_changes,
    entity_merge,
    external_reverification,
    kind_audit,
    loop_closure,
    pairs,
    reexamination,
    reflection,
    reinforcement_rollup,
    retention,
    rule_candidates,
    stale_suspects,
    stale_sweep,
)
from zeromemory.embedding import EmbedderError
from zeromemory.llm import ModelBusy, ModelError, ModelUnavailable

logger = logging.getLogger(__name__)
KNOWN: Final = (ZeroMemoryError, EmbedderError, ModelError)
# With one scope of these a step has failed for all: the same service would be asked in vain for each.
HOPELESS: Final = (EmbedderError, ModelUnavailable, ModelBusy, BudgetSpent)

DATABASE_AWAY: Final = (OperationalError, InterfaceError)
TAKEN_UP: Final = "Its first worker was lost. The numbers count from when another took it up."

type Asks = Literal["never", "if configured", "always"]


@dataclass(frozen=True, slots=True)
class Step:
    """``work`` does the step over one scope; ``survey`` says in a sentence what it would do there and writes nothing.
    ``asks``: whether it asks the model."""

    name: str
    title: str
    does: str
    may_change: str
    work: Callable[[Scope, Progress], None]
    survey: Callable[[Scope], str]
    asks: Asks = "never"

    @property
    def in_quick(self) -> bool:
        """The quick cycle asks no model. What would ask one if there was one is part of it while there is none."""
        return self.asks == "never" or (self.asks == "if configured" and not asking.is_model_configured())


STEPS: Final[dict[str, Step]] = {
    step.name: step
    for step in (
        Step(
            "pair_scan",
            "Compare new memories with their nearest",
            "Finds duplicates, corrections and contradictions among what was written lately.",
            "forgets exact duplicates and what a session corrected itself, both restorable; opens disputes",
            pairs.work,
            pairs.survey,
            asks="if configured",
        ),
        Step(
            "kind_audit",
            "Check the kinds of new memories",
            "Asks the model whether what agents and imports wrote is of the kind it is filed as.",
            "nothing; opens disputes that propose another kind",
            kind_audit.work,
            kind_audit.survey,
            asks="always",
        ),
        Step(
            "stale_sweep",
            "Sweep the inbox",
            "Dismisses disputes about memories that were retired meanwhile.",
            "the state of disputes; never a memory",
            stale_sweep.work,
            stale_sweep.survey,
        ),
        Step(
            "code_changes",
            "Read the code that memories are about",
            "Finds memories whose code changed or is gone, and items of the inbox whose code is back.",
            "the state of disputes; opens disputes; never a memory",
            code_changes.work,
            code_changes.survey,
        ),
        Step(
            "rule_candidates",
            "Propose standing rules",
            "Finds conventions, preferences and gotchas that several sessions found useful of late.",
            "proposals of rules; never a memory",
            rule_candidates.work,
            rule_candidates.survey,
        ),
        Step(
            "reflection",
            "Draft facts from clusters of episodes",
            "Looks for episodes that tell of the same thing and proposes one fact for each cluster.",
            "drafts; never a memory",
            reflection.work,
            reflection.survey,
            asks="if configured",
        ),
        Step(
            "loop_closure",
            "Close loops that newer memories settle",
            "Asks the model whether a newer memory shows that a task is done or a question is answered.",
            "closes tasks and questions, which restore opens again; opens disputes",
            loop_closure.work,
            loop_closure.survey,
            asks="always",
        ),
        Step(
            "reinforcement_rollup",
            "Roll up what was said of memories",
            "Computes how far reports of use lift or lower each memory, and lets go of those that left the window.",
            "the multiplier of a memory's score; never a text",
            reinforcement_rollup.work,
            reinforcement_rollup.survey,
        ),
        Step(
            "stale_suspects",
            "Ask about what misled more than once",
            "Finds memories that several sessions report as misleading since somebody last decided about them.",
            "nothing; opens disputes",
            stale_suspects.work,
            stale_suspects.survey,
        ),
        Step(
            "entity_merge",
            "Merge entities of one name",
            "Finds things that are named with a type in one memory and without one in another.",
            "which entity a memory names; never a text",
            entity_merge.work,
            entity_merge.survey,
        ),
        Step(
            "external_reverification",
            "Look up facts of the world",
            "Searches the web for core facts and references that nobody has looked at for long.",
            "the ledger of checks; opens disputes; never a memory",
            external_reverification.work,
            external_reverification.survey,
            asks="always",
        ),
        Step(
            "reexamination",
            "Look again at what is recalled most",
            "Asks the model about memories that agents are given often, beside their nearest of any age.",
            "what the pair scan may change, and old counts of recalls",
            reexamination.work,
            reexamination.survey,
            asks="always",
        ),
        Step(
            "retention",
            "Let decaying scopes forget",
            "Lowers the weights of scopes that decay, summarises what is hardly used, and lets go of what nobody "
            "asked for.",
            "weights; retires into summaries or the archive, restorable, or deletes where the scope's policy says so",
            retention.work,
            retention.survey,
            asks="if configured",
        ),
    )
}


def start_cycle(
    *,
    actor: Actor | None,
    scopes: Sequence[Scope],
    kind: str = Run.Kind.FULL,
    steps: Sequence[str] | None = None,
    label: str = runs.SCHEDULE,
    ring: bool = True,
) -> Started:
    """Queue the full or the quick cycle, or the steps that are named, over *scopes*. Raises like ``start_run``."""
    if steps is not None:
        kind = Run.Kind.CHOSEN
    elif kind not in (Run.Kind.QUICK, Run.Kind.FULL):
        raise ValidationFailed("The kind is quick or full.", field="kind")
    chosen = named(steps) if steps is not None else [s for s in STEPS.values() if s.in_quick or kind == Run.Kind.FULL]
    return runs.start_run(
        actor=actor, scopes=scopes, kind=kind, steps=[step.name for step in chosen], label=label, ring=ring
    )


def named(names: Sequence[str]) -> list[Step]:
    """The steps of these names, in the order of the cycle."""
    unknown = [name for name in names if name not in STEPS]
    if unknown or not names:
        problem = f"There is no step {unknown[0]!r}." if unknown else "Name at least one step."
        raise ValidationFailed(f"{problem} The steps are: {', '.join(STEPS)}.", field="steps")
    return [step for name, step in STEPS.items() if name in names]


def start_if_due() -> list[Run]:
    """Queue the full cycle of the schedule, one run for each scope that had none for so many hours; none where it is
    off. A run for each scope, so that whoever sees one sees nothing of another scope."""
    if not settings.HYGIENE_HOURS:
        return []
    since = timezone.now() - timedelta(hours=settings.HYGIENE_HOURS)
    lately = Run.objects.filter(kind=Run.Kind.FULL, requested_at__gt=since).exclude(state=Run.State.CANCELLED)
    due = Scope.objects.exclude(runs__in=lately).order_by("pk")
    started = [start_cycle(actor=None, scopes=[scope]) for scope in due]
    return [one.run for one in started if one.is_new]


def work_on(run_id: str | uuid.UUID) -> None:
    """Do a queued run. Returns quietly when another worker has it, or when it is gone.

    A step that fails is reported, and the next ones go on. An unexpected error is raised again at the end.
    """
    run = runs.claim(run_id)
    if run is None:
        return
    unexpected: list[Exception] = []
    try:
        with heard_of(run):
            for step in run.steps.exclude(state=RunStep.State.DONE):
                _do(run, step, unexpected)
        _end(run)
    except TakenOverError:
        logger.info("Run %s was taken over by another worker.", run.pk)
    except DATABASE_AWAY as error:
        # Nothing can be written about it now. Its heartbeat is missed in half a minute, and it goes on at this step.
        logger.warning("Run %s lost the database: %s", run.pk, error)
    except CancelledError:
        _stop(run)
    if unexpected:
        raise unexpected[0]


def _do(run: Run, step: RunStep, unexpected: list[Exception]) -> None:
    again = {"found": 0, "done": 0, "skipped": 0, "failed": 0, "note": TAKEN_UP} if step.started_at else {"note": ""}
    _mark(run, step, RunStep.State.RUNNING, started_at=timezone.now(), **again)
    try:
        _over_scopes(run, step)
    except (TakenOverError, CancelledError, *DATABASE_AWAY):
        raise
    except Exception as error:
        beat(run)  # whoever lost the run has nothing to say about it any more
        _mark(run, step, RunStep.State.FAILED, finished_at=timezone.now(), note=_reason(error)[:2000])
        if not isinstance(error, KNOWN):
            logger.exception("Step %s of run %s failed", step.name, run.pk)
            unexpected.append(error)
        return
    beat(run)
    _mark(run, step, RunStep.State.DONE, finished_at=timezone.now())


def _over_scopes(run: Run, step: RunStep) -> None:
    """Raises the first of the known errors, after the scopes that come behind it have had their turn."""
    progress, failures = Progress(run, step), []
    try:
        for scope in run.scopes.select_related("owner").order_by("pk"):
            if failure := _over_scope(step.name, scope, progress):
                failures.append(failure)
    finally:
        progress.write()
    if failures:
        raise failures[0]


def _over_scope(name: str, scope: Scope, progress: Progress) -> Exception | None:
    try:
        STEPS[name].work(scope, progress)
    except HOPELESS:
        raise
    except KNOWN as error:
        return error
    progress.scope_done()
    return None


def _mark(run: Run, step: RunStep, state: str, **columns: object) -> None:
    RunStep.objects.filter(pk=step.pk, run__attempts=run.attempts).update(state=state, **columns)


def _end(run: Run) -> None:
    failed = run.steps.filter(state=RunStep.State.FAILED).first()
    runs.finish(run, Run.State.FAILED if failed else Run.State.DONE, error=failed.note if failed else "")


def _stop(run: Run) -> None:
    ended = runs.finish(run, Run.State.CANCELLED)
    if ended:
        left = run.steps.filter(state__in=[RunStep.State.WAITING, RunStep.State.RUNNING])
        left.update(state=RunStep.State.CANCELLED, finished_at=timezone.now())


def _reason(error: Exception) -> str:
    if isinstance(error, KNOWN):
        return str(error)
    return f"It stopped at an unexpected error ({type(error).__name__}). The worker's log has the details."
