"""The commands, as ``manage.py NAME``, ``python -m zeromemory NAME`` and ``zeromemory NAME``."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Final

READ: Final = {
    "anchors", "backup", "check", "doctor", "export_memories", "help", "mcp_stdio", "reference", "up", "--help",
    "-h", "version", "--version",
}  # fmt: skip  # commands that leave the database as it is; "up" then looks at it alone
ANSWERS_WITH_1: Final = {"anchors"}  # commands that say something by 1, so trouble is 2


def main() -> None:
    if sys.argv[1:2] == ["fingerprint"]:  # runs beside code, where no instance has its data
        from memories.fingerprinting import from_command_line

        sys.exit(from_command_line(sys.argv[2:]))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "zeromemory.settings")
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line

    from zeromemory import embedded
    from zeromemory.lib.folders import as_before, data_folder

    try:
        # A restore that is refused has asked for nothing to be kept.
        with as_before(data_folder()) if sys.argv[1:2] == ["restore"] else nullcontext():
            _read_settings(embedded.is_needed_for(sys.argv))
            _refuse_writes(sys.argv)
            with embedded.database_for(sys.argv):
                try:
                    execute_from_command_line(sys.argv)
                finally:
                    _close_connections()
    except (ImproperlyConfigured, embedded.EmbeddedPostgresError) as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(2 if ANSWERS_WITH_1.intersection(sys.argv[1:2]) else 1)


def _refuse_writes(argv: Sequence[str]) -> None:
    """Of a store that is only read: ImproperlyConfigured for a command that may write, and where it is missing."""
    from django.conf import settings
    from django.core.exceptions import ImproperlyConfigured

    from zeromemory import embedded

    if not settings.READ_ONLY:
        return
    if (command := argv[1] if len(argv) > 1 else "help") not in READ:
        from memories.read_only import REFUSED

        raise ImproperlyConfigured(f"read_only: {command} may write. {REFUSED}")
    if embedded.is_needed_for(argv) and not (embedded.folder() / "PG_VERSION").exists():
        raise ImproperlyConfigured(
            f"ZEROMEMORY_READ_ONLY: there is no store in {embedded.folder()} to read, and none was made."
        )


def _close_connections() -> None:
    """Before the server stops: the pool's threads would otherwise keep trying to reconnect."""
    from django.db import connections
    from django.db.backends.postgresql.base import DatabaseWrapper

    for connection in connections.all(initialized_only=True):
        connection.close()
        if isinstance(connection, DatabaseWrapper):
            connection.close_pool()


def _read_settings(embedded_is_needed: bool) -> None:
    """Fail on a bad setting before anything is started. The embedded server's address is known before it runs."""
    from django.conf import settings

    from zeromemory import embedded

    if embedded_is_needed:
        os.environ["DATABASE_URL"] = embedded.url(embedded.folder())
    _ = settings.SECRET_KEY
    if embedded_is_needed:
        del os.environ["DATABASE_URL"]
