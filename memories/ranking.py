"""Ranking: one score, every factor visible.

``score = relevance × kind × age × provenance × reinforcement × structural × confidence``; what does not apply is
exactly 1.0.
Pure: time is an argument, nothing is read and nothing is written.
"""

import math
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Final

from memories.fusion import Background, Evidence, Fused, FusionRule, fuse

EXPONENTIAL: Final = "exponential"
LINEAR: Final = "linear"
CURVES: Final = (EXPONENTIAL, LINEAR)

AGEING: Final = "ageing"
DECAYING: Final = "decaying"
POLICIES: Final = (AGEING, DECAYING)

IGNORABLE: Final = frozenset({"age", "reinforcement", "structural"})

PROVISIONAL_RANK: Final = 0
PROVISIONAL_FACTOR: Final = 0.9

SMALLEST_FACTOR: Final = sys.float_info.min


@dataclass(frozen=True, slots=True)
class KindRule:
    """How much a kind weighs and how fast it ages; half-life in days."""

    weight: float
    half_life_days: float
    curve: str = EXPONENTIAL


KIND_DEFAULTS: Final[Mapping[str, KindRule]] = MappingProxyType(
    {
        "decision": KindRule(1.0, 3650),
        "convention": KindRule(1.0, 3650),
        "preference": KindRule(1.0, 1825),
        "reference": KindRule(0.95, 1825),
        "gotcha": KindRule(1.0, 1095),
        "fact": KindRule(0.9, 365),
        "episode": KindRule(0.7, 30),
        "task": KindRule(0.7, 14),
        "open-question": KindRule(0.7, 14),
    }
)
KINDS: Final = tuple(KIND_DEFAULTS)
UNKNOWN_RULE: Final = KindRule(0.85, 365)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate(Evidence):
    """One memory that a search leg found, with all that its score depends on."""

    kind: str
    provenance_rank: int = 1
    text_matched: int = 0
    reinforcement: float = 1.0
    structural: float = 1.0
    confidence: float = 1.0
    policy: str = AGEING


@dataclass(frozen=True, slots=True)
class Factors:
    relevance: float
    kind: float
    age: float
    provenance: float
    reinforcement: float
    structural: float
    confidence: float

    @property
    def product(self) -> float:
        kept = self.kind * self.age * self.provenance * self.reinforcement * self.structural * self.confidence
        return self.relevance * kept


@dataclass(frozen=True, slots=True)
class Scored:
    candidate: Candidate
    fused: Fused
    age_days: float
    rule: KindRule
    factors: Factors
    score: float
    policy: str
    ignored: frozenset[str]


# Age -----------------------------------------------------------------------------------------


def age_in_days(created_at: datetime, now: datetime) -> float:
    """Days since creation; a date in the future is age 0."""
    return max(0.0, (now - created_at) / timedelta(days=1))


def age_factor(age_days: float, half_life_days: float, curve: str = EXPONENTIAL) -> float:
    """The share of its weight that a memory keeps at an age: 1 when new, 0.5 at one half-life.

    ``exponential`` is 2^(−age / half-life). It is held at SMALLEST_FACTOR, because beyond about a thousand half-lives
    the power underflows to 0 and no memory may weigh exactly nothing.
    ``linear`` is max(0, 1 − age / (2 · half-life)) and does reach 0, at two half-lives.
    A negative age (a date in the future) counts as 0. Raises ValueError for a half-life that is not a positive, finite
    number, for an age that is not a number and for an unknown curve.
    """
    if not 0 < half_life_days < math.inf:
        raise ValueError(f"A half-life must be a positive number of days, not {half_life_days!r}.")
    if math.isnan(age_days):
        raise ValueError("An age must be a number of days.")
    if curve not in CURVES:
        raise ValueError(f"An age curve is one of {', '.join(CURVES)}, not {curve!r}.")
    half_lives = max(0.0, age_days) / half_life_days
    if curve == LINEAR:
        return max(0.0, 1.0 - half_lives / 2)
    return max(SMALLEST_FACTOR, math.exp2(-half_lives))


