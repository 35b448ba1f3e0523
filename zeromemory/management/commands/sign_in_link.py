from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.urls import reverse

from memories.models import User
from memories.services import people
from zeromemory import launch


class Command(BaseCommand):
    help = "Print a link that signs a person in once and lets them choose a new password."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")

    def handle(self, *args: Any, username: str, **options: Any) -> None:
        user = User.objects.filter(username=username, is_active=True).first()
        if user is None:
            raise CommandError(f"There is no active user {username!r}.")
        path = reverse("sign_in_link", args=[people.create_sign_in_link(user)])
        self.stdout.write(f"{launch.base_address()}{path}\nIt works once, for 24 hours; earlier links no longer work.")
