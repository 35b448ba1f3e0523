"""The full hygiene cycle without a model, over many memories that were all written lately."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import batched
from pathlib import Path
from typing import Final

from django.utils import timezone

from memories.models import Memory, Scope
from reflections import configuration
from reflections.eligible import current_stamp
from reflections.hygiene import STEPS, start_cycle, work_on
from reflections.models import RunStep
from reflections.nearest import nearest_pairs
from reflections.steps.pairs import SUBJECTS_AT_ONCE, subjects_of
from tests.benchmarks import corpus, databases
from tests.benchmarks.corpus import Tell
from zeromemory.embedding import Embedder

SIZES: Final = (5_000, 20_000)


@dataclass(frozen=True, slots=True)
class Cycle:
    """Seconds of the whole and of each step; *again* are those of a second cycle, which finds less to do, and *pairs*
    those of the statement that finds the nearest of all *subjects*, in the portions of the step."""

    memories: int
    episodes: int
    seconds: float
    steps: Sequence[tuple[str, float]]
    again: float
    subjects: int
    pairs: float


def measure(size: int, embedder: Embedder, folder: Path, tell: Tell) -> Cycle:
    """In a database of its own, made anew and dropped: a cycle changes what it finds."""
    databases.drop(databases.name_of(f"hygiene_{size}"))
    with corpus.opened(size, embedder, folder, tell, kept_as=f"hygiene_{size}"):
        Memory.objects.update(recorded_at=timezone.now())
        episodes = Memory.objects.live().filter(kind="episode").count()
        tell(f"{size:,} memories: the nearest of each.")
        subjects, pairs = _nearest()
        tell(f"{size:,} memories: the full cycle.")
        seconds, steps = _cycle()
        again, _ = _cycle()
    databases.drop(databases.name_of(f"hygiene_{size}"))
    return Cycle(size, episodes, seconds, steps, again, subjects, pairs)


def _nearest() -> tuple[int, float]:
    """How many subjects there are, and the seconds for the nearest of all of them."""
    rule, subjects, seconds = configuration.hygiene(), 0, 0.0
    for scope in Scope.objects.order_by("pk"):
        for portion in batched(subjects_of(scope, rule), SUBJECTS_AT_ONCE):
            began = time.perf_counter()
            list(nearest_pairs(portion, stamp=current_stamp(), cosine=rule.pair_cosine, nearest=rule.pair_candidates))
            subjects, seconds = subjects + len(portion), seconds + time.perf_counter() - began
    return subjects, seconds


def _cycle() -> tuple[float, list[tuple[str, float]]]:
    began = time.perf_counter()
    run = start_cycle(actor=None, scopes=list(Scope.objects.order_by("pk")), label="benchmark", ring=False).run
    work_on(run.pk)
    seconds = time.perf_counter() - began
    return seconds, [(STEPS[step.name].title, _seconds(step)) for step in run.steps.all()]


def _seconds(step: RunStep) -> float:
    return (step.finished_at - step.started_at).total_seconds() if step.finished_at and step.started_at else 0.0
