"""The versions of a memory, what surrounds it, and what was done lately."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db import connection
from django.db.models import Count, F, IntegerField, Q, Sum, Window
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Left, RowNumber

from memories.access import Actor
from memories.models import AuditEntry, Link, Memory
from memories.models.audit import OPERATION
from memories.querysets import OPENING, MemoryQuerySet
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
        ids = {row[0] for row in cursor.fetchall()} | {memory.pk}  # a damaged chain has no end to start from
    chain = _named(actor).filter(pk__in=ids)
    return sorted(chain, key=lambda row: (row.invalidated_at is None, row.recorded_at, row.version), reverse=True)


def contents(memories: list[Memory]) -> dict[object, str]:
    """The whole texts, by id; versions and ties carry the opening only."""
    return dict(Memory.objects.filter(pk__in=[memory.pk for memory in memories]).values_list("pk", "content"))


def ties(memory: Memory, actor: Actor) -> list[Tie]:
    """Links both ways to memories the actor may read, in the order they were made."""
    links = Link.objects.filter(Q(source=memory) | Q(target=memory)).order_by("created_at", "pk")
    ends = [
        (link.type, "out", link.target_id) if link.source_id == memory.pk else (link.type, "in", link.source_id)
        for link in links
    ]
    readable = _named(actor).in_bulk([end for _, _, end in ends])
    return [Tie(type, direction, readable[end]) for type, direction, end in ends if end in readable]


def _named(actor: Actor) -> MemoryQuerySet:
    """Of each text the opening only: enough for a name, whatever its length."""
    rows = Memory.objects.visible_to(actor).select_related("scope", "author", "invalidated_by")
    return rows.defer("content", "verbatim").annotate(opening=Left("content", OPENING))


def trail(memory: Memory, *, most: int = 100) -> list[AuditEntry]:
    """What was done to the memory, newest first."""
    return list(AuditEntry.objects.filter(object_type="memory", object_id=str(memory.pk)).order_by("-at", "-pk")[:most])


# An edit of the text retires the old version; that is one act and not two. An act on many memories has an entry for
# each of them as well.
_TOLD_BY_ANOTHER: Final = Q(action="supersede", reason="Edited") | Q(object_type=OPERATION)


@dataclass(frozen=True, slots=True)
class Change:
    """One kind of act: how often it happened, its newest entries, and how many memories imports brought."""

    action: str
    count: int
    newest: list[AuditEntry]
    written: int = 0


def changes_since(actor: Actor, moment: datetime, *, most: int) -> list[Change]:
    """What was done in the scopes the actor may read, by action, the newest action first; two queries."""
    entries = AuditEntry.objects.filter(scope_id__in=actor.readable, at__gt=moment).exclude(_TOLD_BY_ANOTHER)
    brought = Sum(Cast(KeyTextTransform("written", "detail"), IntegerField()), filter=Q(action="import"), default=0)
    counted = entries.order_by().values_list("action").annotate(n=Count("pk"), written=brought)
    counts = {action: (number, written) for action, number, written in counted}
    place = Window(RowNumber(), partition_by="action", order_by=[F("at").desc(), F("pk").desc()])
    newest: dict[str, list[AuditEntry]] = {}
    placed = entries.annotate(place=place).filter(place__lte=most).select_related("scope")
    for entry in placed.order_by("-at", "-pk"):
        newest.setdefault(entry.action, []).append(entry)
    return [
        Change(action, count=counts[action][0], newest=found, written=counts[action][1])
        for action, found in newest.items()
        if action in counts
    ]


def memories_of(actor: Actor, entries: Iterable[AuditEntry]) -> dict[str, Memory]:
    """The memories that the entries are about, by id as text; those that are gone or foreign are left out."""
    ids = {entry.object_id for entry in entries if entry.object_type == "memory"}
    return {str(memory.pk): memory for memory in _named(actor).filter(pk__in=ids)}
