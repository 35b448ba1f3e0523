"""Ageing probes: small situations in which everybody agrees what should stand first.

Each is a handful of dated memories among a common background, and a question, in ``probes.json``. They are stored,
embedded and searched as everything else is. One side pins age (a correction beats what it corrects), the other
relevance (today's note on something else does not answer the question).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, Final

from insights.quality.datasets import Dataset, Document, Query
from insights.quality.harness import CONTRASTS, Asked, Bench
from memories.fusion import FusionRule
from memories.reinforcement import Signal, standing

NAME: Final = "ageing-probes"
FIRST: Final = "first"
NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)
_FILE: Final = Path(__file__).parent / "probes.json"


@cache
def dataset() -> Dataset:
    """The probes as a set: each is a corpus of its own, its name that of its question."""
    told = json.loads(_FILE.read_text(encoding="utf-8"))
    probes = told["probes"]
    return Dataset(
        name=NAME,
        documents=tuple(document for probe in probes for document in _documents(probe, told["background"])),
        queries=tuple(Query(probe["name"], probe["name"], probe["query"], frozenset({FIRST})) for probe in probes),
    )


def _documents(probe: Mapping[str, Any], background: Sequence[Mapping[str, Any]]) -> Iterator[Document]:
    yield _document(probe["name"], FIRST, probe["first"])
    for place, other in enumerate(probe["others"], 1):
        yield _document(probe["name"], f"other {place}", other)
    for place, filler in enumerate(background, 1):
        yield _document(probe["name"], f"background {place}", filler)


def _document(corpus: str, id: str, told: Mapping[str, Any]) -> Document:
    learned_at = NOW - timedelta(days=told["age_days"])
    return Document(id=id, corpus=corpus, text=told["text"], time=learned_at, kind=told["kind"])


def failures(bench: Bench, fusion: FusionRule) -> list[str]:
    """Names of the probes whose first memory does not stand above all others under *fusion*."""
    return [asked.query.id for asked in bench.asked if not _passes(bench, asked, fusion)]


def _passes(bench: Bench, asked: Asked, fusion: FusionRule) -> bool:
    found = bench.ranked(asked, fusion)
    return bool(found) and found[0] == FIRST


def by_popularity(bench: Bench) -> dict[str, list[str]]:
    """Failing probes where everything but the right memory has the track record that is named."""
    return {name: _failing_with(bench, standing(signals, now=NOW).multiplier) for name, signals in RECORDS.items()}


def _failing_with(bench: Bench, multiplier: float) -> list[str]:
    rivals = {memory: multiplier for memory, document in bench.corpus.documents.items() if document != FIRST}
    shown = {asked.query.id: bench.shown(asked, rivals)[:1] for asked in bench.asked}
    return [name for name, best in shown.items() if [bench.corpus.documents[memory] for memory in best] != [FIRST]]


def _said(useful: int, misled: int) -> list[Signal]:
    """So many sessions that found it useful, and then so many that it misled."""
    return [
        Signal(NOW - timedelta(days=30), "direct", useful=number < useful, misled=number >= useful, session=str(number))
        for number in range(useful + misled)
    ]


# What a memory that was right once may have behind it. Being retrieved leaves no signal, however often.
RECORDS: Final[Mapping[str, list[Signal]]] = {
    "retrieved every day": _said(0, 0),
    "found useful once": _said(1, 0),
    "found useful five times": _said(5, 0),
    "found useful twenty times (the cap)": _said(20, 0),
    "found useful twenty times, then misled twice": _said(20, 2),
    "misled twice": _said(0, 2),
}


def by_contrast(bench: Bench, fusion: FusionRule, contrasts: Sequence[float] = CONTRASTS) -> dict[float, list[str]]:
    """Failing probes for each contrast, everything else as in *fusion*."""
    return {contrast: failures(bench, replace(fusion, contrast=contrast)) for contrast in contrasts}
