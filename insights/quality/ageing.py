"""Ageing probes: small situations in which everybody agrees what should stand first.

PURE. They hold places in the search legs rather than texts, so that they measure how relevance and age are combined and
nothing else. One side pins age (a correction beats what it corrects), the other relevance (today's note on something
else does not answer the question).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from memories.fusion import FusionRule
from memories.ranking import KIND_DEFAULTS, Candidate, rank

NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)
CONTRASTS: Final = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)


@dataclass(frozen=True, slots=True)
class Hit:
    """A memory found at *by_meaning* and *by_words* (places from 1, None where the leg missed it)."""

    kind: str
    age_days: float
    by_meaning: int | None
    by_words: int | None


@dataclass(frozen=True, slots=True)
class Probe:
    """*first* should rank above every one of *others*."""

    name: str
    first: Hit
    others: tuple[Hit, ...]


PROBES: Final = (
    Probe("a correction before the fact it corrects", Hit("fact", 10, 2, 2), (Hit("fact", 400, 1, 1),)),
    Probe("the newer of two near-equal decisions", Hit("decision", 30, 1, 2), (Hit("decision", 900, 2, 1),)),
    Probe("the newer of two near-equal episodes", Hit("episode", 2, 3, 2), (Hit("episode", 45, 2, 1),)),
    Probe("this week's task before a forgotten one", Hit("task", 2, 2, 3), (Hit("task", 60, 1, 1),)),
    Probe("a fresh convention before an old episode", Hit("convention", 1, 4, 4), (Hit("episode", 60, 1, 1),)),
    Probe(
        "a distillate before its old sources",
        Hit("fact", 0, 2, 3),
        (Hit("episode", 60, 1, 2), Hit("episode", 75, 3, 1)),
    ),
    Probe("an old gotcha before an equally old episode", Hit("gotcha", 180, 3, 3), (Hit("episode", 180, 1, 1),)),
    Probe(
        "an old decision that matches before today's note that does not",
        Hit("decision", 700, 1, 1),
        (Hit("episode", 0, 20, 20),),
    ),
    Probe("a year-old fact that matches before a weak fresh one", Hit("fact", 365, 1, 1), (Hit("fact", 0, 12, 15),)),
    Probe(
        "a two-year-old fact that matches before a weak fresh one", Hit("fact", 730, 1, 1), (Hit("fact", 0, 15, 20),)
    ),
    Probe(
        "last month's episode before today's on something else", Hit("episode", 30, 1, 1), (Hit("episode", 0, 18, 20),)
    ),
    Probe(
        "last quarter's episode before today's on something else",
        Hit("episode", 90, 1, 1),
        (Hit("episode", 0, 25, None),),
    ),
    Probe(
        "both legs before one leg, a month older",
        Hit("fact", 40, 1, 1),
        (Hit("fact", 0, None, 1), Hit("fact", 0, 1, None)),
    ),
    Probe(
        "the pricing note of twelve days among 53 of today",
        Hit("reference", 12, 1, 1),
        tuple(Hit("reference", 0, place, place + 3) for place in range(2, 55)),
    ),
)


def passes(probe: Probe, fusion: FusionRule) -> bool:
    hits = (probe.first, *probe.others)
    candidates = [_candidate(place, hit) for place, hit in enumerate(hits)]
    return rank(candidates, now=NOW, rules=KIND_DEFAULTS, fusion=fusion)[0].candidate.id == 0


def _candidate(place: int, hit: Hit) -> Candidate:
    return Candidate(
        id=place,
        kind=hit.kind,
        created_at=NOW - timedelta(days=hit.age_days),
        rank_vector=hit.by_meaning,
        rank_text=hit.by_words,
    )


def failures(fusion: FusionRule, probes: Iterable[Probe] = PROBES) -> list[str]:
    """Names of the probes that fail under *fusion* and the default half-lives."""
    return [probe.name for probe in probes if not passes(probe, fusion)]


def by_contrast(fusion: FusionRule, contrasts: Sequence[float] = CONTRASTS) -> dict[float, list[str]]:
    """Failing probes for each contrast, everything else as in *fusion*."""
    return {contrast: failures(replace(fusion, contrast=contrast)) for contrast in contrasts}
