"""Does use help? A simulated quarter of work over a retrieval set, reported on as agents report, and measured after it.

Half of the questions are what the work is about; they come again and again, a few of them very often. Each time the
first results are shown, some of the evidence among them is reported useful, and now and then something else is, or is
said to have misled, without reason. The other half of the questions is never asked before the end. Signals become
multipliers through the product's own roll-up, once a day, and change what the next day is shown.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, Final
from uuid import UUID

import numpy as np

from insights.quality import metrics
from insights.quality.harness import Asked, Bench
from memories.ranking import REINFORCEMENT_DEFAULTS, ReinforcementRule
from memories.reinforcement import DIRECT, JUDGE, Signal, standing

SHOWN: Final = 8
HELD_OUT, SAME_EVIDENCE, REPEATED = "never asked before", "of these, about evidence that was used", "asked before"

type Multipliers = Mapping[UUID, float]


@dataclass(frozen=True, slots=True)
class Habits:
    """What the simulated work is like. Chances are for each memory each time it is shown.

    ``rounds``: how often a topic comes up on average; how often each does falls with its rank to the power of ``skew``
    (Zipf). A session asks ``session_questions``. A judge's confidence lies anywhere in [0.5, 1].
    """

    days: int = 90
    rounds: float = 10.0
    skew: float = 1.0
    session_questions: int = 3
    useful_if_right: float = 0.3
    useful_if_wrong: float = 0.02
    misled_if_wrong: float = 0.01
    judged: float = 0.5
    seed: int = 20_260_101


@dataclass(slots=True)
class Quarter:
    """What happened: ``signals`` by memory, and what they amount to in the end."""

    recalls: int = 0
    reports: Counter[str] = field(default_factory=Counter)
    signals: dict[UUID, list[Signal]] = field(default_factory=lambda: defaultdict(list))
    multipliers: dict[UUID, float] = field(default_factory=dict)


def is_topic(asked: Asked) -> bool:
    """Whether the simulated work is about this question; the others are kept for the end."""
    return sha256(f"replayed {asked.query.corpus} {asked.query.id}".encode()).digest()[-1] % 2 == 0


def replay(bench: Bench, habits: Habits = Habits(), constants: ReinforcementRule = REINFORCEMENT_DEFAULTS) -> Quarter:
    """Live through the quarter. The same habits over the same set give the same quarter."""
    chance = np.random.default_rng(habits.seed)
    topics = [asked for asked in bench.asked if is_topic(asked)]
    quarter = Quarter()
    if not topics:
        return quarter
    weights = _popularity(len(topics), habits.skew, chance)
    asked_in_all = round(len(topics) * habits.rounds)
    drawn = chance.choice(len(topics), size=asked_in_all, p=weights)
    days = np.sort(chance.integers(habits.days, size=asked_in_all))
    for day in range(habits.days):
        today = [topics[place] for place in drawn[days == day]]
        _work(bench, quarter, today, _evening(bench, day), habits, chance)
        _roll_up(quarter, _evening(bench, day), constants)
    return quarter


def report(
    bench: Bench, habits: Habits = Habits(), constants: ReinforcementRule = REINFORCEMENT_DEFAULTS
) -> dict[str, Any]:
    """Plain values for a run: ``groups`` with the paired gain of each metric as ``[mean, low, high]``, and the shares
    of reinforced memories in the corpus and among what is shown (of questions that were never asked before)."""
    quarter = replay(bench, habits, constants)
    used = {bench.corpus.documents[memory] for memory in quarter.multipliers}
    held_out = [asked for asked in bench.asked if not is_topic(asked)]
    groups = {
        HELD_OUT: held_out,
        SAME_EVIDENCE: [asked for asked in held_out if used & asked.query.gold],
        REPEATED: [asked for asked in bench.asked if is_topic(asked)],
    }
    return {
        "habits": asdict(habits),
        "recalls": quarter.recalls,
        "reports": dict(sorted(quarter.reports.items())),
        "groups": [_compared(bench, name, asked, quarter.multipliers) for name, asked in groups.items() if asked],
        "reinforced": _shares(bench, held_out, quarter, constants),
    }


def _popularity(topics: int, skew: float, chance: np.random.Generator) -> metrics.Values:
    raised = chance.permutation(np.arange(1, topics + 1)) ** -skew
    return np.asarray(raised / raised.sum(), dtype=np.float64)


def _evening(bench: Bench, day: int) -> datetime:
    return max(bench.corpus.asked_at.values()) + timedelta(days=day + 1)


def _work(
    bench: Bench, quarter: Quarter, today: Sequence[Asked], at: datetime, habits: Habits, chance: np.random.Generator
) -> None:
    morning = dict(quarter.multipliers)
    for asked in today:
        session = f"session {quarter.recalls // habits.session_questions}"
        quarter.recalls += 1
        for memory in bench.shown(asked, morning)[:SHOWN]:
            is_right = bench.corpus.documents[memory] in asked.query.gold
            if signal := _said(is_right, session, at, habits, chance):
                quarter.signals[memory].append(signal)
                quarter.reports[_kind_of(signal, is_right)] += 1


def _said(is_right: bool, session: str, at: datetime, habits: Habits, chance: np.random.Generator) -> Signal | None:
    useful_below = habits.useful_if_right if is_right else habits.useful_if_wrong
    misled_below = useful_below + (0.0 if is_right else habits.misled_if_wrong)
    drawn, judged, confidence = chance.random(), chance.random() < habits.judged, 0.5 + chance.random() / 2
    if drawn >= misled_below:
        return None
    useful = bool(drawn < useful_below)
    source, certainty = (JUDGE, confidence) if judged else (DIRECT, 1.0)
    return Signal(at, source, useful=useful, misled=not useful, confidence=certainty, session=session)


def _kind_of(signal: Signal, is_right: bool) -> str:
    if signal.misled:
        return "misled at random"
    return "rightly useful" if is_right else "useful at random"


def _roll_up(quarter: Quarter, now: datetime, constants: ReinforcementRule) -> None:
    for memory, signals in quarter.signals.items():
        found = standing(signals, now=now, constants=constants)
        if found.multiplier == 1.0:
            quarter.multipliers.pop(memory, None)
        else:
            quarter.multipliers[memory] = found.multiplier


def _compared(bench: Bench, name: str, chosen: Collection[Asked], multipliers: Multipliers) -> dict[str, Any]:
    before, after = (_values(bench, chosen, given) for given in ({}, multipliers))
    gains = metrics.difference(after, before)
    columns = list(metrics.METRICS)
    return {
        "name": name,
        "n": len(chosen),
        "before": dict(zip(columns, _rounded(before.mean(axis=0)), strict=True)),
        "after": dict(zip(columns, _rounded(after.mean(axis=0)), strict=True)),
        "gain": {
            metric: _rounded((gain.mean, gain.low, gain.high)) for metric, gain in zip(columns, gains, strict=True)
        },
    }


def _values(bench: Bench, chosen: Iterable[Asked], multipliers: Multipliers) -> metrics.Values:
    ranked = [[bench.corpus.documents[memory] for memory in bench.shown(asked, multipliers)] for asked in chosen]
    return metrics.values_of(ranked, [asked.query.gold for asked in chosen])


def _shares(
    bench: Bench, held_out: Iterable[Asked], quarter: Quarter, constants: ReinforcementRule
) -> dict[str, float | None]:
    shown = [memory for asked in held_out for memory in bench.shown(asked, quarter.multipliers)[:SHOWN]]
    at_cap = sum(value >= constants.boost_limit for value in quarter.multipliers.values())
    stored = len(bench.corpus.documents)
    return {
        "corpus": _share(len(quarter.multipliers), stored),
        "shown": _share(sum(memory in quarter.multipliers for memory in shown), len(shown)),
        "at_cap": _share(at_cap, stored),
    }


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 5) if whole else None


def _rounded(values: Iterable[float]) -> list[float]:
    return [round(float(value), 5) for value in values]
