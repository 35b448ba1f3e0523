"""Systems asked all the questions of a retrieval set. The search behind a question runs once for all of them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import numpy as np

from insights.quality import metrics
from insights.quality.corpus import Corpus, Tell
from insights.quality.datasets import Dataset, Query
from memories.candidates import Filters, Meaning, Searched, candidates
from memories.fusion import RRF, FusionRule
from memories.ranking import KindRule, Scored, rank
from memories.recall import search_for
from zeromemory.embedding import get_embedder

K: Final = metrics.DEEPEST  # memories that a question asks for
NO_AGE: Final = frozenset({"age"})
CONTRASTS: Final = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 8.0, 16.0)
CURVE_KINDS: Final = ("episode", "fact", "decision")


@dataclass(frozen=True, slots=True)
class System:
    """The configuration in force with *fusion* fields of its own, and with factors left out."""

    name: str
    fusion: Mapping[str, Any] = field(default_factory=dict)
    ignore: frozenset[str] = frozenset()


PRODUCT: Final = "product"
PRODUCT_UNAGED: Final = "product, age ignored"
SYSTEMS: Final = (
    System(PRODUCT),
    System(PRODUCT_UNAGED, ignore=NO_AGE),
    System("meaning alone, age ignored", {"method": RRF, "text_weight": 0.0, "recency_weight": 0.0}, NO_AGE),
    System("reciprocal ranks, age ignored", {"method": RRF}, NO_AGE),
    System("words alone, age ignored", {"method": RRF, "vector_weight": 0.0, "recency_weight": 0.0}, NO_AGE),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """``values``: a row a question, a column a metric; ``milliseconds``: how long each question took."""

    system: System
    values: metrics.Values
    milliseconds: metrics.Values


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with its vector, and how long making that took."""

    query: Query
    meaning: Meaning | None
    milliseconds: float


class Bench:
    """A stored set with its questions encoded and the candidates of each remembered."""

    def __init__(
        self, corpus: Corpus, *, rules: Mapping[str, KindRule], fusion: FusionRule, tell: Tell = lambda _: None
    ) -> None:
        self.corpus, self.rules, self.fusion, self._tell = corpus, rules, fusion, tell
        self._found: dict[tuple[str, str, int, bool], tuple[Searched, float]] = {}
        self._asked: list[Asked] = []

    @property
    def dataset(self) -> Dataset:
        return self.corpus.dataset

    @property
    def asked(self) -> Sequence[Asked]:
        if not self._asked:
            self._asked = [_encoded(query) for query in self.dataset.queries]
        return self._asked

    def run(self, system: System) -> Outcome:
        self._tell(f"Asking {len(self.asked):,} questions: {system.name}.")
        fusion = replace(self.fusion, **system.fusion)
        ranked, milliseconds = [], []
        for asked in self.asked:
            found, searching = self._candidates(asked, fusion)
            began = time.perf_counter()
            ranked.append(self._ranked(asked, found, fusion, system.ignore))
            milliseconds.append(asked.milliseconds + searching + _since(began))
        return Outcome(system, self._values(ranked), np.array(milliseconds))

    def searched(self, asked: Asked) -> Searched:
        """The candidates of a question under the fusion in force."""
        return self._candidates(asked, self.fusion)[0]

    def ranked(self, asked: Asked, fusion: FusionRule, ignore: frozenset[str] = frozenset()) -> list[str]:
        """Ids of the documents that a question gets under *fusion*, best first."""
        return self._ranked(asked, self._candidates(asked, fusion)[0], fusion, ignore)

    def shown(self, asked: Asked, multipliers: Mapping[UUID, float]) -> list[UUID]:
        """Memories that a question gets under the fusion in force, best first, where those named were reinforced."""
        found = _reinforced(self.searched(asked), multipliers)
        return [item.candidate.id for item in self._scored(asked, found, self.fusion)]  # type: ignore[misc]  # ids of stored memories are UUIDs

    def means(
        self, chosen: Sequence[Asked], fusion: FusionRule, ignore: frozenset[str] = frozenset()
    ) -> dict[str, float]:
        """The mean of each metric over the chosen questions."""
        rankings = [self.ranked(asked, fusion, ignore) for asked in chosen]
        values = metrics.values_of(rankings, [asked.query.gold for asked in chosen])
        return dict(zip(metrics.METRICS, values.mean(axis=0).tolist(), strict=True))

    def recall_as(self, kind: str, fusion: FusionRule, ignore: frozenset[str] = frozenset()) -> float:
        """R@8 where every document is of *kind*. The search itself does not look at kinds."""
        rankings = [
            self._ranked(asked, _all_of(kind, self._candidates(asked, fusion)[0]), fusion, ignore)
            for asked in self.asked
        ]
        return float(self._values(rankings)[:, list(metrics.METRICS).index("R@8")].mean())

    def _values(self, ranked: Sequence[Sequence[str]]) -> metrics.Values:
        return metrics.values_of(ranked, [query.gold for query in self.dataset.queries])

    def _candidates(self, asked: Asked, fusion: FusionRule) -> tuple[Searched, float]:
        key = (asked.query.corpus, asked.query.id, fusion.pool_multiplier, fusion.recency_weight > 0)
        if key not in self._found:
            filters = Filters(scopes=[self.corpus.scopes[asked.query.corpus]])
            search = search_for(asked.query.text, meaning=asked.meaning, filters=filters, fusion=fusion, k=K)
            began = time.perf_counter()
            self._found[key] = candidates(search), _since(began)
        return self._found[key]

    def _ranked(self, asked: Asked, found: Searched, fusion: FusionRule, ignore: frozenset[str]) -> list[str]:
        """Ids of the documents, best first."""
        return [self.corpus.documents[item.candidate.id] for item in self._scored(asked, found, fusion, ignore)]  # type: ignore[index]  # ids of stored memories are UUIDs

    def _scored(
        self, asked: Asked, found: Searched, fusion: FusionRule, ignore: frozenset[str] = frozenset()
    ) -> list[Scored]:
        """The first K. What only a leg of weight 0 found was not found."""
        scored = rank(
            found.candidates,
            background=found.background,
            now=self._now(asked),
            rules=self.rules,
            fusion=fusion,
            ignore=ignore,
        )
        return [item for item in scored[:K] if item.fused.value > 0]

    def _now(self, asked: Asked) -> datetime:
        return self.corpus.asked_at[asked.query.corpus]


