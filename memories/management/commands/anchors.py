"""``manage.py anchors check``: what a change of code does to the memories that name it."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError

from memories.errors import ZeroMemoryError
from memories.made_stale import made_stale
from memories.stale_report import as_json, as_markdown
from memories.transfer.acting import actor_called

STALE: Final = 1
TROUBLE: Final = 2


class Command(BaseCommand):
    help = (
        "check: list as Markdown the memories that a change of code makes stale, for a comment on a pull request. "
        "Compared are a revision and the working tree, what is not committed too. Ends with 0 where there are none, "
        "with 1 where there are some, and with 2 where that cannot be told."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("act", choices=["check"], metavar="check")
        parser.add_argument("--repo", required=True, metavar="PATH", help="The working tree.")
        parser.add_argument("--since", required=True, metavar="REVISION", help="The commit before the change.")
        parser.add_argument(
            "--repo-name",
            default="",
            help="What it is registered as, where PATH is another checkout of it.",
        )
        parser.add_argument("--user", help="Whose memories, of all the person may read.")
        parser.add_argument("--json", action="store_true", help="Write JSON instead.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            checked = made_stale(
                actor=actor_called(options["user"]),
                folder=options["repo"],
                since=options["since"],
                named=options["repo_name"],
            )
        except ZeroMemoryError as error:
            raise CommandError(error.message, returncode=TROUBLE) from error
        except OperationalError as error:
            raise CommandError(f"The database does not answer: {error}", returncode=TROUBLE) from error
        self.stdout.write(json.dumps(as_json(checked), indent=2) if options["json"] else as_markdown(checked))
        if checked.stale:
            raise SystemExit(STALE)
