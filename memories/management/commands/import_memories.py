"""Import memories from a file or from the history of a git repository."""

import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.utils import timezone
from django.utils.dateparse import parse_date, parse_datetime

from memories.errors import ZeroMemoryError
from memories.services import transfers
from memories.transfer.acting import actor_called
from memories.transfer.background import counts
from memories.transfer.contract import Format
from memories.transfer.importing import Report, import_from
from memories.transfer.recognised import listed, recognise, recognise_folder
from memories.transfer.registry import FORMATS, format_called
from zeromemory.lib.counting import counted

SHOWN = 20


class Command(BaseCommand):
    help = "Import memories from a file, a folder or a git repository. All or nothing; a second run adds nothing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", nargs="?", help="The file or folder to read; - reads standard input.")
        parser.add_argument("--repo", help="The git repository to read: its top folder, or a bare repository.")
        parser.add_argument(
            "--format",
            choices=sorted(FORMATS),
            help="Default: as the file tells; git with --repo; jsonl from standard input.",
        )
        parser.add_argument("--scope", help="Put everything into this scope. Without it each line names its own.")
        parser.add_argument("--create-scope", action="store_true", help="Make scopes that do not exist yet.")
        parser.add_argument("--user", help="Import in the name of this person.")
        parser.add_argument("--dry-run", action="store_true", help="Read and check everything, write nothing.")
        parser.add_argument("--limit", type=int, help="git: only the newest N commits.")
        parser.add_argument("--since", help="git: only commits from this date on, such as 2025-01-31.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            with self._opened(options) as (format, source):
                report = self._imported(format, source, options)
        except ZeroMemoryError as error:
            raise CommandError(error.message) from error
        for sentence in sentences(report):
            self.stdout.write(sentence)

    def _imported(self, format: Format, source: Any, options: dict[str, Any]) -> Report:
        actor = actor_called(options["user"])
        written: list[UUID] = []
        with transaction.atomic():
            report = import_from(
                format,
                source,
                actor=actor,
                scope=options["scope"],
                create_scopes=options["create_scope"],
                trusted=True,
                dry_run=options["dry_run"],
                progress=self._progress(),
                wrote=written.extend,
            )
            if written and not options["dry_run"]:
                transfers.record_done_by_command(
                    actor=actor,
                    format=format.name,
                    report=counts(report),
                    memories=written,
                    file_name=_called(options),
                )
        return report

    @contextmanager
    def _opened(self, options: dict[str, Any]) -> Iterator[tuple[Format, Any]]:
        """The format, and what it reads. Raises CommandError."""
        name = options["format"] or ("git" if options["repo"] else "")
        if not (name or options["file"]):
            raise CommandError("Name the file to read, - for standard input, or --repo PATH for a git repository.")
        name = name or self._recognised(options["file"])
        format = _format(name, options)
        with _source(format, options) as source:
            yield format, source

    def _recognised(self, file: str) -> str:
        if file == "-":
            return "jsonl"
        path = Path(file).expanduser()
        if path.is_dir():
            found = recognise_folder(path)
        else:
            with _opened(file) as opened:
                found = recognise(path.name, opened, path.stat().st_size)
        if found.format is None:
            raise CommandError(
                f"{file} does not tell which format it is in. Name one with --format, and look first with --dry-run:"
                f"{listed(found.fitting)}"
            )
        self.stdout.write(
            f"Recognised as {found.format.name} ({found.format.label}), by {found.by}. Choose another with --format."
        )
        return found.format.name

    def _progress(self) -> Any:
        told = time.monotonic()

        def tell(read: int) -> None:
            nonlocal told
            if time.monotonic() - told >= 2:
                told = time.monotonic()
                self.stderr.write(f"{read:,} read", style_func=str)

        return tell


def _format(name: str, options: dict[str, Any]) -> Format:
    chosen = format_called(name)
    if name != "git":
        if options["limit"] is not None or options["since"]:
            raise CommandError("--limit and --since belong to --format git.")
        return chosen()
    if options["limit"] is not None and options["limit"] < 1:
        raise CommandError("--limit must be at least 1.")
    return chosen(limit=options["limit"], since=_since(options["since"]))  # type: ignore[call-arg]  # git's own options


def _since(given: str | None) -> datetime | None:
    if not given:
        return None
    try:
        moment = parse_datetime(given)
        date = parse_date(given)
    except ValueError:
        moment = date = None
    if moment is None and date:
        moment = datetime(date.year, date.month, date.day)  # noqa: DTZ001  # made aware below
    if moment is None:
        raise CommandError(f"--since {given!a} is no date. Write it like 2025-01-31 or 2025-01-31T12:00:00+01:00.")
    return moment if timezone.is_aware(moment) else timezone.make_aware(moment)


def _source(format: Format, options: dict[str, Any]) -> AbstractContextManager[Any]:
    if format.name == "git":
        if not options["repo"] or options["file"]:
            raise CommandError("Name the repository with --repo PATH, and no file.")
        if not options["scope"]:
            raise CommandError("Name the scope for the commits with --scope NAME.")
        return nullcontext(Path(options["repo"]).expanduser())
    if options["repo"] or not options["file"]:
        raise CommandError(f"Name the {format.name} file to read, or - for standard input.")
    if options["file"] == "-":
        return nullcontext(sys.stdin.buffer)
    path = Path(options["file"]).expanduser()
    return nullcontext(path) if format.takes_folder and path.is_dir() else _opened(options["file"])


def _called(options: dict[str, Any]) -> str:
    given = options["file"] or options["repo"]
    return "standard input" if given == "-" else Path(given).expanduser().resolve().name


def _opened(name: str) -> BinaryIO:
    try:
        return Path(name).expanduser().open("rb")
    except OSError as error:
        raise CommandError(f"{name} cannot be read: {error.strerror}.") from error


def sentences(report: Report) -> list[str]:
    where = ", ".join(report.scopes) or "no scope"
    counts = f"{report.written:,} new, {report.existing:,} already there, {counted(report.links, 'link')}"
    lead = "Dry run, nothing was written: would import" if report.dry_run else "Imported"
    lines = [f"{lead} {report.written:,} of {counted(report.read, 'memory', 'memories')} into {where} ({counts})."]
    if report.carried:
        rows = ", ".join(f"{number:,} of {table}" for table, number in sorted(report.carried.items()))
        lines.append(f"With what is kept about them: {rows}.")
    if report.created_scopes:
        lines.append(f"New scopes: {', '.join(report.created_scopes)}.")
    lines += [f"Left out: {number:,} {reason}." for reason, number in sorted(report.skipped.items())]
    lines += [f"Note: {number:,} {what}." for what, number in sorted(report.notes.items())]
    if report.differing:
        lines.append(f"{len(report.differing):,} already there say something else now and were kept as they are:")
        lines += [f"  {line}" for line in report.differing[:SHOWN]]
    if len(report.differing) > SHOWN:
        lines.append(f"  and {len(report.differing) - SHOWN:,} more")
    return lines
