"""The full hygiene cycle without a model, over many memories that were all written lately."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from django.utils import timezone

from memories.models import Memory, Scope
from reflections.hygiene import STEPS, start_cycle, work_on
from reflections.models import RunStep
from tests.benchmarks import corpus, databases
from tests.benchmarks.corpus import Tell
from zeromemory.embedding import Embedder

SIZES: Final = (5_000, 20_000)


@dataclass(frozen=True, slots=True)
class Cycle:
    """Seconds of the whole and of each step; *again* are those of a second cycle, which finds less to do."""

    memories: int
    episodes: int
    seconds: float
    steps: Sequence[tuple[str, float]]
    again: float


def measure(size: int, embedder: Embedder, folder: Path, tell: Tell) -> Cycle:
    """In a database of its own, made anew and dropped: a cycle changes what it finds."""
    databases.drop(databases.name_of(f"hygiene_{size}"))
    with corpus.opened(size, embedder, folder, tell, kept_as=f"hygiene_{size}"):
        Memory.objects.update(recorded_at=timezone.now())
        episodes = Memory.objects.live().filter(kind="episode").count()
        tell(f"{size:,} memories: the full cycle.")
        seconds, steps = _cycle()
        again, _ = _cycle()
    databases.drop(databases.name_of(f"hygiene_{size}"))
    return Cycle(size, episodes, seconds, steps, again)


def _cycle() -> tuple[float, list[tuple[str, float]]]:
    began = time.perf_counter()
    run = start_cycle(actor=None, scopes=list(Scope.objects.order_by("pk")), label="benchmark", ring=False).run
    work_on(run.pk)
    seconds = time.perf_counter() - began
    return seconds, [(STEPS[step.name].title, _seconds(step)) for step in run.steps.all()]


def _seconds(step: RunStep) -> float:
    return (step.finished_at - step.started_at).total_seconds() if step.finished_at and step.started_at else 0.0
