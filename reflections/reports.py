"""What a run did, in words and numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from reflections.hygiene import STEPS
from reflections.models import ModelCall, Run, RunStep
from reflections.querysets.model_calls import ESTIMATED, READ_AND_WRITTEN


@dataclass(frozen=True, slots=True)
class StepReport:
    """One row of the report. ``tokens`` read and written by the model for this step, some of them ``estimated`` where
    the server reported none."""

    step: RunStep
    title: str
    tokens: int
    estimated: bool = False

    @property
    def numbers(self) -> list[str]:
        """Found, came of it, passed over, failed, tokens; as people read them."""
        step = self.step
        counts = [f"{number:,}" for number in (step.found, step.done, step.skipped, step.failed)]
        return [*counts, self.spent or "–"]

    @property
    def spent(self) -> str:
        return spent_words(self.tokens, self.estimated)


def reports_of(run: Run) -> list[StepReport]:
    calls = ModelCall.objects.filter(run_id=run.pk).values_list("job")
    spent = {job: (tokens, estimated) for job, tokens, estimated in calls.annotate(n=READ_AND_WRITTEN, e=ESTIMATED)}
    return [StepReport(step, title_of(step.name), *spent.get(step.name, (0, False))) for step in run.steps.all()]


def spent_words(tokens: int, estimated: bool) -> str:
    """``about 1,200`` where some of them are estimates; empty for none."""
    return f"{'about ' if estimated else ''}{tokens:,}" if tokens else ""


def title_of(name: str) -> str:
    """A step that is no longer part of the cycle keeps its name."""
    return STEPS[name].title if name in STEPS else name


def lines_of(run: Run) -> Iterator[str]:
    """``pair_scan: done. 12 found, 3 done, 9 skipped``"""
    for report in reports_of(run):
        step = report.step
        counts = {"found": step.found, "done": step.done, "skipped": step.skipped, "failed": step.failed}
        told = [f"{number:,} {word}" for word, number in counts.items() if number or word in ("found", "done")]
        tokens = [f"{report.spent} tokens"] if report.tokens else []
        note = f". {step.note}" if step.note else ""
        yield f"{step.name}: {step.get_state_display().lower()}. {', '.join(told + tokens)}{note}"
