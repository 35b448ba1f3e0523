"""``manage.py fingerprint``, for the list of commands: the work needs no settings, and is done before any are read."""

from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from memories import fingerprinting


class Command(BaseCommand):
    help = fingerprinting.HELP
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        fingerprinting.add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        if code := fingerprinting.handle(options):
            sys.exit(code)
