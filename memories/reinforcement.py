"""PURE. From what became of a memory whenever it was shown to the multiplier of its score.

``U`` and ``M`` of ``memories.ranking.reinforcement_multiplier``. A session speaks of a memory with one voice, the first
of these that it has: a challenge that stands, its latest direct report, a link from what it wrote, the judge's surest
verdict, where misled goes before useful. A judge counts its confidence, everybody else one. ``sql/roll_up.sql`` says
the same of all memories at once.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from memories.ranking import REINFORCEMENT_DEFAULTS, ReinforcementRule, evidence, reinforcement_multiplier

DIRECT: Final = "direct"
LINK: Final = "link"
JUDGE: Final = "judge"
CHALLENGE: Final = "challenge"
_WITHDRAWS: Final = {"withdrawn": 1, "reinstated": -1}
_VOICES: Final = {CHALLENGE: 3, DIRECT: 2, LINK: 1, JUDGE: 0}


@dataclass(frozen=True, slots=True)
class Signal:
    """``source`` is ``direct``, ``link``, ``judge``, ``challenge``, ``withdrawn`` or ``reinstated``; without a session
    a signal stands alone. A withdrawal, and what reinstates it, is of the very moment of the misleading reports that it
    speaks of."""

    at: datetime
    source: str
    useful: bool = False
    misled: bool = False
    confidence: float = 1.0
    session: str = ""


class Outcome(StrEnum):
    """Whether a signal counts, or why it does not."""

    COUNTS = "counts"
    LEFT_WINDOW = "left window"
    WITHDRAWN = "withdrawn"
    SAYS_NOTHING = "says nothing"
    UNSURE = "unsure"
    OUTSPOKEN = "outspoken"


@dataclass(frozen=True, slots=True)
class Standing:
    useful: float
    misled: float
    multiplier: float

    @property
    def is_neutral(self) -> bool:
        """Nothing to keep: a memory without a row stands here too."""
        return self.useful == 0 and self.misled == 0 and self.multiplier == 1.0


NEUTRAL: Final = Standing(0.0, 0.0, 1.0)


def standing(
    signals: Iterable[Signal],
    *,
    now: datetime,
    promoted: bool = False,
    constants: ReinforcementRule = REINFORCEMENT_DEFAULTS,
) -> Standing:
    """What the signals of the last ``window_days`` days amount to."""
    told = list(signals)
    weighed = zip(told, outcomes(told, now=now, constants=constants), strict=True)
    counted = [signal for signal, outcome in weighed if outcome == Outcome.COUNTS]
    useful = _evidence([signal for signal in counted if signal.useful], constants)
    misled = _evidence([signal for signal in counted if signal.misled], constants)
    multiplier = reinforcement_multiplier(useful, misled, promoted=promoted, constants=constants)
    return Standing(useful, misled, multiplier)


def outcomes(
    signals: Sequence[Signal], *, now: datetime, constants: ReinforcementRule = REINFORCEMENT_DEFAULTS
) -> list[Outcome]:
    """What becomes of each signal, in their order."""
    since = now - timedelta(days=constants.window_days)
    withdrawn = withdrawn_moments(signals)
    found = [_alone(signal, since, withdrawn, constants) for signal in signals]
    voices: dict[str, int] = {}
    for place, signal in enumerate(signals):
        if signal.session and found[place] in (Outcome.COUNTS, Outcome.SAYS_NOTHING) and _speaks(signal):
            before = voices.get(signal.session)
            if before is None or _voice(signal) > _voice(signals[before]):
                voices[signal.session] = place
    return [
        Outcome.OUTSPOKEN
        if found[place] == Outcome.COUNTS and signal.session and voices[signal.session] != place
        else found[place]
        for place, signal in enumerate(signals)
    ]


def withdrawn_moments(signals: Iterable[Signal]) -> set[datetime]:
    """The moments whose misleading reports are withdrawn."""
    balance: Counter[datetime] = Counter()
    for signal in signals:
        balance[signal.at] += _WITHDRAWS.get(signal.source, 0)
    return {at for at, times in balance.items() if times > 0}


def _alone(signal: Signal, since: datetime, withdrawn: set[datetime], constants: ReinforcementRule) -> Outcome:
    if signal.at < since:
        return Outcome.LEFT_WINDOW
    if (signal.misled or signal.source == CHALLENGE) and signal.at in withdrawn:
        return Outcome.WITHDRAWN
    if not (signal.useful or signal.misled):
        return Outcome.SAYS_NOTHING
    if signal.source == JUDGE and signal.confidence < constants.judge_minimum:
        return Outcome.UNSURE
    return Outcome.COUNTS


def _speaks(signal: Signal) -> bool:
    """A direct report that the memory was of no use takes back what its session said before."""
    return signal.useful or signal.misled or signal.source == DIRECT


def _voice(signal: Signal) -> tuple[Any, ...]:
    """By which one voice of a session goes before another. Of two reports at one moment the graver one does."""
    verdict = 2 * signal.misled + signal.useful
    if signal.source == DIRECT:
        return _VOICES[DIRECT], signal.at, verdict
    return _VOICES[signal.source], verdict, signal.confidence


def _evidence(signals: Sequence[Signal], constants: ReinforcementRule) -> float:
    judged = [signal.confidence for signal in signals if signal.source == JUDGE]
    return evidence(len(signals) - len(judged), judged, constants=constants)
