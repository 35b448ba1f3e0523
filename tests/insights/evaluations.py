"""Runs of the evaluation, made without measuring anything."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
from django.utils import timezone

from insights.models import EvaluationRun
from insights.quality import harness, metrics, runs
from insights.quality.harness import SYSTEMS, Outcome
from memories.configuration import snapshot

CATEGORIES = ("single-hop", "temporal")
CURVE = {
    "none": 0.6,
    "contrasts": [1.0, 8.0],
    "kinds": {"episode": [0.2, 0.5], "fact": [0.5, 0.59], "decision": [0.6, 0.6]},
}
REPLAY = {
    "habits": {"days": 90},
    "recalls": 2325,
    "reports": {"misled at random": 3, "rightly useful": 12},
    "groups": [
        {
            "name": "never asked before",
            "n": 20,
            "before": {"R@8": 0.71, "nDCG@10": 0.57},
            "after": {"R@8": 0.72, "nDCG@10": 0.58},
            "gain": {"R@8": [0.01, 0.002, 0.02], "nDCG@10": [0.01, -0.002, 0.02]},
        }
    ],
    "reinforced": {"corpus": 0.08, "shown": 0.16, "at_cap": None},
}


def make_run(
    *, queries: int = 40, better_by: float = 0.0, curve: bool = False, replay: bool = False, **overrides: Any
) -> EvaluationRun:
    """A run whose questions did alike in every such run, all of them *better_by* better."""
    values = np.random.default_rng(5).random((queries, len(metrics.METRICS))) * 0.8 + better_by
    outcomes = [Outcome(system, values, np.full(queries, 12.0)) for system in SYSTEMS]
    categories = [CATEGORIES[number % 2] for number in range(queries)]
    columns = [list(metrics.METRICS).index(name) for name in runs.KEPT]
    kept = {name: values[:, column].tolist() for name, column in zip(runs.KEPT, columns, strict=True)}
    results = {"systems": [harness.report(outcome, categories) for outcome in outcomes]}
    results |= ({"curve": CURVE} if curve else {}) | ({"replay": REPLAY} if replay else {})
    given = {
        "name": "garden",
        "kind": "fact",
        "started_at": timezone.now() - timedelta(minutes=EvaluationRun.objects.count() * -1 + 100),
        "revision": "0123456789abcdef0123456789abcdef01234567",
        "configuration": snapshot(),
        "embedder": "test-model 1",
        "corpus_size": 1200,
        "queries": queries,
        "results": results,
        "values": {"questions": f"{queries} questions", "systems": {system.name: kept for system in SYSTEMS}},
    } | overrides
    return EvaluationRun.objects.create(finished_at=given["started_at"] + timedelta(seconds=42), **given)


def make_ageing_run() -> EvaluationRun:
    run = runs.measure_ageing()
    run.save()
    return run
