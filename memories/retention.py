"""PURE. The clock of a decaying scope: what is not asked for loses weight, and what falls through the floor leaves.

``weight = min(weight, 2^(−hours since last access / half-life in hours))``: recomputed from dates each time and never
multiplied onto itself, so that it never rises and a second look in the same instant changes nothing. It says what is
kept. It is neither truth nor relevance, and never part of a score.
"""

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

HALF_LIFE_HOURS: Final = 720.0  # 30 days
FLOOR: Final = 0.01
THRESHOLD: Final = 20
TOP_K: Final = 8

ARCHIVE: Final = "archive"
DELETE: Final = "delete"
REVIEW: Final = "review"
AUTOMATIC: Final = "automatic"

MOST_HALF_LIVES: Final = 1000.0  # beyond, the power leaves the range of a float, and PostgreSQL raises

VERIFIED: Final = "verified"
INFERRED: Final = "inferred"
UNVERIFIED: Final = "unverified"
CONFIDENCES: Final = (UNVERIFIED, INFERRED, VERIFIED)  # from the least on


@dataclass(frozen=True, slots=True)
class RetentionRule:
    """What a decaying scope goes by: hours, a weight, a number of memories, and what becomes of what leaves.

    ``confidence_weight`` from 0 to 1: a verified memory's score is multiplied by 1 + it, an unverified one's by 1 − it.
    """

    half_life_hours: float = HALF_LIFE_HOURS
    floor: float = FLOOR
    threshold: int = THRESHOLD
    top_k: int = TOP_K
    prune_action: str = ARCHIVE
    summaries: str = REVIEW
    confidence_weight: float = 0.0


def in_hours(accessed_at: datetime, now: datetime) -> float:
    """Hours since last access; a date in the future is 0."""
    return max(0.0, (now - accessed_at) / timedelta(hours=1))


def weight(stored: float, hours: float, half_life_hours: float) -> float:
    """What a memory weighs *hours* after its last access, given what it weighed when it was last looked at.

    Raises ValueError for a half-life that is no positive, finite number of hours.
    """
    if not 0 < half_life_hours < math.inf:
        raise ValueError(f"A half-life must be a positive number of hours, not {half_life_hours!r}.")
    return min(stored, math.exp2(-min(MOST_HALF_LIVES, max(0.0, hours) / half_life_hours)))


def hours_kept(stored: float, rule: RetentionRule) -> float:
    """Hours after its last access at which a memory that nobody asks for falls through the floor; 0 where it has.

    From the formula above solved for time: half-life · log2(1 / floor), which is 6.644 half-lives at a floor of 0.01.
    """
    if stored < rule.floor:
        return 0.0
    return rule.half_life_hours * math.log2(1 / rule.floor) if rule.floor > 0 else math.inf


def runs(count: int, rule: RetentionRule) -> bool:
    """Whether a cycle has anything to do; *count* is of all that the scope holds, tombstones too."""
    return count >= rule.threshold


def summarises(count: int, rule: RetentionRule) -> bool:
    return count > rule.threshold


def known_confidence(label: str) -> str:
    """The label as it counts: none at all is inferred, and a word nobody knows is unverified."""
    said = label.strip().lower()
    if not said:
        return INFERRED
    return said if said in CONFIDENCES else UNVERIFIED


def lower_of(*labels: str) -> str:
    """The least sure of *labels*."""
    return min(labels, key=CONFIDENCES.index)


def at_least(label: str) -> tuple[str, ...]:
    """*label* and what is surer."""
    return CONFIDENCES[CONFIDENCES.index(label) :]


def confidence_factor(label: str, confidence_weight: float) -> float:
    """1 + w for what is verified, 1 − w for what is unverified, exactly 1 otherwise and where w is 0."""
    return {VERIFIED: 1 + confidence_weight, UNVERIFIED: 1 - confidence_weight}.get(label, 1.0)
