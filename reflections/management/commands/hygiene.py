from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from memories.errors import ZeroMemoryError
from memories.models import Scope
from reflections import hygiene
from reflections.hygiene import STEPS, Step
from reflections.management.scopes import scopes_named
from reflections.models import Run
from reflections.reports import lines_of
from zeromemory.embedding import EmbedderError


class Command(BaseCommand):
    help = "Run the hygiene cycle now, all steps or one. What it cannot settle by itself waits for a person."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--scope", help="only this scope: its short name, or owner/name (default: all scopes)")
        parser.add_argument("--step", help=f"only this step, one of: {', '.join(STEPS)} (default: all steps)")
        parser.add_argument("--dry-run", action="store_true", help="say what it would do, and do nothing")

    def handle(self, *args: Any, scope: str | None, step: str | None, dry_run: bool, **options: Any) -> None:
        scopes = scopes_named(scope)
        try:
            steps = hygiene.named([step]) if step is not None else list(STEPS.values())
            if dry_run:
                self._survey(steps, scopes)
                return
            self._run(None if step is None else [step], scopes)
        except (ZeroMemoryError, EmbedderError) as error:
            raise CommandError(str(error)) from error

    def _survey(self, steps: Sequence[Step], scopes: Sequence[Scope]) -> None:
        for step in steps:
            for scope in scopes:
                self.stdout.write(f"{step.name}: {scope}: {step.survey(scope)}")

    def _run(self, steps: Sequence[str] | None, scopes: Sequence[Scope]) -> None:
        run, is_new = hygiene.start_cycle(actor=None, scopes=scopes, steps=steps, label="hygiene command", ring=False)
        if not is_new:
            raise CommandError(f"A run is {run.get_state_display().lower()} already. Try again when it has ended.")
        hygiene.work_on(run.pk)
        run.refresh_from_db()
        for line in lines_of(run):
            self.stdout.write(line)
        if run.state != Run.State.DONE:
            raise CommandError(f"The run has {run.get_state_display().lower()}. {run.error}".strip())
