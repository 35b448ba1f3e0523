"""What a run did, in words and numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.db.models import Sum

from reflections.hygiene import STEPS
from reflections.models import ModelCall, Run, RunStep


@dataclass(frozen=True, slots=True)
class StepReport:
    """One row of the report. ``tokens`` read and written by the model for this step."""

    step: RunStep
    title: str
    tokens: int

    @property
    def numbers(self) -> list[str]:
        """Found, came of it, passed over, failed, tokens; as people read them."""
        step = self.step
        counts = [f"{number:,}" for number in (step.found, step.done, step.skipped, step.failed)]
        return [*counts, f"{self.tokens:,}" if self.tokens else "–"]


def reports_of(run: Run) -> list[StepReport]:
    calls = ModelCall.objects.filter(run_id=run.pk).values_list("job")
    tokens = dict(calls.annotate(tokens=Sum("input_tokens") + Sum("output_tokens")))
    return [StepReport(step, title_of(step.name), tokens.get(step.name, 0)) for step in run.steps.all()]


def title_of(name: str) -> str:
    """A step that is no longer part of the cycle keeps its name."""
    return STEPS[name].title if name in STEPS else name


def lines_of(run: Run) -> Iterator[str]:
    """``pair_scan: done. 12 found, 3 done, 9 skipped``"""
    for report in reports_of(run):
        step = report.step
        counts = {"found": step.found, "done": step.done, "skipped": step.skipped, "failed": step.failed}
        told = [f"{number:,} {word}" for word, number in counts.items() if number or word in ("found", "done")]
        tokens = [f"{report.tokens:,} tokens"] if report.tokens else []
        note = f". {step.note}" if step.note else ""
        yield f"{step.name}: {step.get_state_display().lower()}. {', '.join(told + tokens)}{note}"
