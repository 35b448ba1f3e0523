"""Learn the weights of the fusion on one half of each retrieval set, and report on what was not learned from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError, CommandParser

from insights.quality import corpus, datasets, learning
from insights.quality.corpus import CorpusError
from insights.quality.datasets import DatasetError
from insights.quality.harness import NO_AGE, Bench
from memories.configuration import fusion_rule, ranking_rules
from memories.errors import ZeroMemoryError
from memories.fusion import FEATURES, RRF, UNTRAINED, FusionRule, Weights
from memories.models import User
from memories.services.config import change_weights
from zeromemory import database
from zeromemory.database import UnusableDatabaseError
from zeromemory.embedding import EmbedderError

LEARNED: Final = "learned on the other half"
ELSEWHERE: Final = "learned on the other sets"


class Command(BaseCommand):
    help = (
        "Learn the weights of the log-linear fusion on one half of the questions of each retrieval set. Reports the "
        "other half, and each set with weights learned on the others alone. Changes nothing unless told to --apply."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "name", metavar="NAME", nargs="*", help="the sets to learn from; all that there are if none"
        )
        parser.add_argument(
            "--apply", metavar="USERNAME", help="write the weights, in the name of this member of staff"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            database.migrate()
            names = options["name"] or list(datasets.available())
            if not names:
                self.stdout.write(f"No retrieval sets were found. {datasets.HOW_TO}")
                return
            weights = self._learned(names)
        except (DatasetError, CorpusError, EmbedderError, UnusableDatabaseError) as error:
            raise CommandError(str(error)) from error
        if options["apply"]:
            self._apply(options["apply"], weights, names)

    def _learned(self, names: list[str]) -> Weights:
        rules, fusion = ranking_rules(), replace(fusion_rule(), method="log_linear")
        benches = {name: self._bench(name, rules, fusion) for name in names}
        halves = {name: bench.samples for name, bench in benches.items()}
        weights = learning.learned(list(halves.values()), fusion.weights)
        self.stdout.write("\n".join(_report(benches, halves, fusion, weights)))
        return weights

    def _bench(self, name: str, rules: Mapping[str, Any], fusion: FusionRule) -> Measured:
        dataset = datasets.load(name)
        with corpus.opened(dataset, tell=self.stderr.write) as stored:
            return Measured(Bench(stored, rules=rules, fusion=fusion, tell=self.stderr.write))

    def _apply(self, username: str, weights: Weights, names: list[str]) -> None:
        user = User.objects.filter(username=username).first()
        if user is None:
            raise CommandError(f"There is no account {username!r}.")
        try:
            row = change_weights(user=user, reason=f"Learned on one half of {', '.join(names)}.", **asdict(weights))
        except ZeroMemoryError as error:
            raise CommandError(error.message) from error
        self.stdout.write(f"\nWritten as version {row.version}. The admin page shows what changed and takes it back.")


class Measured:
    """A set with all its candidates read, so that it can be ranked again after its database is closed."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        corpora = len(bench.dataset.corpora)
        self.samples = learning.samples(bench, lambda query: learning.first_half(query, corpora))
        self._held_out = [asked for asked in bench.asked if not learning.first_half(asked.query, corpora)]
        for asked in self._held_out:
            bench.searched(asked)

    def held_out(self, rule: FusionRule) -> tuple[int, float, float]:
        """How many questions were not learned from, their R@8 and their nDCG@10."""
        means = self.bench.means(self._held_out, rule, NO_AGE)
        return len(self._held_out), means["R@8"], means["nDCG@10"]


def _report(
    benches: Mapping[str, Measured], halves: Mapping[str, list[learning.Sample]], fusion: FusionRule, weights: Weights
) -> Iterator[str]:
    yield "| feature | in force | learned |\n|---|--:|--:|"
    for name in FEATURES:
        yield f"| {name} | {getattr(fusion.weights, name):.2f} | {getattr(weights, name):.2f} |"
    yield "\nThe half that was not learned from, age ignored:\n"
    yield "| set | n | weights | R@8 | nDCG@10 |\n|---|--:|---|--:|--:|"
    for name, measured in benches.items():
        for label, rule in _rules(name, halves, fusion, weights):
            n, recall, gain = measured.held_out(rule)
            yield f"| {name} | {n} | {label} | {recall:.3f} | {gain:.3f} |"


def _rules(
    name: str, halves: Mapping[str, list[learning.Sample]], fusion: FusionRule, weights: Weights
) -> Iterator[tuple[str, FusionRule]]:
    yield "reciprocal ranks", replace(fusion, method=RRF)
    yield "untrained", replace(fusion, weights=UNTRAINED)
    yield "in force", fusion
    yield LEARNED, replace(fusion, weights=weights)
    others = [half for other, half in halves.items() if other != name and half]
    if others:
        yield ELSEWHERE, replace(fusion, weights=learning.learned(others, fusion.weights))
