"""What use says of a memory: the evidence behind its multiplier."""

from __future__ import annotations

from typing import Any, Final

from django.utils.timezone import localtime

from memories.access import Actor
from memories.configuration import reinforcement_rule
from memories.models import Memory, UsageEvent
from memories.ranking import ReinforcementRule
from memories.reinforcement import Outcome, Signal, outcomes
from memories.services.reinforcement import events_about, signal_of
from memories.standing_words import SOURCE_WORDS, outcome_words, sums, times, verdict_words, what_would_change

SHOWN: Final = 50  # newest signals; the sums are of all


def use_of(actor: Actor, memory: Memory) -> dict[str, Any]:
    """As recall reads it, with the signals as they count now. Those about wordings in scopes that *actor* may not read
    count, and are not shown."""
    constants, row = reinforcement_rule(), getattr(memory, "reinforcement", None)
    events = list(
        events_about(memory)
        .select_related("user", "memory")
        .defer("memory__content", "memory__verbatim")
        .order_by("-at", "-pk")
    )
    signals = [signal_of(event) for event in events]
    foreign = {event.session for event in events if event.memory.scope_id not in actor.readable}
    promoted, now = bool(row and row.promoted), localtime()
    told = outcomes(signals, now=now, constants=constants)
    return {
        "promoted": promoted,
        "multiplier": times(row.multiplier if row else 1.0),
        "sums": sums(row.useful, row.misled) if row else "",
        "window_days": constants.window_days,
        "changes": what_would_change(signals, now=now, promoted=promoted, constants=constants, unnamed=foreign),
        "signals": [
            _line(event, signal, outcome, constants)
            for event, signal, outcome in zip(events, signals, told, strict=True)
            if event.memory.scope_id in actor.readable
        ][:SHOWN],
        "total": len(events),
        "counted": told.count(Outcome.COUNTS),
    }


def _line(event: UsageEvent, signal: Signal, outcome: Outcome, constants: ReinforcementRule) -> dict[str, Any]:
    return {
        "source": SOURCE_WORDS[event.source],
        "verdict": verdict_words(signal),
        "confidence": f"{event.confidence:.2f}" if event.source == UsageEvent.Source.JUDGE else "",
        "when": event.at,
        "session": event.session,
        "by": event.user.get_username() if event.user else "",
        "outcome": outcome_words(signal, outcome, constants),
        "counts": outcome == Outcome.COUNTS,
    }
