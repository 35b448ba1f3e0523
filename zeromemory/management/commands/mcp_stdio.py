"""``manage.py mcp_stdio``: the agents' door over standard input and output, for a client on this machine."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from memories.access import Actor, actor_for_user
from memories.checkout import Checkout, Unreadable
from memories.errors import Forbidden, ZeroMemoryError
from memories.guard import secret_in
from memories.models import User
from memories.services import people, tokens
from memories.set_up import VARIABLE
from memories.which_repository import name_of


class Command(BaseCommand):
    help = "Speak the Model Context Protocol over standard input and output."
    requires_system_checks: list[str] = []  # they load every page, and a client waits for its first list of tools

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--agent", default="", help="what the agent is called in trails and logs")
        parser.add_argument(
            "--user",
            default=people.OWNER,
            help=f"for whom it acts where {VARIABLE} holds no token (default: %(default)s)",
        )

        parser.add_argument(
            "--repo", default="", metavar="PATH", help="A working tree: anchors to its code are judged by what it says."
        )
        parser.add_argument(
            "--repo-name", default="", help="What anchors call it, where it is not registered at PATH (as: shop)."
        )

    def handle(self, *args: Any, agent: str, user: str, repo: str, repo_name: str, **options: Any) -> None:
        secret = os.environ.get(VARIABLE, "")
        self._refuse(secret, user, agent)
        checkouts = _checkouts(repo, repo_name, lambda: _acting(secret, user, agent))
        from zeromemory.mcp.calling import act_as
        from zeromemory.mcp.server import build
        from zeromemory.mcp.standard_input import serve

        act_as(lambda: replace(_acting(secret, user, agent), checkouts=checkouts))
        serve(build())

    def _refuse(self, secret: str, user: str, agent: str) -> None:
        if secret_in(agent):
            raise CommandError("--agent holds a secret, and the name stands in everything it writes. Choose another.")
        if secret and tokens.authenticate(secret) is None:
            raise CommandError(f"{VARIABLE} holds no valid token. Create one on the Tokens page.")
        if not secret and not User.objects.filter(username=user, is_active=True).exists():
            raise CommandError(f"There is no active user {user!r}. Name one with --user, or put a token in {VARIABLE}.")


def _checkouts(folder: str, name: str, acting: Callable[[], Actor]) -> dict[str, str]:
    """Where the code of a repository stands beside the client."""
    if not folder:
        return {}
    tree = Checkout(folder)
    try:
        real = str(tree.real_root)
        return {(name or name_of(tree, acting())).lower(): real}
    except (Unreadable, ZeroMemoryError) as problem:
        raise CommandError(f"--repo {folder}: {problem}") from problem


def _acting(secret: str, user: str, agent: str) -> Actor:
    return _with_token(secret, agent) if secret else _of_person(user, agent)


def _with_token(secret: str, agent: str) -> Actor:
    """Asked for at each call, so that a token that was revoked stops working."""
    found = tokens.actor_with(secret, agent=agent)
    if found is None:
        raise Forbidden(f"The token in {VARIABLE} is not valid any more. Create another one on the Tokens page.")
    return found


def _of_person(name: str, agent: str) -> Actor:
    """An agent of the person on this machine: it reads and writes what the person may, and decides nothing."""
    person = actor_for_user(User.objects.get(username=name))
    called = agent or "agent"
    return Actor(
        user=person.user,
        label=f"{called} (of {name})",
        agent=called,
        readable=person.readable,
        writable=person.writable,
    )
