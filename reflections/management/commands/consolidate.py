from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from memories.errors import ZeroMemoryError
from memories.models import RetentionCycle, Scope
from reflections.consolidation import consolidate, require_decaying
from reflections.management.scopes import scopes_named
from reflections.steps.retention import survey


class Command(BaseCommand):
    help = (
        "Do a cycle of a decaying scope now: weights fall, what is hardly used is summarised, and what nobody asked "
        "for goes into the archive, or is deleted where the scope's policy says so."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--scope", required=True, help="its short name, or owner/name")
        parser.add_argument("--dry-run", action="store_true", help="say what it would do, and do nothing")

    def handle(self, *args: Any, scope: str, dry_run: bool, **options: Any) -> None:
        for found in scopes_named(scope):
            try:
                self.stdout.write(f"{found}: {_would_do(found) if dry_run else _done(found)}")
            except ZeroMemoryError as error:
                raise CommandError(str(error)) from error


def _would_do(scope: Scope) -> str:
    require_decaying(scope)
    return survey(scope)


def _done(scope: Scope) -> str:
    done = consolidate(scope=scope, trigger=RetentionCycle.Trigger.COMMAND)
    note = done.cycle.note if done.cycle else ""
    return f"{done.said} {note}".strip()
