"""PURE. From what became of a memory whenever it was shown to the multiplier of its score.

``U`` and ``M`` of ``memories.ranking.reinforcement_multiplier``: direct reports and challenges count one each, a judge
counts its confidence, and one session counts once, in the voice of whoever was there. A challenge that turned out wrong
is withdrawn by a signal of its very moment, and one more reinstates it.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from memories.ranking import REINFORCEMENT_DEFAULTS, ReinforcementRule, evidence, reinforcement_multiplier

JUDGE: Final = "judge"
CHALLENGE: Final = "challenge"
_WITHDRAWS: Final = {"withdrawn": 1, "reinstated": -1}


@dataclass(frozen=True, slots=True)
class Signal:
    """``source`` is ``direct``, ``judge``, ``challenge``, ``withdrawn`` or ``reinstated``; without a session a signal
    stands alone."""

    at: datetime
    source: str
    useful: bool = False
    misled: bool = False
    confidence: float = 1.0
    session: str = ""


@dataclass(frozen=True, slots=True)
class Standing:
    useful: float
    misled: float
    multiplier: float

    @property
    def is_neutral(self) -> bool:
        """Nothing to keep: a memory without a row stands here too."""
        return self.useful == 0 and self.misled == 0 and self.multiplier == 1.0


def standing(
    signals: Iterable[Signal],
    *,
    now: datetime,
    promoted: bool = False,
    constants: ReinforcementRule = REINFORCEMENT_DEFAULTS,
) -> Standing:
    """What the signals of the last ``window_days`` days amount to."""
    since = now - timedelta(days=constants.window_days)
    recent = _that_stand([signal for signal in signals if signal.at >= since])
    useful = _evidence([signal for signal in recent if signal.useful], constants)
    misled = _evidence([signal for signal in recent if signal.misled], constants)
    multiplier = reinforcement_multiplier(useful, misled, promoted=promoted, constants=constants)
    return Standing(useful, misled, multiplier)


def _that_stand(signals: Sequence[Signal]) -> list[Signal]:
    withdrawn: Counter[datetime] = Counter()
    for signal in signals:
        withdrawn[signal.at] += _WITHDRAWS.get(signal.source, 0)
    said = [signal for signal in signals if signal.source not in _WITHDRAWS]
    return [signal for signal in said if signal.source != CHALLENGE or withdrawn[signal.at] <= 0]


def _evidence(signals: Sequence[Signal], constants: ReinforcementRule) -> float:
    direct = [signal for signal in signals if signal.source != JUDGE]
    told = {signal.session for signal in direct if signal.session}
    judged: dict[str, float] = {}
    alone = [signal.confidence for signal in signals if signal.source == JUDGE and not signal.session]
    for signal in signals:
        if signal.source == JUDGE and signal.session and signal.session not in told:
            judged[signal.session] = max(signal.confidence, judged.get(signal.session, 0))
    reports = len(told) + sum(not signal.session for signal in direct)
    return evidence(reports, [*judged.values(), *alone], constants=constants)
