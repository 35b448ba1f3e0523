from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from insights.quality import ageing
from memories.configuration import fusion_rule


class Command(BaseCommand):
    help = "Measure how well the ranking in force combines relevance and age, beside other contrasts."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME", nargs="?", choices=["ageing"], default="ageing", help="ageing")

    def handle(self, *args: Any, **options: Any) -> None:
        fusion = fusion_rule()
        rows = ageing.by_contrast(fusion, sorted({*ageing.CONTRASTS, fusion.contrast}))
        self.stdout.write(
            f"{len(ageing.PROBES)} ageing probes, default half-lives; contrast in force: {fusion.contrast:g}"
        )
        self.stdout.write("| contrast | passed | failing |\n|--:|--:|---|")
        for contrast, failing in rows.items():
            passed = len(ageing.PROBES) - len(failing)
            self.stdout.write(f"| {contrast:g} | {passed} | {'; '.join(failing) or '–'} |")
