"""Which standing rules are delivered, and why the others are left out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Q

from memories.access import Actor
from memories.models import Memory, Scope
from memories.services.edit import EDITED
from memories.wordings import all_wordings, newest_wordings
from reflections.models import StandingRule
from reflections.rationing import Standing, ration_each


@dataclass(frozen=True, slots=True)
class Ruling:
    """A promoted rule, the wording its memory has now, and why it is left out; delivered where there is no reason."""

    rule: StandingRule
    memory: Memory
    why: str = ""

    @property
    def is_delivered(self) -> bool:
        return not self.why

    @property
    def has_changed(self) -> bool:
        """The memory was edited since; the rule keeps its own text."""
        return has_changed(self.rule, self.memory)


@dataclass(frozen=True, slots=True)
class Layer:
    name: str
    rulings: Sequence[Ruling]  # what is delivered, in its order, then what is left out

    @property
    def delivered(self) -> list[Ruling]:
        return [ruling for ruling in self.rulings if ruling.is_delivered]

    @property
    def left_out(self) -> list[Ruling]:
        return [ruling for ruling in self.rulings if not ruling.is_delivered]


def deliverable(actor: Actor, scopes: Collection[int]) -> list[Layer]:
    """The layers ``core`` and ``scope`` of what an agent of *actor* is told in *scopes*, which it may read."""
    asked = frozenset(scopes) & actor.readable
    rules = list(StandingRule.objects.promoted_for(actor, asked).whole())
    memories = wordings_now(rules)
    core = [rule for rule in rules if rule.layer == StandingRule.Layer.CORE]
    here = [[rule for rule in rules if rule not in core and _names(rule, scope)] for scope in sorted(asked)]
    return [layer_of("core", [core], memories), layer_of("scope", here, memories)]


def _names(rule: StandingRule, scope_id: int) -> bool:
    return any(scope.pk == scope_id for scope in rule.scopes.all())


def layer_of(name: str, places: Sequence[Sequence[StandingRule]], memories: Mapping[UUID, Memory]) -> Layer:
    """Each of *places* has its own ration of its rules, which come from ``whole()``; *memories* from
    ``wordings_now``."""
    rationed = ration_each([_standing(rule, memories[rule.pk]) for rule in rules] for rules in places)
    found = {rule.pk: rule for rules in places for rule in rules}
    chosen = [(id, "") for id in rationed.delivered] + list(rationed.left_out)
    return Layer(name, [Ruling(found[id], memories[id], why) for id, why in chosen])


def _standing(rule: StandingRule, memory: Memory) -> Standing:
    assert rule.promoted_at  # the database keeps it so
    reinforcement = getattr(memory, "reinforcement", None)
    useful = reinforcement.useful if reinforcement else 0.0
    return Standing(rule.pk, rule.pinned, useful, rule.promoted_at, hindrance(memory))


def hindrance(memory: Memory) -> str:
    """Why nothing is said of a memory in this state; nothing where it is live."""
    reasons = {
        "invalidated": "Its memory was forgotten. Restore it, and the rule is delivered again.",
        "superseded": "Another memory replaced its memory. Revoke the rule, or restore that memory.",
        "lapsed": "Its memory is no longer valid. Give it a later end, and the rule is delivered again.",
        "archived": "Its memory is in the archive. Restore it, and the rule is delivered again.",
    }
    return "" if memory.state == "live" else reasons[memory.state]


# Wordings ------------------------------------------------------------------------------------


def wordings_now(rules: Iterable[StandingRule]) -> dict[UUID, Memory]:
    """For each rule, its memory as it is worded now; where the edits go in a circle, its memory as it is."""
    found = {rule.pk: rule.memory for rule in rules}
    edited = {rule: memory.pk for rule, memory in found.items() if is_edited(memory)}
    if not edited:
        return found
    newest = newest_wordings(edited.values())
    rows = Memory.objects.select_related("reinforcement").defer("verbatim").in_bulk(newest.values())
    return found | {rule: rows[newest[memory]] for rule, memory in edited.items() if memory in newest}


def is_edited(memory: Memory) -> bool:
    return memory.superseded_by_id is not None and memory.invalidation_reason == EDITED


def has_changed(rule: StandingRule, memory: Memory) -> bool:
    """Whether the *memory* of ``wordings_now`` was edited after the text of its rule was written or approved."""
    return memory.pk != rule.memory_id and memory.recorded_at > rule.worded_at


def wordings_of(memory: Memory) -> set[UUID]:
    """The memory and everything it was edited from or into."""
    return all_wordings(memory.pk)


# Decaying scopes -----------------------------------------------------------------------------


def kept_for_rules(now: datetime) -> Q:
    """The memories of rules that are delivered or proposed, in every wording: to be told at the start of a session is
    no access, and they would leave their scope as if nobody used them."""
    states = (StandingRule.State.PROPOSED, StandingRule.State.SNOOZED, StandingRule.State.PROMOTED)
    rules = StandingRule.objects.filter(state__in=states, memory__scope__retention=Scope.Retention.DECAYING)
    kept = {wording for rule in rules.select_related("memory") for wording in wordings_of(rule.memory)}
    return Q(pk__in=kept)
