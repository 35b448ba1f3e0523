"""PURE. How a memory stands by what was said of it, and what would change that, in sentences for its page."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Final

from memories.ranking import REINFORCEMENT_DEFAULTS, ReinforcementRule
from memories.reinforcement import CHALLENGE, DIRECT, JUDGE, LINK, Outcome, Signal, outcomes, standing
from zeromemory.lib.counting import counted

SOURCE_WORDS: Final = {
    DIRECT: "report",
    LINK: "link of a newer memory",
    JUDGE: "judge's verdict",
    CHALLENGE: "challenge",
    "withdrawn": "withdrawal of a report",
    "reinstated": "renewal of a report",
}
_MOMENT: Final = timedelta(microseconds=1)


def times(multiplier: float) -> str:
    return f"×{multiplier:.2f}"


def sums(useful: float, misled: float) -> str:
    """``5 useful and 0.70 misled``."""
    return f"{_number(useful)} useful and {_number(misled)} misled"


def _number(value: float) -> str:
    return f"{value:.0f}" if value == int(value) else f"{value:.2f}"


def verdict_words(signal: Signal) -> str:
    if signal.useful or signal.misled:
        return "useful" if signal.useful else "misled"
    return "" if signal.source in ("withdrawn", "reinstated") else "neither"


def outcome_words(signal: Signal, outcome: Outcome, constants: ReinforcementRule) -> str:
    """Whether it counts and how much, or why it does not."""
    if outcome == Outcome.COUNTS:
        return f"counts {signal.confidence:.2f}" if signal.source == JUDGE else "counts 1"
    if outcome == Outcome.SAYS_NOTHING and signal.source in ("withdrawn", "reinstated"):
        return "speaks of the report of that moment"
    return {
        Outcome.LEFT_WINDOW: f"no longer counts, older than {counted(constants.window_days, 'day')}",
        Outcome.WITHDRAWN: "does not count, it was withdrawn",
        Outcome.SAYS_NOTHING: "does not count, it says neither",
        Outcome.UNSURE: f"does not count, less sure than {constants.judge_minimum:.2f}",
        Outcome.OUTSPOKEN: "does not count, its session is heard by another signal",
    }[outcome]


def what_would_change(
    signals: Sequence[Signal],
    *,
    now: datetime,
    promoted: bool = False,
    constants: ReinforcementRule = REINFORCEMENT_DEFAULTS,
    unnamed: Collection[str] = (),
) -> list[str]:
    """Sentences. Days are those of the time zone of *now*; *unnamed* sessions are left without their name."""
    if promoted:
        otherwise = standing(signals, now=now, constants=constants).multiplier
        return [
            f"It is a standing rule, so it stands at {times(constants.promoted)} whatever is said of it.",
            f"If the rule was revoked, it would stand at {times(otherwise)}.",
        ]
    useful = _one_more(signals, Signal(now, DIRECT, useful=True), now, constants)
    misled = _one_more(signals, Signal(now, DIRECT, misled=True), now, constants)
    return [useful, misled, *_leaving(signals, now, constants, unnamed)]


def _one_more(signals: Sequence[Signal], more: Signal, now: datetime, constants: ReinforcementRule) -> str:
    before = standing(signals, now=now, constants=constants).multiplier
    after = standing([*signals, more], now=now, constants=constants).multiplier
    if more.useful:
        if after == before:
            return f"Another useful session would change nothing: it stands at {times(before)}."
        return f"One more useful session would raise it to {times(after)}."
    if after == before:
        return f"Another session that it misled would change nothing: {times(before)} is the lowest there is."
    return f"One session that it misled would lower it to {times(after)}."


def _leaving(
    signals: Sequence[Signal], now: datetime, constants: ReinforcementRule, unnamed: Collection[str]
) -> list[str]:
    """What leaves the window next, and how the memory stands then if nothing else is said."""
    told = zip(signals, outcomes(signals, now=now, constants=constants), strict=True)
    counted = [signal for signal, outcome in told if outcome == Outcome.COUNTS]
    if not counted:
        return []
    first = min(counted, key=lambda signal: signal.at)
    leaves = (first.at + timedelta(days=constants.window_days)).astimezone(now.tzinfo)
    after = standing(signals, now=leaves + _MOMENT, constants=constants).multiplier
    whose = f" of session {first.session}" if first.session and first.session not in unnamed else ""
    return [
        f"{_when(leaves, now)} the {SOURCE_WORDS[first.source]}{whose} leaves the window; "
        f"if nothing else is said, it then stands at {times(after)}."
    ]


def _when(leaves: datetime, now: datetime) -> str:
    days = (leaves.date() - now.date()).days
    day = f"{leaves.day} {leaves:%B}" + (f" {leaves.year}" if leaves.year != now.year else "")
    if days == 0:
        return "Today"
    return f"In {days} day{'' if days == 1 else 's'}, on {day},"
