"""The versions of a memory, and what surrounds it."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import connection
from django.db.models import Q

from memories.access import Actor
from memories.models import AuditEntry, Link, Memory
from memories.sql import load


@dataclass(frozen=True, slots=True)
class Tie:
    """A link seen from one memory: its type, its direction (``out`` or ``in``) and the memory at the other end."""

    type: str
    direction: str
    memory: Memory


def versions(memory: Memory, actor: Actor) -> list[Memory]:
    """Every version the actor may read, newest first; one entry where nothing was ever replaced."""
    with connection.cursor() as cursor:
        cursor.execute(load("version_chain"), {"memory": memory.pk})
        ids = [row[0] for row in cursor.fetchall()]
    chain = Memory.objects.visible_to(actor).filter(pk__in=ids).select_related("scope", "author", "invalidated_by")
    return sorted(chain, key=lambda row: (row.invalidated_at is None, row.recorded_at, row.version), reverse=True)


def ties(memory: Memory, actor: Actor) -> list[Tie]:
    """Links both ways to memories the actor may read, in the order they were made."""
    found = Link.objects.filter(Q(source=memory) | Q(target=memory)).select_related("source__scope", "target__scope")
    both = [
        Tie(link.type, "out", link.target) if link.source_id == memory.pk else Tie(link.type, "in", link.source)
        for link in found.order_by("created_at", "pk")
    ]
    return [tie for tie in both if tie.memory.scope_id in actor.readable]


def trail(memory: Memory, *, most: int = 100) -> list[AuditEntry]:
    """What was done to the memory, newest first."""
    return list(AuditEntry.objects.filter(object_type="memory", object_id=str(memory.pk)).order_by("-at", "-pk")[:most])