def _encoded(query: Query) -> Asked:
    embedder = get_embedder()
    if embedder is None:
        return Asked(query, None, 0.0)
    began = time.perf_counter()
    vector = embedder.encode_query(query.text)
    return Asked(query, Meaning(vector, embedder.name, embedder.version), _since(began))


def _since(began: float) -> float:
    return (time.perf_counter() - began) * 1000


def _all_of(kind: str, searched: Searched) -> Searched:
    return replace(
        searched, found=[replace(hit, candidate=replace(hit.candidate, kind=kind)) for hit in searched.found]
    )


def _reinforced(searched: Searched, multipliers: Mapping[UUID, float]) -> Searched:
    if not multipliers:
        return searched
    return replace(
        searched,
        found=[
            replace(hit, candidate=replace(hit.candidate, reinforcement=multipliers.get(hit.candidate.id, 1.0)))  # type: ignore[arg-type]  # ids of stored memories are UUIDs
            for hit in searched.found
        ],
    )


# Reports -------------------------------------------------------------------------------------


def report(outcome: Outcome, categories: Sequence[str]) -> dict[str, Any]:
    """What a run keeps of a system: plain values, intervals as ``[mean, low, high]``."""
    system = outcome.system
    named = {name: np.array([category == name for category in categories]) for name in sorted({*categories} - {""})}
    return {
        "name": system.name,
        "fusion": dict(system.fusion),
        "ignore": sorted(system.ignore),
        "overall": _figures(outcome.values),
        "categories": {
            name: {"n": int(chosen.sum()), "figures": _figures(outcome.values[chosen])}
            for name, chosen in named.items()
        },
        "milliseconds": {
            "p50": round(float(np.percentile(outcome.milliseconds, 50)), 2),
            "p95": round(float(np.percentile(outcome.milliseconds, 95)), 2),
        },
    }


def _figures(values: metrics.Values) -> dict[str, list[float]]:
    return {
        name: [round(number, 5) for number in asdict(estimate).values()]
        for name, estimate in zip(metrics.METRICS, metrics.estimates(values), strict=True)
    }


def ageing_curve(bench: Bench, contrasts: Sequence[float] = CONTRASTS) -> dict[str, Any]:
    """R@8 where every document is of one kind, by contrast; and without age, which no contrast changes."""
    return {
        "none": round(bench.recall_as(CURVE_KINDS[0], bench.fusion, NO_AGE), 5),
        "contrasts": list(contrasts),
        "kinds": {kind: list(_curve(bench, kind, contrasts)) for kind in CURVE_KINDS},
    }


def _curve(bench: Bench, kind: str, contrasts: Sequence[float]) -> Iterator[float]:
    for contrast in contrasts:
        yield round(bench.recall_as(kind, replace(bench.fusion, contrast=contrast)), 5)
