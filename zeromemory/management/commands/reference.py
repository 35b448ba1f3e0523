from typing import Any

from django.core.management.base import BaseCommand

from zeromemory.reference import pages


class Command(BaseCommand):
    help = "Write the reference pages that are made from the program itself: REST and commands."

    def handle(self, *args: Any, **options: Any) -> None:
        for path, text in pages().items():
            path.write_text(text, encoding="utf-8")
            self.stdout.write(f"Wrote {path.name}.")
