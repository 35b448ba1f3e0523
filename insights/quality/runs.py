"""Runs: measured, kept, and compared with the one before.

``results`` of a run on a set: ``systems`` as ``harness.report`` gives them, ``replay`` as ``replay.report`` does, and
``curve`` where one was asked for. Of the ageing probes: ``probes`` (their number), ``contrast`` (in force) and
``failing`` (names by contrast), ``popular`` (names by the track record of everything but the right memory).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import batched
from typing import Any, Final

import numpy as np
from django.utils import timezone
from dulwich.errors import NotGitRepository
from dulwich.repo import Repo

from insights.models import EvaluationRun
from insights.quality import ageing, corpus, harness, metrics
from insights.quality import replay as quarter
from insights.quality.corpus import Tell
from insights.quality.datasets import Dataset
from insights.quality.harness import SYSTEMS, System
from memories.configuration import fusion_rule, ranking_rules, snapshot
from zeromemory.lib.folders import PROJECT

AGEING: Final = "ageing"
KEPT: Final = ("R@8", "nDCG@10")  # metrics whose value is kept for every question
LONGEST_NAME: Final = 200


@dataclass(frozen=True, slots=True)
class Options:
    kind: str = "fact"
    systems: Sequence[System] = SYSTEMS
    curve: bool = False
    replay: bool = True
    rebuild: bool = False


def measure_ageing(options: Options = Options(), tell: Tell = lambda _: None) -> EvaluationRun:
    """The ageing probes under the configuration in force and other contrasts. Not saved.

    Raises CorpusError and EmbedderError.
    """
    started, rules, fusion = timezone.now(), ranking_rules(), fusion_rule()
    with corpus.opened(ageing.dataset(), rebuild=options.rebuild, tell=tell) as stored:
        bench = harness.Bench(stored, rules=rules, fusion=fusion, tell=tell)
        popular = ageing.by_popularity(bench)
        failing = ageing.by_contrast(bench, fusion, sorted({*harness.CONTRASTS, fusion.contrast}))
    return EvaluationRun(
        name=AGEING,
        queries=len(ageing.dataset().queries),
        results={
            "probes": len(ageing.dataset().queries),
            "contrast": fusion.contrast,
            "failing": [[contrast, names] for contrast, names in failing.items()],
            "popular": [[record, names] for record, names in popular.items()],
        },
        **_circumstances(started),
    )


def measure(dataset: Dataset, options: Options, tell: Tell = lambda _: None) -> EvaluationRun:
    """Ask every question of *dataset* of each system. Not saved. Raises CorpusError and EmbedderError."""
    rules, fusion = ranking_rules(), fusion_rule()  # the owner's, before another database takes their place
    with corpus.opened(dataset, kind=options.kind, rebuild=options.rebuild, tell=tell) as stored:
        started = timezone.now()
        bench = harness.Bench(stored, rules=rules, fusion=fusion, tell=tell)
        outcomes = [bench.run(system) for system in options.systems]
        curve = {"curve": harness.ageing_curve(bench)} if options.curve else {}
        lived = {"replay": quarter.report(bench)} if options.replay else {}
        size = len(stored.documents)
    categories = [query.category for query in dataset.queries]
    return EvaluationRun(
        name=dataset.name[:LONGEST_NAME],
        kind=options.kind,
        corpus_size=size,
        queries=len(dataset.queries),
        results={"systems": [harness.report(outcome, categories) for outcome in outcomes]} | curve | lived,
        values=_values(dataset, outcomes),
        **_circumstances(started),
    )


def _circumstances(started: datetime) -> dict[str, Any]:
    return {
        "started_at": started,
        "finished_at": timezone.now(),
        "revision": revision(),
        "configuration": snapshot(),
        "embedder": corpus.stamp_in_use(),
    }


def revision() -> str:
    """The commit checked out where the program lies; empty where it was not installed from a repository."""
    try:
        with Repo(str(PROJECT)) as repository:
            return repository.head().decode()
    except (NotGitRepository, KeyError):
        return ""


# Values of every question --------------------------------------------------------------------


def _values(dataset: Dataset, outcomes: Sequence[harness.Outcome]) -> dict[str, Any]:
    columns = [list(metrics.METRICS).index(name) for name in KEPT]
    return {
        "questions": _digest(dataset),
        "systems": {
            outcome.system.name: {
                name: [round(value, 4) for value in outcome.values[:, column].tolist()]
                for name, column in zip(KEPT, columns, strict=True)
            }
            for outcome in outcomes
        },
    }


def _digest(dataset: Dataset) -> str:
    """Which questions were asked, in which order."""
    asked = "\n".join(f"{query.corpus}\t{query.id}" for query in dataset.queries)
    return hashlib.sha256(asked.encode()).hexdigest()[:16]


# Comparison ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Change:
    """How a system did against the run before, with the paired interval of the difference."""

    system: str
    changes: Mapping[str, metrics.Estimate]


def before(run: EvaluationRun) -> EvaluationRun | None:
    """The last run on the same set, stored as the same kind and asked the same questions."""
    earlier = EvaluationRun.objects.filter(name=run.name, kind=run.kind, started_at__lt=run.started_at)
    same = earlier.filter(values__questions=run.values.get("questions"), results__has_key="systems")
    return same.order_by("-started_at").first()


def changes(run: EvaluationRun, earlier: EvaluationRun) -> list[Change]:
    """For each system that both runs hold."""
    ours, theirs = run.values["systems"], earlier.values["systems"]
    names = [row["name"] for row in run.results["systems"] if row["name"] in ours.keys() & theirs.keys()]
    if not names:
        return []
    gains = metrics.difference(_table(ours, names), _table(theirs, names))
    rows = batched(gains, len(KEPT))
    return [Change(name, dict(zip(KEPT, row, strict=True))) for name, row in zip(names, rows, strict=True)]


def _table(kept: Mapping[str, Any], names: Sequence[str]) -> metrics.Values:
    """A row a question; the columns are those of the first system, then those of the next."""
    return np.array([kept[name][metric] for name in names for metric in KEPT], dtype=np.float64).T
