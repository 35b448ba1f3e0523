"""What use says of a memory: the evidence behind its multiplier."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from memories.access import Actor
from memories.models import Memory, UsageEvent
from memories.ranking import ReinforcementRule
from memories.reinforcement import Outcome
from memories.standing_words import SOURCE_WORDS, outcome_words, sums, times, verdict_words, what_would_change
from memories.usage import OLDER_TOLD, Said

SHOWN: Final = OLDER_TOLD  # newest signals


def use_of(
    actor: Actor, memory: Memory, said: Sequence[Said], *, now: datetime, constants: ReinforcementRule
) -> dict[str, Any]:
    """As recall reads it, with the signals as they count now. Those about wordings in scopes that *actor* may not read
    count, and are not shown. Days are those of the time zone of *now*."""
    row = getattr(memory, "reinforcement", None)
    readable = [one for one in said if one.event.memory.scope_id in actor.readable]
    foreign = {one.signal.session for one in said if one.event.memory.scope_id not in actor.readable}
    promoted, signals = bool(row and row.promoted), [one.signal for one in said]
    return {
        "promoted": promoted,
        "multiplier": times(row.multiplier if row else 1.0),
        "sums": sums(row.useful, row.misled) if row else "",
        "window_days": constants.window_days,
        "changes": what_would_change(signals, now=now, promoted=promoted, constants=constants, unnamed=foreign),
        "signals": [_line(one, constants) for one in readable[:SHOWN]],
        "total": len(said),
        "is_cut": sum(one.outcome == Outcome.LEFT_WINDOW for one in said) == OLDER_TOLD,
        "counted": sum(one.counts for one in said),
    }


def _line(said: Said, constants: ReinforcementRule) -> dict[str, Any]:
    event, signal = said.event, said.signal
    return {
        "source": SOURCE_WORDS[event.source],
        "verdict": verdict_words(signal),
        "confidence": f"{event.confidence:.2f}" if event.source == UsageEvent.Source.JUDGE else "",
        "when": event.at,
        "session": event.session,
        "by": event.user.get_username() if event.user else "",
        "outcome": outcome_words(signal, said.outcome, constants),
        "counts": said.counts,
    }
