from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from zeromemory import diagnosis


class Command(BaseCommand):
    help = "Check everything a running Zero Memory needs, and say what to do about what is missing."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--ask-model", action="store_true", help="ask the language model one short question too")

    def handle(self, *args: Any, ask_model: bool, **options: Any) -> None:
        problems = 0
        for finding in diagnosis.findings(ask_model=ask_model):
            problems += not finding.ok
            self.stdout.write(f"{'ok' if finding.ok else 'PROBLEM':<9}{finding.name:<10}{finding.detail}")
        if problems:
            raise SystemExit(1)
