from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from memories.access import actor_for_user, readable_scopes, scope_for
from memories.errors import NotFound, ZeroMemoryError
from memories.models import User
from memories.presentation import scope_names
from memories.services import people, tokens


class Command(BaseCommand):
    help = "Make a bearer token and print its secret, once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="what it is for, for example the name of an agent")
        parser.add_argument("--scope", action="append", required=True, help="a scope it reaches; may be repeated")
        parser.add_argument("--user", default=people.OWNER, help="whose token it is (default: %(default)s)")
        parser.add_argument("--read-only", action="store_true", help="it may recall and not remember")
        parser.add_argument("--adjudicate", action="store_true", help="it may settle disputes; never approve drafts")

    def handle(self, *args: Any, name: str, scope: list[str], user: str, **options: Any) -> None:
        person = User.objects.filter(username=user, is_active=True).first()
        if person is None:
            raise CommandError(f"There is no active user {user!r}. Name one with --user.")
        actor = actor_for_user(person)
        try:
            scopes = [scope_for(actor, slug) for slug in scope]
            token, secret = tokens.create_token(
                actor=actor,
                name=name,
                scopes=scopes,
                can_write=not options["read_only"],
                can_adjudicate=options["adjudicate"],
            )
        except NotFound as error:
            yours = ", ".join(scope_names(readable_scopes(actor)).values()) or "none yet; start once with make up"
            raise CommandError(f"{error.message} Scopes of {user}: {yours}.") from error
        except ZeroMemoryError as error:
            raise CommandError(error.message) from error
        self.stderr.write(f"Token {token.name!r} of {user}: this is the only time its secret is shown.")
        self.stdout.write(secret)
