from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from memories.errors import ZeroMemoryError
from memories.models import Scope
from reflections.hygiene import STEPS
from zeromemory.embedding import EmbedderError


class Command(BaseCommand):
    help = "Run the hygiene cycle now: propose drafts from clusters of episodes. Nothing is stored without a person."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--scope", help="only this scope: its short name, or owner/name (default: all scopes)")
        parser.add_argument("--step", help=f"only this step, one of: {', '.join(STEPS)} (default: all steps)")
        parser.add_argument("--dry-run", action="store_true", help="say what it would do, and do nothing")

    def handle(self, *args: Any, scope: str | None, step: str | None, dry_run: bool, **options: Any) -> None:
        scopes = _scopes(scope)
        for name in _steps(step):
            try:
                for line in STEPS[name](scopes, dry_run):
                    self.stdout.write(line)
            except (ZeroMemoryError, EmbedderError) as error:
                raise CommandError(f"{name}: {error}") from error


def _steps(step: str | None) -> list[str]:
    if step is None:
        return list(STEPS)
    if step not in STEPS:
        raise CommandError(f"There is no step {step!r}. The steps are: {', '.join(STEPS)}.")
    return [step]


def _scopes(name: str | None) -> list[Scope]:
    every = Scope.objects.select_related("owner").order_by("pk")
    if name is None:
        return list(every) or _refuse("There is no scope yet, so there is nothing to look through.")
    owner, _, slug = name.strip().rpartition("/")
    found = every.filter(slug__iexact=slug)
    if owner:
        found = found.filter(owner__username=owner)
    return list(found) or _refuse(f"There is no scope {name!r}.")


def _refuse(sentence: str) -> list[Scope]:
    raise CommandError(sentence)
