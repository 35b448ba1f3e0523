from __future__ import annotations

from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from memories.errors import ZeroMemoryError
from reflections.management.scopes import scopes_named
from reflections.presentation import counted
from reflections.services.retro import START, offer
from zeromemory.embedding import EmbedderError


class Command(BaseCommand):
    help = "Offer pairs of older memories that lie near each other to a person. No model is asked, nothing is changed."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--scope", help="only this scope: its short name, or owner/name (default: all scopes)")
        parser.add_argument(
            "--cursor", type=UUID, default=START, help="go on after this memory, as the last offer said"
        )
        parser.add_argument("--limit", type=int, default=100, help="at most so many pairs (default: 100)")

    def handle(self, *args: Any, scope: str | None, cursor: UUID, limit: int, **options: Any) -> None:
        if limit < 1:
            raise CommandError("The limit is a number from 1 on.")
        try:
            offered = offer(scopes=scopes_named(scope), limit=limit, cursor=cursor)
        except (ZeroMemoryError, EmbedderError) as error:
            raise CommandError(str(error)) from error
        looked = f"of {offered.looked_at:,} older memories looked at"
        self.stdout.write(f"{counted(offered.parked, 'pair')} {looked}, waiting as unjudged.")
        self.stdout.write(f"cursor: {offered.cursor}{' (all were looked at)' if offered.finished else ''}")
