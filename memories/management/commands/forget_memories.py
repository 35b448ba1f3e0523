"""Forget many memories of one scope at once, or take such an act back."""

from argparse import ArgumentParser
from datetime import datetime, time
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from django.utils.dateparse import parse_date, parse_datetime

from memories.access import Actor, scope_for
from memories.errors import ZeroMemoryError
from memories.facets import Choice
from memories.models import Kind
from memories.selection import Selection, counted
from memories.services import bulk
from memories.transfer.acting import actor_called
from zeromemory.lib.counting import counted as counted_words


class Command(BaseCommand):
    help = (
        "Forget the memories of one scope that were learned before a date. Without --expect it counts and changes "
        "nothing. Pinned ones, and decisions, conventions, preferences and gotchas, are left alone. --undo brings back "
        "what an act forgot."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--scope", help="The scope: its short name, or owner/name.")
        parser.add_argument("--before", type=_moment, help="A date, or a moment such as 2025-03-01T00:00:00Z.")
        parser.add_argument("--kind", action="append", choices=Kind.values, help="Only of this kind; may be repeated.")
        parser.add_argument("--expect", type=int, metavar="NUMBER", help="Act, if so many match still.")
        parser.add_argument("--reason", default="", help="Kept in the audit trail.")
        parser.add_argument("--undo", type=UUID, metavar="OPERATION", help="Bring back what this operation forgot.")
        parser.add_argument("--user", help="Act as this person.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            actor = actor_called(options["user"])
            self.stdout.write(_undone(actor, options["undo"]) if options["undo"] else _forgotten(actor, options))
        except ZeroMemoryError as error:
            raise CommandError(error.message) from error


def _moment(text: str) -> datetime:
    """A date is its first moment, in the zone of this installation."""
    day = parse_date(text) if "T" not in text else None
    moment = datetime.combine(day, time.min) if day else parse_datetime(text)
    if moment is None:
        raise ValueError(text)
    return timezone.make_aware(moment) if timezone.is_naive(moment) else moment


def _forgotten(actor: Actor, options: dict[str, Any]) -> str:
    if not options["scope"] or not options["before"]:
        raise CommandError("Name the scope and the date: --scope NAME --before DATE. There is no way to say all.")
    scope = scope_for(actor, options["scope"])
    selection = Selection(Choice(scope=scope), before=options["before"], kinds=options["kind"])
    if options["expect"] is None:
        found = counted(selection)
        left = f"{found.pinned:,} pinned and {found.protected:,} of protected kinds would be left alone"
        these = f"{counted_words(found.count, 'memory', 'memories')} of {scope.slug}"
        return f"{these} {'matches' if found.count == 1 else 'match'}; {left}. To forget them: --expect {found.count}"
    done = bulk.forget_many(actor=actor, selection=selection, expected=options["expect"], reason=options["reason"])
    these = f"{counted_words(done.count, 'memory', 'memories')} of {scope.slug}"
    return f"Forgot {these}{_left(done.left)}. To undo: --undo {done.operation}"


def _undone(actor: Actor, operation: UUID) -> str:
    done = bulk.take_back_many(actor=actor, operation=operation)
    return f"Brought back {counted_words(done.count, 'memory', 'memories')}{_left(done.left)}."


def _left(number: int) -> str:
    return f", {number:,} were left as they are" if number else ""
