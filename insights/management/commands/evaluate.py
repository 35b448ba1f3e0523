from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Iterator
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from insights.models import EvaluationRun
from insights.quality import ageing, corpus, datasets, runs, tables
from insights.quality.corpus import CorpusError
from insights.quality.datasets import Dataset, DatasetError
from insights.quality.harness import SYSTEMS, System
from memories.fusion import FusionRule
from memories.models import Kind
from zeromemory import database
from zeromemory.database import UnusableDatabaseError
from zeromemory.embedding import EmbedderError
from zeromemory.lib.counting import counted

ALL = "all"
EXTRA = "product with"


class Command(BaseCommand):
    help = "Measure the ranking in force on retrieval sets and on the ageing probes, and keep the run."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "name",
            metavar="NAME",
            nargs="?",
            default=ALL,
            help=f"ageing, the name of a set in the folder {datasets.FOLDER}, or all (the default)",
        )
        parser.add_argument("--kind", choices=Kind.values, default=Kind.FACT, help="what the documents are stored as")
        parser.add_argument("--limit", type=_some, help="ask so many questions only: a quick look, never kept")
        parser.add_argument(
            "--with",
            dest="fields",
            action="append",
            default=[],
            type=_field,
            metavar="FIELD=VALUE",
            help="measure one more system with this field of the fusion, e.g. contrast=16; may be repeated",
        )
        parser.add_argument(
            "--without-speakers", action="store_true", help="store what was said without saying who said it"
        )
        parser.add_argument("--ageing-curve", action="store_true", help="also R@8 by contrast for three kinds")
        parser.add_argument("--no-replay", action="store_true", help="leave out the simulated quarter of use")
        parser.add_argument("--rebuild", action="store_true", help="store and embed the documents again")
        parser.add_argument("--drop", action="store_true", help="only remove the scratch database of the set")
        parser.add_argument("--no-save", action="store_true", help="do not keep the run")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            database.migrate()  # make eval may be the first thing that is run here
            for name in _names(options["name"]):
                self._do(name, options)
            if options["name"] == ALL and not datasets.available():
                self.stdout.write(f"No retrieval sets were found. {datasets.HOW_TO}")
        except (DatasetError, CorpusError, EmbedderError, UnusableDatabaseError) as error:
            raise CommandError(str(error)) from error

    def _do(self, name: str, options: dict[str, Any]) -> None:
        if options["drop"]:
            self._drop(name)
            return
        run = self._aged(options) if name == runs.AGEING else self._measured(name, options)
        self.stdout.write("\n".join([*_report(run), ""]))
        if not options["no_save"] and not options["limit"]:
            run.save()

    def _drop(self, name: str) -> None:
        gone = corpus.drop(ageing.NAME if name == runs.AGEING else name)
        self.stdout.write(f"{name}: {'its scratch database is removed' if gone else 'there is no scratch database'}.")

    def _aged(self, options: dict[str, Any]) -> EvaluationRun:
        return runs.measure_ageing(runs.Options(rebuild=options["rebuild"]), self._tell)

    def _measured(self, name: str, options: dict[str, Any]) -> EvaluationRun:
        chosen = runs.Options(
            kind=options["kind"],
            systems=_systems(dict(options["fields"])),
            curve=options["ageing_curve"],
            replay=not options["no_replay"],
            rebuild=options["rebuild"],
        )
        return runs.measure(_dataset(name, options), chosen, self._tell)

    def _tell(self, sentence: str) -> None:
        self.stderr.write(sentence)


def _some(given: str) -> int:
    if not given.isdecimal() or int(given) < 1:
        raise ArgumentTypeError(f"{given!r} is not a whole number of at least 1.")
    return int(given)


def _field(given: str) -> tuple[str, Any]:
    """A field of the fusion with a value of its own type."""
    name, _, value = given.partition("=")
    fields = {field: type(default) for field, default in _defaults().items()}
    if name not in fields:
        raise ArgumentTypeError(f"{name!r} is no field of the fusion; choose from {', '.join(fields)}.")
    try:
        return name, fields[name](value)
    except ValueError as error:
        raise ArgumentTypeError(f"{value!r} is no value for {name}.") from error


def _defaults() -> dict[str, Any]:
    standard = FusionRule()
    return {name: getattr(standard, name) for name in FusionRule.__dataclass_fields__}


def _names(name: str) -> list[str]:
    return [runs.AGEING, *datasets.available()] if name == ALL else [name]


def _dataset(name: str, options: dict[str, Any]) -> Dataset:
    dataset = datasets.load(name).limited(options["limit"])
    return dataset.without_speakers() if options["without_speakers"] else dataset


def _systems(fields: dict[str, Any]) -> tuple[System, ...]:
    if not fields:
        return SYSTEMS
    said = ", ".join(f"{name} {value}" for name, value in fields.items())
    return (*SYSTEMS, System(f"{EXTRA} {said}", fields))


def _report(run: EvaluationRun) -> Iterator[str]:
    yield f"## {run.name}{f', stored as {run.kind}' if run.kind else ''}\n"
    revision = run.revision[:12] or "unknown"
    yield f"Revision {revision}, configuration: {run.versions}, embedder: {run.embedder or 'none'}."
    if run.name == runs.AGEING:
        yield f"{run.queries} ageing probes, default half-lives; contrast in force: {run.results['contrast']:g}\n"
        yield tables.markdown(tables.probes(run.results))
        yield f"\nThe same with a track record of what is not right:\n\n{tables.markdown(tables.popular(run.results))}"
        return
    yield f"{counted(run.queries, 'question')} over {counted(run.corpus_size, 'document')}, {run.seconds:.0f} s.\n"
    yield tables.markdown(tables.systems(run.results))
    if (categories := tables.by_category(run.results, "R@8")).rows:
        yield f"\nR@8 by category:\n\n{tables.markdown(categories)}"
    if "curve" in run.results:
        yield f"\nR@8 by contrast, every document of one kind:\n\n{tables.markdown(tables.curve(run.results))}"
    if "replay" in run.results:
        yield f"\nAfter a simulated quarter of use. {tables.replayed(run.results)}\n"
        yield tables.markdown(tables.replay(run.results))
