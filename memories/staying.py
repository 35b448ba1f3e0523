"""How long a memory stays where it is, in words."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from memories.decaying import days_left, is_kept
from memories.models import Memory, RetentionPolicy, Scope
from memories.protection import is_protected
from memories.retention import RetentionRule, in_hours, weight
from zeromemory.lib.counting import counted

AGES: Final = "by age: nothing leaves here, and age lowers its place in search"


def kept_for(memory: Memory, now: datetime) -> str:
    """The policy in force, and in a decaying scope the weight that is left and when the memory leaves."""
    if memory.scope.retention != Scope.Retention.DECAYING:
        return AGES
    if memory.archived_at:
        return "by use: it has left its scope and is in the archive"
    rule = RetentionPolicy.of(memory.scope).rule
    return f"by use: weighs {_weight(memory, rule, now):.2g}; {_until(memory, rule, now)}"


def _until(memory: Memory, rule: RetentionRule, now: datetime) -> str:
    if is_kept(memory):
        return f"it stays whatever it weighs, because it is {'pinned' if memory.pinned else f'a {memory.kind}'}"
    days = days_left(memory, rule, now)
    if not days:
        return "it leaves with the next cycle unless somebody asks for it"
    return f"unless somebody asks for it, it leaves in {_days(days)}"


def _days(days: float) -> str:
    if days < 1:
        return "less than a day"
    return counted(round(days), "day")


def _weight(memory: Memory, rule: RetentionRule, now: datetime) -> float:
    """A pinned memory keeps what it has."""
    if memory.pinned and memory.invalidated_at is None:
        return memory.weight
    return weight(memory.weight, in_hours(memory.accessed_at, now), rule.half_life_hours)


def unpinned_warning(memory: Memory, now: datetime) -> str:
    """What to say before a memory is unpinned that the next cycle would let go; empty for any other."""
    decays = memory.scope.retention == Scope.Retention.DECAYING
    if not (decays and memory.pinned and memory.invalidated_at is None):
        return ""
    rule = RetentionPolicy.of(memory.scope).rule
    hours = in_hours(memory.accessed_at, now)
    then = weight(memory.weight, hours, rule.half_life_hours)
    if then >= rule.floor or is_protected(memory.kind, memory.provenance):
        return ""
    return (
        f"Nobody has asked for it for {_days(hours / 24)}: unpinned it weighs {then:.2g}, below the floor of "
        f"{rule.floor:g}, and the next cycle lets it go."
    )
