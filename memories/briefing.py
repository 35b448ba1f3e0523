"""What an agent should know before it begins: what its topic brings up, what hangs together with that, what is new, and
what is still open. Everything once, within one budget.

It writes nothing. Standing rules come from the caller, who knows them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db.models import Count, F, FloatField, Value
from django.db.models.functions import Coalesce
from django.utils import timezone

from memories.access import Actor, read_targets
from memories.errors import ValidationFailed
from memories.models import BriefingConfig, Entity, Kind, Memory, MemoryEntity, Provenance
from memories.models.memory import LOOPS
from memories.neighbours import neighbours
from memories.packing import CHARACTERS_A_TOKEN, Cut, Purse, cut
from memories.querysets import MemoryQuerySet
from memories.recall import MOST_RESULTS, Result, recall

FEWEST_TOKENS, MOST_TOKENS = 200, 100_000
USUAL_MEMORIES, FEWEST_MEMORIES, MOST_MEMORIES = 12, 3, 24
TOKENS_A_MEMORY: Final = 200
USUAL_TOKENS: Final = 4000
MOST_LINKED, MOST_ENTITIES, MOST_RECENT, MOST_LOOPS = 8, 12, 5, 10
WHOLE, LINKED_LENGTH, LOOP_LENGTH = 1800, 600, 400  # characters
RANKED: Final = tuple(kind for kind in Kind.values if kind not in LOOPS)
NOT_LINKED: Final = (Kind.EPISODE, *LOOPS)
TOLD_OF_LATE: Final = (Kind.DECISION, Kind.GOTCHA, Kind.CONVENTION, Kind.FACT)

type Offer = tuple[Memory, Cut, str, float | None]
"""A memory with the text to tell of it, why, and its score where it has one."""


def config() -> BriefingConfig:
    return BriefingConfig.current()


@dataclass(frozen=True, slots=True)
class RuleTold:
    """A standing rule, in the order of delivery."""

    id: UUID
    text: str
    layer: str
    pinned: bool


@dataclass(frozen=True, slots=True)
class Told:
    """A memory as far as it is told, and ``why`` it is among the rest. ``score`` only where it was ranked or led to."""

    memory: Memory
    text: str
    truncated: bool
    why: str
    score: float | None = None


@dataclass(frozen=True, slots=True)
class EntityTold:
    """One row for all spellings; ``memories`` counts the live ones that name it."""

    name: str
    types: tuple[str, ...]
    memories: int


@dataclass(frozen=True, slots=True)
class Briefing:
    """``open_loops_total`` counts all that are open and young enough, those not told of included. Lengths are
    characters."""

    topic: str
    rules: Sequence[RuleTold]
    memories: Sequence[Told]
    linked: Sequence[Told]
    entities: Sequence[EntityTold]
    recent: Sequence[Told]
    open_loops: Sequence[Told]
    open_loops_total: int
    notices: Sequence[str]
    budget: int
    spent: int
    scopes: Collection[int]
    words_only: bool = False

    @property
    def given(self) -> list[Told]:
        """Every memory told of, once."""
        return [*self.memories, *self.open_loops, *self.linked, *self.recent]


@dataclass(slots=True)
class _Ranked:
    told: list[Offer] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    words_only: bool = False


def build(
    *,
    actor: Actor,
    topic: str = "",
    scopes: list[str] | None = None,
    max_tokens: int | None = None,
    rules: Sequence[RuleTold] = (),
    now: datetime | None = None,
) -> Briefing:
    """The briefing on *topic*, or of what matters anyway where there is none.

    *max_tokens* bounds all of its texts together, at four characters a token. Raises ValidationFailed, and NotFound for
    a scope that is not there.
    """
    _check(max_tokens)
    topic, now = topic.strip(), now or timezone.now()
    chosen = read_targets(actor, scopes)
    live = Memory.objects.live().in_scopes(chosen).select_related("scope", "reinforcement")
    ranked = _ranked(actor, topic, scopes, live, _wanted(max_tokens))
    loops, total = _open_loops(actor, topic, scopes, live, now)
    purse = Purse(max_tokens or USUAL_TOKENS)
    told_rules = [rule for rule in rules if purse.take(Cut(rule.text, False))]
    memories = _taken(purse, ranked.told, may_shrink=True)
    open_loops = _taken(purse, loops)
    known = {told.memory.pk for told in (*memories, *open_loops)}
    linked = _taken(purse, _linked(memories, live.exclude(pk__in=known), now))
    known |= {told.memory.pk for told in linked}
    recent = _taken(purse, _recent(live.exclude(pk__in=known), now))
    budget = (max_tokens or USUAL_TOKENS) * CHARACTERS_A_TOKEN
    return Briefing(
        topic=topic,
        rules=told_rules,
        memories=memories,
        linked=linked,
        entities=_entities([told.memory for told in (*memories, *linked)], chosen),
        recent=recent,
        open_loops=open_loops,
        open_loops_total=total,
        notices=ranked.notices + _left_out(purse),
        budget=budget,
        spent=budget - purse.left,
        scopes=chosen,
        words_only=ranked.words_only,
    )


def _check(max_tokens: int | None) -> None:
    if max_tokens is not None and not FEWEST_TOKENS <= max_tokens <= MOST_TOKENS:
        raise ValidationFailed(
            f"max_tokens must be from {FEWEST_TOKENS} to {MOST_TOKENS:,}, or left out.", field="max_tokens"
        )


def _wanted(max_tokens: int | None) -> int:
    if max_tokens is None:
        return USUAL_MEMORIES
    return min(MOST_MEMORIES, max(FEWEST_MEMORIES, max_tokens // TOKENS_A_MEMORY))


def _taken(purse: Purse, offers: Iterable[Offer], *, may_shrink: bool = False) -> list[Told]:
    paid = ((memory, purse.take(given, may_shrink=may_shrink), why, score) for memory, given, why, score in offers)
    return [Told(memory, given.text, given.truncated, why, score) for memory, given, why, score in paid if given]


def _left_out(purse: Purse) -> list[str]:
    if not purse.left_out:
        return []
    things = "1 thing was" if purse.left_out == 1 else f"{purse.left_out} things were"
    return [f"{things} left out: the budget was spent. Ask with more max_tokens, or recall what is missing."]


# What the topic brings up --------------------------------------------------------------------


def _ranked(actor: Actor, topic: str, scopes: list[str] | None, live: MemoryQuerySet, wanted: int) -> _Ranked:
    if not topic:
        return _Ranked(_standing(live, wanted))
    rows = Memory.objects.select_related("scope", "reinforcement")
    found = recall(actor=actor, query=topic, scopes=scopes, kinds=RANKED, k=wanted, rows=rows)
    told: list[Offer] = [(result.memory, _matching(result), result.why, result.score) for result in found.results]
    return _Ranked(told, list(found.notices), found.words_only)


def _matching(result: Result) -> Cut:
    """The whole text, or of a long one the stretch that matched."""
    content = result.memory.content
    return Cut(content, False) if len(content) <= WHOLE else Cut(cut(content[result.start :], WHOLE).text, True)


def _standing(live: MemoryQuerySet, wanted: int) -> list[Offer]:
    """Without a topic: what is pinned, then what proved useful, then what is new, of the kinds that last."""
    lasting = live.exclude(kind__in=NOT_LINKED).annotate(
        multiplier=Coalesce(F("reinforcement__multiplier"), Value(1.0), output_field=FloatField())
    )
    rows = list(lasting.order_by("-pinned", "-multiplier", "-created_at", "pk")[:wanted])
    return [(memory, cut(memory.content, WHOLE), _standing_why(memory), vars(memory)["multiplier"]) for memory in rows]


def _standing_why(memory: Memory) -> str:
    if memory.pinned:
        return "Pinned."
    if vars(memory)["multiplier"] > 1:
        return f"Proved useful: ×{vars(memory)['multiplier']:.2f}."
    return "Among the newest of what lasts."


# What hangs together with it -----------------------------------------------------------------


def _linked(memories: Sequence[Told], others: MemoryQuerySet, now: datetime) -> list[Offer]:
    lasting = others.exclude(kind__in=NOT_LINKED)
    scores = {told.memory.pk: told.score or 0.0 for told in memories}
    near = neighbours(scores, lasting, now=now)[:MOST_LINKED]
    return [(each.memory, cut(each.memory.content, LINKED_LENGTH), each.why, each.score) for each in near]


def _entities(memories: Sequence[Memory], scopes: Collection[int]) -> list[EntityTold]:
    """What those memories name, the most named of all first; the spelling is the one most of them use."""
    named = MemoryEntity.objects.filter(memory__in=memories).values_list("entity__canonical", "entity__name")
    spellings: dict[str, Counter[str]] = defaultdict(Counter)
    for canonical, name in named:
        spellings[canonical][name] += 1
    known = Entity.objects.filter(canonical__in=spellings, scope__in=scopes)
    types: dict[str, set[str]] = defaultdict(set)
    for canonical, type in known.values_list("canonical", "type"):
        types[canonical].add(type)
    live = MemoryEntity.objects.filter(entity__in=known, memory__in=Memory.objects.live())
    counts = dict(
        live.values("entity__canonical")
        .annotate(n=Count("memory", distinct=True))
        .values_list("entity__canonical", "n")
    )
    rows = [
        EntityTold(_spelling(spellings[canonical]), tuple(sorted(types[canonical])), number)
        for canonical, number in counts.items()
    ]
    return sorted(rows, key=lambda row: (-row.memories, row.name))[:MOST_ENTITIES]


def _spelling(names: Counter[str]) -> str:
    return min(names, key=lambda name: (-names[name], name))


# What is new, and what is open ---------------------------------------------------------------


def _days(days: float) -> str:
    return f"{days:g} day{'' if days == 1 else 's'}"


def _recent(others: MemoryQuerySet, now: datetime) -> list[Offer]:
    days = config().recent_days
    rows = others.filter(
        kind__in=TOLD_OF_LATE, provenance__gte=Provenance.AGENT, created_at__gt=now - timedelta(days=days)
    )
    newest = rows.order_by("-created_at", "-pk")[:MOST_RECENT]
    return [
        (memory, cut(memory.content, LINKED_LENGTH), f"New: learned in the last {_days(days)}.", None)
        for memory in newest
    ]


def _open_loops(
    actor: Actor, topic: str, scopes: list[str] | None, live: MemoryQuerySet, now: datetime
) -> tuple[list[Offer], int]:
    """The oldest that are young enough, and how many there are. The one nearest the topic is told whole."""
    rows = open_loops_in(live, now)
    shown = list(rows.order_by("created_at", "pk")[:MOST_LOOPS])
    nearest = _nearest(actor, topic, scopes, {memory.pk for memory in shown})
    return [_loop(memory, is_nearest=memory.pk == nearest) for memory in shown], rows.count()


def open_loops_in(live: MemoryQuerySet, now: datetime) -> MemoryQuerySet:
    """Tasks and questions among *live* that are young enough to be told of."""
    return live.filter(kind__in=LOOPS, created_at__gt=now - timedelta(days=config().loop_days))


def _loop(memory: Memory, *, is_nearest: bool) -> Offer:
    if is_nearest:
        return memory, Cut(memory.content, False), "Open, and the nearest to the topic.", None
    return memory, cut(memory.content, LOOP_LENGTH), "Open.", None


def _nearest(actor: Actor, topic: str, scopes: list[str] | None, shown: Collection[UUID]) -> UUID | None:
    if not topic or not shown:
        return None
    found = recall(actor=actor, query=topic, scopes=scopes, kinds=LOOPS, k=MOST_RESULTS)
    return next((result.memory.pk for result in found.results if result.memory.pk in shown), None)
