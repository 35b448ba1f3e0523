"""Fusion: what the search legs found, joined into one number for each candidate.

Two methods. ``rrf`` is reciprocal rank fusion, Σ weight / (rrf_k + rank) over the legs (Cormack, Clarke and Büttcher,
SIGIR 2009). ``log_linear`` adds up a handful of named features, each times its weight: a conditional logit model
(McFadden, 1974), in which the exponential of a difference is the odds that the one rather than the other is what was
looked for. Differences within DOUBT of the best count by their square (Huber, 1964): so near each other the model
cannot tell which is meant, and age may decide. Pure: nothing is read and nothing is written.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from statistics import NormalDist
from types import MappingProxyType
from typing import Final
from uuid import UUID

import numpy as np

RRF: Final = "rrf"
LOG_LINEAR: Final = "log_linear"
METHODS: Final = (LOG_LINEAR, RRF)

DEFAULT_CONTRAST: Final = 3.0

# Turns of one conversation come seconds to minutes apart; what was learned an hour later is another matter.
COMPANY_HALF_SECONDS: Final = 480.0
COMPANY_WITHIN_SECONDS: Final = 3600.0
DOUBT: Final = 5.0  # natural log of odds
# Standard deviations above the best that chance would give, at which trust in the vector leg is full.
FULL_TRUST: Final = 3.0


@dataclass(frozen=True, slots=True)
class Weights:
    """What each feature of the log-linear model counts. Learned by ``manage.py learn_fusion``.

    ``meaning``: cosine similarity. ``words``: share of the query's words found, each weighed by its rarity (idf).
    ``trusted_meaning``, ``trusted_words``: the same two times the trust in the vector leg, from 0 (its best hit stands
    no higher than chance would put it) to 1. ``phrase``: share of neighbouring query words that are neighbours in the
    text too. ``identifier``: share of the query's identifiers and quoted phrases found. ``named``: 1 when the query
    names the speaker, the agent or an entity of the memory. ``company``: the best match among what was learned within
    the same hour, halved with every eight minutes between them.
    """

    meaning: float = 3.0
    words: float = 4.0
    trusted_meaning: float = 28.0
    trusted_words: float = -5.0
    phrase: float = 1.5
    identifier: float = 4.0
    named: float = 3.0
    company: float = 5.0


FEATURES: Final = tuple(entry.name for entry in fields(Weights))
# Fitted to nothing: one unit of similarity and of coverage count the same, whatever else is known.
UNTRAINED: Final = Weights(
    meaning=6, words=6, trusted_meaning=0, trusted_words=0, phrase=1, identifier=4, named=0, company=0
)


@dataclass(frozen=True, slots=True)
class FusionRule:
    """How the search legs are joined. ``contrast`` is the exponent on relevance: at contrast g one half-life outweighs
    a ratio of 2^(1/g) between two fused values. ``vector_weight`` and ``text_weight`` are the weights of the legs
    under ``rrf`` and scale the features of meaning and of words under ``log_linear``."""

    method: str = LOG_LINEAR
    rrf_k: float = 60
    pool_multiplier: int = 4
    vector_weight: float = 1.0
    text_weight: float = 1.0
    recency_weight: float = 0.0
    contrast: float = DEFAULT_CONTRAST
    weights: Weights = field(default_factory=Weights)


@dataclass(frozen=True, slots=True)
class Background:
    """Similarities of the query to memories taken without regard to it: what chance gives. ``count`` is how many
    memories the vector leg chose from."""

    mean: float
    deviation: float
    count: int


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the search found out about one candidate.

    Ranks start at 1; ``None`` means that the leg did not find it, and a similarity of ``None`` that it has no vector.
    ``coverage``, ``phrase`` and ``identifier`` are shares from 0 to 1.
    """

    id: UUID | str | int
    created_at: datetime
    rank_vector: int | None = None
    rank_text: int | None = None
    rank_recency: int | None = None
    similarity: float | None = None
    coverage: float = 0.0
    phrase: float = 0.0
    identifier: float = 0.0
    named: bool = False
    session: str = ""


@dataclass(frozen=True, slots=True)
class Fused:
    """``value`` is above 0 unless no leg found the candidate. ``parts`` add up to ``total``, ``best`` is the total of
    the best candidate. Under ``rrf`` the value is the total, under ``log_linear`` it is
    exp(−huber(best − total)), with huber(x) = x²/(2·DOUBT) up to DOUBT and x − DOUBT/2 beyond."""

    value: float
    parts: Mapping[str, float]
    total: float
    best: float


