"""``manage.py backup``: the whole instance in one file, while it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from zeromemory import backup
from zeromemory.backup_file import BackupError
from zeromemory.database import UnusableDatabaseError
from zeromemory.lib.counting import counted


class Command(BaseCommand):
    help = "Back up the whole instance into one file: people, scopes, memories, everything. It may go on running."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", help="The file to write.")
        parser.add_argument("--force", action="store_true", help="Replace the file if it exists.")

    def handle(self, *args: Any, path: str, force: bool, **options: Any) -> None:
        target = Path(path).expanduser().absolute()
        try:
            manifest = backup.take(target, force=force, say=self.stdout.write)
        except (BackupError, UnusableDatabaseError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(
            f"Backed up {counted(manifest.rows, 'row')} of {counted(len(manifest.tables), 'table')} to {target} "
            f"({target.stat().st_size:,} bytes). It holds everything anybody wrote: keep it as private as the instance."
        )
