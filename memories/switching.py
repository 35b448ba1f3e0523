"""What a change of policy would do to a scope, counted before it is made: which ranks would move, what would leave."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db.models import Case, F, FloatField, Value, When, Window
from django.db.models.functions import Abs, Coalesce, RowNumber

from memories import ageing
from memories.configuration import ranking_rules
from memories.decaying import falling, held
from memories.models import Memory, RetentionPolicy, Scope
from memories.querysets import MemoryQuerySet
from memories.ranking import DECAYING, PROVISIONAL_FACTOR, PROVISIONAL_RANK, UNKNOWN_RULE
from memories.retention import RetentionRule, confidence_factor, runs

MOVERS: Final = 5
SAMPLE: Final = 5


@dataclass(frozen=True, slots=True)
class Mover:
    memory: Memory
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Preview:
    """``moved`` of ``live`` would stand in another place, were all equally relevant; ``movers`` move furthest.

    ``leaving`` is what the next cycle would let go, ``sample`` the lightest of it. ``runs`` is False where the scope
    holds too few for a cycle: then nothing leaves until it holds more.
    """

    live: int
    moved: int
    movers: tuple[Mover, ...]
    count: int
    runs: bool
    leaving: int
    sample: tuple[Memory, ...]


def preview_of(scope: Scope, *, retention: str, rule: RetentionRule, now: datetime) -> Preview:
    """Of switching *scope* to *retention* under *rule*. Reads, and writes nothing."""
    places = _placed(scope, retention, rule, now)
    moving = places.exclude(place_before=F("place_after"))
    furthest = moving.annotate(by=Abs(F("place_after") - F("place_before"))).order_by("-by", "place_after")[:MOVERS]
    count, decays = held(scope).count(), retention == DECAYING
    falls = falling(scope, rule, now)
    leaving = falls if decays and runs(count, rule) else falls.none()
    return Preview(
        live=places.count(),
        moved=moving.count(),
        movers=tuple(Mover(memory, memory.place_before, memory.place_after) for memory in furthest),
        count=count,
        runs=decays and runs(count, rule),
        leaving=leaving.count(),
        sample=tuple(leaving.order_by(F("weight_then").asc(), "pk")[:SAMPLE]),
    )


def _placed(scope: Scope, retention: str, rule: RetentionRule, now: datetime) -> MemoryQuerySet:
    """The live memories of *scope*, in the order in which each policy puts what is equally relevant."""
    before = _prior(scope.retention, RetentionPolicy.of(scope).rule, now)
    rows = Memory.objects.live().filter(scope=scope).annotate(before=before, after=_prior(retention, rule, now))
    return rows.annotate(place_before=_place("before"), place_after=_place("after"))


def _place(score: str) -> Window:
    return Window(RowNumber(), order_by=[F(score).desc(), F("created_at").desc(), F("pk").asc()])


def _prior(retention: str, rule: RetentionRule, now: datetime) -> Any:
    """The part of a score that no question changes: kind × age × provenance × confidence × reinforcement."""
    rules = ranking_rules()
    kinds = Case(
        *[When(kind=kind, then=Value(row.weight)) for kind, row in rules.items()],
        default=Value(UNKNOWN_RULE.weight),
        output_field=FloatField(),
    )
    provenance = Case(
        When(provenance__lte=PROVISIONAL_RANK, then=Value(PROVISIONAL_FACTOR)),
        default=Value(1.0),
        output_field=FloatField(),
    )
    reinforcement = Coalesce(F("reinforcement__multiplier"), Value(1.0), output_field=FloatField())
    product = kinds * provenance * reinforcement
    if retention == DECAYING:
        return product * _confidence(rule)
    return product * ageing.age_factor(rules, now)


def _confidence(rule: RetentionRule) -> Case:
    labels = ("verified", "unverified")
    return Case(
        *[When(confidence=label, then=Value(confidence_factor(label, rule.confidence_weight))) for label in labels],
        default=Value(1.0),
        output_field=FloatField(),
    )
