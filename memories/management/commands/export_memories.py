"""Export memories to a file."""

import os
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Generator, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from memories.access import Actor, readable_scopes, scope_for
from memories.errors import ZeroMemoryError
from memories.models import Scope
from memories.transfer.acting import actor_called
from memories.transfer.contract import Format
from memories.transfer.exporting import Export, export_files, export_to
from memories.transfer.folders import write_folder
from memories.transfer.registry import FORMATS, format_called
from zeromemory.lib.counting import counted


class Command(BaseCommand):
    help = "Export the memories of one scope, or of all that a person may read. The same memories give the same bytes."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--out", required=True, help="The file to write, or a folder; - writes standard output.")
        parser.add_argument(
            "--format", choices=sorted(FORMATS), default="jsonl", help="Default: jsonl, the lossless one."
        )
        parser.add_argument("--scope", help="Only this scope.")
        parser.add_argument("--user", help="What this person may read.")
        parser.add_argument("--force", action="store_true", help="Replace the file, or the files of an earlier export.")

    def handle(self, *args: Any, **options: Any) -> None:
        export = Export()
        try:
            scopes = _scopes(actor_called(options["user"]), options["scope"])
            _export(format_called(options["format"])(), scopes, export, options)
        except ZeroMemoryError as error:
            raise CommandError(error.message) from error
        where = ", ".join(scope.slug for scope in scopes)
        self.stderr.write(f"Exported {counted(export.written, 'memory', 'memories')} of {where}.", style_func=str)
        if export.carried:
            rows = ", ".join(f"{number:,} of {table}" for table, number in sorted(export.carried.items()))
            self.stderr.write(f"With what is kept about them: {rows}.", style_func=str)
        for what, number in sorted(export.left_out.items()):
            self.stderr.write(f"Left out: {number:,} {what}.", style_func=str)


def _export(format: Format, scopes: list[Scope], export: Export, options: dict[str, Any]) -> None:
    path, whole = Path(options["out"]).expanduser(), not options["scope"]
    if options["out"] == "-":
        _print(export_to(format, scopes, export, whole=whole))
    elif format.writes_folder and path.suffix != format.suffix:
        write_folder(path, export_files(format, scopes, export, whole=whole), force=options["force"])
    else:
        _write(path, export_to(format, scopes, export, whole=whole), force=options["force"])


def _scopes(actor: Actor, name: str | None) -> list[Scope]:
    scopes = [scope_for(actor, name)] if name else readable_scopes(actor)
    if not scopes:
        raise CommandError(f"{actor.label} has no scope to export.")
    return scopes


def _print(pieces: Generator[bytes]) -> None:
    with closing(pieces):
        try:
            sys.stdout.buffer.writelines(pieces)
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            # The reader has seen enough (head, less): no error, and nothing to flush at exit either.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _write(path: Path, pieces: Iterable[bytes], *, force: bool) -> None:
    """Whole or not at all: readers never see half a file, and a failed export leaves the old one."""
    if path.exists() and not force:
        raise CommandError(f"{path} exists. Choose another name, or replace it with --force.")
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            try:
                file.writelines(pieces)
                file.flush()
                os.fsync(file.fileno())
                Path(file.name).replace(path)
            except BaseException:
                Path(file.name).unlink()
                raise
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror}.") from error