def fuse(candidates: Sequence[Evidence], rule: FusionRule, background: Background | None = None) -> list[Fused]:
    """One Fused for each candidate, in their order. Raises ValueError for an unknown method."""
    if rule.method not in METHODS:
        raise ValueError(f"A fusion method is one of {', '.join(METHODS)}, not {rule.method!r}.")
    if not candidates:
        return []
    if rule.method == RRF:
        rows = [reciprocal_ranks(candidate, rule) for candidate in candidates]
    else:
        rows = _weighed(candidates, rule, background)
    # fsum: equal ranks spread differently over equal legs must tie exactly, and a plain sum depends on its order.
    totals = [math.fsum(parts.values()) for parts in rows]
    found = [_found(candidate, rule) for candidate in candidates]
    best = max((total for total, is_found in zip(totals, found, strict=True) if is_found), default=0.0)
    return [
        Fused(_value(total, best, rule) if is_found else 0.0, MappingProxyType(parts), total, best)
        for parts, total, is_found in zip(rows, totals, found, strict=True)
    ]


def _value(total: float, best: float, rule: FusionRule) -> float:
    if rule.method == RRF:
        return total
    behind = best - total
    return math.exp(-min(700.0, behind**2 / (2 * DOUBT) if behind < DOUBT else behind - DOUBT / 2))


def reciprocal_ranks(candidate: Evidence, rule: FusionRule) -> dict[str, float]:
    """weight / (rrf_k + rank) for each leg that found the candidate; their sum is reciprocal rank fusion."""
    return {name: weight / (rule.rrf_k + rank) for name, weight, rank in _legs(candidate, rule)}


def _legs(candidate: Evidence, rule: FusionRule) -> list[tuple[str, float, int]]:
    """Name, weight and rank of each leg that found the candidate."""
    legs = (
        ("vector", rule.vector_weight, candidate.rank_vector),
        ("text", rule.text_weight, candidate.rank_text),
        ("recency", rule.recency_weight, candidate.rank_recency),
    )
    return [(name, weight, rank) for name, weight, rank in legs if rank is not None]


def feature_rows(
    candidates: Sequence[Evidence], rule: FusionRule, background: Background | None = None
) -> list[dict[str, float]]:
    """The features of each candidate by name, as the weights of the legs leave them."""
    similarities = _similarities(candidates)
    trust = trust_in_meaning(similarities, background)
    matches = [
        (rule.vector_weight * similarity, rule.text_weight * candidate.coverage)
        for candidate, similarity in zip(candidates, similarities, strict=True)
    ]
    company = _company(candidates, [meaning + words for meaning, words in matches])
    return [
        {
            "meaning": meaning,
            "words": words,
            "trusted_meaning": trust * meaning,
            "trusted_words": trust * words,
            "phrase": rule.text_weight * candidate.phrase,
            "identifier": rule.text_weight * candidate.identifier,
            "named": float(candidate.named),
            "company": near,
        }
        for candidate, (meaning, words), near in zip(candidates, matches, company, strict=True)
    ]


def _weighed(candidates: Sequence[Evidence], rule: FusionRule, background: Background | None) -> list[dict[str, float]]:
    weights = asdict(rule.weights)
    rows = []
    for candidate, features in zip(candidates, feature_rows(candidates, rule, background), strict=True):
        parts = {name: weights[name] * value for name, value in features.items() if weights[name] * value}
        if candidate.rank_recency is not None and rule.recency_weight:
            parts["recency"] = rule.recency_weight * rule.rrf_k / (rule.rrf_k + candidate.rank_recency)
        rows.append(parts)
    return rows


def _found(candidate: Evidence, rule: FusionRule) -> bool:
    return any(weight for _, weight, _ in _legs(candidate, rule))


def _similarities(candidates: Iterable[Evidence]) -> list[float]:
    """A memory that has no vector yet stands where the others stand on average: not knowing is no verdict."""
    similarities = [candidate.similarity for candidate in candidates]
    known = [similarity for similarity in similarities if similarity is not None]
    average = math.fsum(known) / len(known) if known else 0.0
    return [average if similarity is None else max(0.0, similarity) for similarity in similarities]


def trust_in_meaning(similarities: Sequence[float], background: Background | None) -> float:
    """How far the best similarity stands above the best of as many draws from the background, from 0 to 1.

    The expected best of n draws from a normal distribution is taken at its quantile n / (n + 1).
    """
    if background is None or not similarities or background.deviation <= 0 or background.count < 1:
        return 0.0
    above = (max(similarities) - background.mean) / background.deviation
    by_chance = NormalDist().inv_cdf(background.count / (background.count + 1))
    return min(1.0, max(0.0, (above - by_chance) / FULL_TRUST))


def _company(candidates: Sequence[Evidence], matches: Sequence[float]) -> list[float]:
    """The best match among the candidates near each one in time, itself included, so that things written all at one
    moment gain alike."""
    seconds = np.array([candidate.created_at.timestamp() for candidate in candidates])
    sessions = np.array([candidate.session for candidate in candidates])
    apart = np.abs(seconds[:, None] - seconds[None, :])
    told_apart = (sessions[:, None] != sessions[None, :]) & (sessions != "")[:, None] & (sessions != "")[None, :]
    near = np.where((apart <= COMPANY_WITHIN_SECONDS) & ~told_apart, np.exp2(-apart / COMPANY_HALF_SECONDS), 0.0)
    company: list[float] = (near * np.array(matches)[None, :]).max(axis=1).tolist()
    return company
