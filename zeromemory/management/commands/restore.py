"""``manage.py restore``: an instance from the file of a backup."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from zeromemory import backup_restoring, launch
from zeromemory.backup_file import BackupError
from zeromemory.database import UnusableDatabaseError
from zeromemory.lib.counting import counted
from zeromemory.lib.locks import InstanceLock


class Command(BaseCommand):
    help = "Restore a backup into an empty database. All or nothing; nothing may run meanwhile."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", help="The file that manage.py backup wrote. Restore only files you trust.")
        parser.add_argument("--force", action="store_true", help="Lose what the database holds, and restore over it.")

    def handle(self, *args: Any, path: str, force: bool, **options: Any) -> None:
        try:
            with _turn():
                manifest = backup_restoring.restore(Path(path).expanduser(), force=force, say=self.stdout.write)
        except (BackupError, UnusableDatabaseError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(
            f"Restored {counted(manifest.rows, 'row')} of {counted(len(manifest.tables), 'table')}, as counted when "
            "the backup was taken. "
            "Start with make up; everybody signs in again."
        )


@contextmanager
def _turn() -> Iterator[None]:
    """Nothing starts on this data folder meanwhile."""
    lock = InstanceLock(settings.DATA_FOLDER / launch.LOCK_NAME)
    try:
        if not lock.acquire():
            note = json.loads(lock.read_note() or "{}")
            raise BackupError(
                f"Zero Memory is running at {note.get('address')} (process {note.get('pid')}). Nothing was touched. "
                "Stop it with Ctrl-C, and restore again."
            )
        lock.leave_note(json.dumps({"pid": os.getpid(), "address": "no address, a backup is being restored"}))
        yield
        lock.leave_note("")
    finally:
        lock.release()