def is_faded(age_days: float, half_life_days: float) -> bool:
    """Older than the half-life of its kind, so the age factor is below 0.5 on either curve. A memory exactly one
    half-life old, with a factor of exactly 0.5, has not faded yet."""
    return age_days > half_life_days


# Reinforcement -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReinforcementRule:
    window_days: int = 90
    judge_minimum: float = 0.6
    boost: float = 0.15
    boost_limit: float = 1.4
    penalty: float = 0.25
    floor: float = 0.5
    promoted: float = 0.6


REINFORCEMENT_DEFAULTS: Final = ReinforcementRule()


def evidence(direct: int, judged: Iterable[float], *, constants: ReinforcementRule = REINFORCEMENT_DEFAULTS) -> float:
    """Direct reports count one each, a judge counts its confidence, and nothing below the minimum."""
    return direct + math.fsum(confidence for confidence in judged if confidence >= constants.judge_minimum)


def reinforcement_multiplier(
    useful: float, misled: float, *, promoted: bool = False, constants: ReinforcementRule = REINFORCEMENT_DEFAULTS
) -> float:
    """``max(0.5, min(1.4, 1 + 0.15·ln(1 + U)) − 0.25·ln(1 + M))`` over sums of evidence; 0.6 once promoted to a rule.

    Raises ValueError for a negative sum.
    """
    if not (useful >= 0 and misled >= 0):
        raise ValueError("Evidence cannot be negative.")
    if promoted:
        return constants.promoted
    boosted = min(constants.boost_limit, 1 + constants.boost * math.log1p(useful))
    return max(constants.floor, boosted - constants.penalty * math.log1p(misled))


# Score ---------------------------------------------------------------------------------------


def _relevance(fused: float, best: float, contrast: float) -> float:
    if fused <= 0:
        return 0.0
    return math.pow(fused / best, contrast)


def aged(age_days: float, rule: KindRule, policy: str) -> float:
    """The age factor of a memory in a scope of that *policy*."""
    # A decaying scope already forgets by last access: its clock and this one must never multiply.
    if policy == DECAYING:
        return 1.0
    return age_factor(age_days, rule.half_life_days, rule.curve)


def _scored(
    candidate: Candidate, *, fused: Fused, relevance: float, now: datetime, rule: KindRule, ignore: frozenset[str]
) -> Scored:
    age_days = age_in_days(candidate.created_at, now)
    factors = Factors(
        relevance=relevance,
        kind=rule.weight,
        age=1.0 if "age" in ignore else aged(age_days, rule, candidate.policy),
        provenance=PROVISIONAL_FACTOR if candidate.provenance_rank <= PROVISIONAL_RANK else 1.0,
        reinforcement=1.0 if "reinforcement" in ignore else candidate.reinforcement,
        structural=1.0 if "structural" in ignore else candidate.structural,
        confidence=candidate.confidence,
    )
    return Scored(candidate, fused, age_days, rule, factors, factors.product, candidate.policy, ignore)


def rank(
    candidates: Iterable[Candidate],
    *,
    now: datetime,
    rules: Mapping[str, KindRule],
    fusion: FusionRule,
    background: Background | None = None,
    ignore: frozenset[str] = frozenset(),
) -> list[Scored]:
    """Candidates by score, then newer first, then id (compared as text). A kind without a rule gets UNKNOWN_RULE.

    ``ignore`` sets factors to 1.0; raises ValueError when it names one that cannot be ignored.
    """
    if unknown := ignore - IGNORABLE:
        raise ValueError(f"Cannot ignore {', '.join(sorted(unknown))}; choose from {', '.join(sorted(IGNORABLE))}.")
    found = list(candidates)
    fused = fuse(found, fusion, background)
    best = max((each.value for each in fused), default=0.0)
    scored = [
        _scored(
            candidate,
            fused=each,
            relevance=_relevance(each.value, best, fusion.contrast),
            now=now,
            rule=rules.get(candidate.kind, UNKNOWN_RULE),
            ignore=ignore,
        )
        for candidate, each in zip(found, fused, strict=True)
    ]
    # The exact time difference orders by age; a float timestamp would tie far-off dates a microsecond apart.
    return sorted(scored, key=lambda item: (-item.score, now - item.candidate.created_at, str(item.candidate.id)))
