"""What a session of an agent left behind."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from memories.access import Actor
from memories.errors import ValidationFailed
from memories.models import Memory, RecallActivity, UsageEvent
from memories.services.validation import check_line

MOST_WRITTEN = 100


@dataclass(frozen=True, slots=True)
class Receipt:
    """``given`` in the order of its giving, each memory once; ``unreported`` are those of them nothing was said of."""

    session: str
    recalls: int
    briefings: int
    written: list[Memory]
    given: list[Memory]
    useful: list[UUID]
    misled: list[UUID]

    @property
    def unreported(self) -> list[Memory]:
        told = {*self.useful, *self.misled}
        return [memory for memory in self.given if memory.pk not in told]


def receipt(*, actor: Actor, session: str) -> Receipt:
    """Of the actor's own session, as far as the log of recalls reaches; memories that may not be read are left out."""
    check_line(session, "session")
    if not session.strip():
        raise ValidationFailed("Name the session, as it was named when it recalled and wrote.", field="session")
    lines = list(RecallActivity.objects.filter(user=actor.user, session=session).order_by("at", "pk"))
    readable = Memory.objects.visible_to(actor)
    written = readable.filter(session=session, author=actor.user).select_related("scope").order_by("created_at", "pk")
    given = dict.fromkeys(memory for line in lines for memory in line.memories)
    known = readable.defer("verbatim").in_bulk(list(given))
    briefings = sum(line.sort == RecallActivity.Sort.BRIEFING for line in lines)
    useful, misled = _reported(actor, session)
    return Receipt(
        session=session,
        recalls=len(lines) - briefings,
        briefings=briefings,
        written=list(written[:MOST_WRITTEN]),
        given=[known[memory] for memory in given if memory in known],
        useful=useful,
        misled=misled,
    )


def _reported(actor: Actor, session: str) -> tuple[list[UUID], list[UUID]]:
    """By the last word of the session about each memory."""
    told = UsageEvent.objects.filter(user=actor.user, session=session, memory__scope__in=actor.readable)
    last = {row[0]: row for row in told.order_by("at", "pk").values_list("memory", "useful", "misled")}
    return [row[0] for row in last.values() if row[1]], [row[0] for row in last.values() if row[2]]
