"""The log of what agents asked, for the person whose agents they are and for nobody else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median
from typing import Any, Final
from uuid import UUID

from django.db.models import Count, Max, Q, QuerySet
from django.db.models.functions import Left

from memories.access import Actor
from memories.agents import canonical, canonical_agent
from memories.errors import ValidationFailed
from memories.headlines import headline
from memories.models import Memory, RecallActivity, Scope
from memories.presentation import STATE_BADGES
from memories.services.accesses import ACTIVITY_DAYS

WORDS_ONLY: Final = "words"
OUTCOMES: Final[Mapping[str, tuple[str, Q]]] = {
    "hits": ("Found", Q(outcome="hits")),
    "empty": ("Nothing found", Q(outcome="empty")),
    "error": ("Failed", Q(outcome="error")),
    WORDS_ONLY: ("By words only", Q(words_only=True)),
}
AGENTS_NAMED: Final = 20
OPENING: Final = 400  # characters in which a headline lies
LATELY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Choice:
    agent: str | None = None
    outcome: str | None = None
    scope: Scope | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Lately:
    recalls: int
    empty: int
    failed: int


def lines_of(actor: Actor, now: datetime) -> QuerySet[RecallActivity]:
    """A person's own; a token sees its own and those of the same person that asked only where it may read."""
    mine = RecallActivity.objects.filter(user=actor.user, at__gte=now - timedelta(days=ACTIVITY_DAYS))
    if actor.token is None:
        return mine
    within = Q(scopes__len__gt=0, scopes__contained_by=sorted(actor.readable))
    return mine.filter(Q(token=actor.token) | within)


def narrowed(lines: QuerySet[RecallActivity], choice: Choice) -> QuerySet[RecallActivity]:
    """Raises ValidationFailed for an outcome that there is not."""
    if choice.agent is not None:
        lines = lines.alias(called=canonical()).filter(called=canonical_agent(choice.agent))
    if choice.outcome is not None:
        if choice.outcome not in OUTCOMES:
            raise ValidationFailed(
                f"There is no outcome {choice.outcome!r}; use {', '.join(OUTCOMES)}.", field="outcome"
            )
        lines = lines.filter(OUTCOMES[choice.outcome][1])
    if choice.scope is not None:
        lines = lines.filter(scopes__contains=[choice.scope.pk])
    return lines.filter(query__icontains=choice.text) if choice.text else lines


def agents_of(lines: QuerySet[RecallActivity]) -> list[str]:
    """Those that asked most."""
    found = lines.order_by().values(called=canonical()).annotate(times=Count("pk"), spelt=Max("agent"))
    return [row["spelt"] for row in found.order_by("-times", "called")[:AGENTS_NAMED]]


def lately(actor: Actor, now: datetime) -> Lately:
    found = lines_of(actor, now).filter(at__gte=now - LATELY, sort=RecallActivity.Sort.RECALL)
    empty, failed = Count("pk", filter=Q(outcome="empty")), Count("pk", filter=Q(outcome="error"))
    return Lately(**found.aggregate(recalls=Count("pk"), empty=empty, failed=failed))


@dataclass(frozen=True, slots=True)
class Named:
    """A memory that was given, as it stands now. Without a headline it may not be read any more, or is gone."""

    id: UUID
    headline: str = ""
    badge: str = ""


def named(actor: Actor, lines: Iterable[RecallActivity]) -> dict[UUID, Named]:
    """What the lines name and the actor may read, by its id. One query."""
    ids = {memory for line in lines for memory in line.memories}
    rows = Memory.objects.visible_to(actor).filter(pk__in=ids).annotate(opening=Left("content", OPENING))
    found = rows.only("pk", "invalidated_at", "superseded_by", "archived_at", "valid_until")
    return {
        row.pk: Named(row.pk, headline(row.opening), STATE_BADGES.get(row.state, {}).get("text", "")) for row in found
    }


def median_age(line: RecallActivity) -> float | None:
    return median(line.ages) if line.ages else None


def answer(line: RecallActivity, names: Mapping[UUID, Named], scopes: Mapping[int, str]) -> dict[str, Any]:
    """A line over REST: scopes and memories that may not be read are counted, not named."""
    return {
        "id": line.pk,
        "at": line.at,
        "sort": line.sort,
        "agent": line.agent,
        "session": line.session,
        "query": line.query,
        "scopes": [scopes[scope] for scope in line.scopes if scope in scopes],
        "k": line.k,
        "outcome": line.outcome,
        "error": line.error,
        "words_only": line.words_only,
        "took_ms": line.took_ms,
        "hits": line.hits,
        "reinforced": sum(line.reinforced),
        "median_age_days": median_age(line),
        "memories": [memory for memory in line.memories if memory in names],
    }
