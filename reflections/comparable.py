"""The pairs that the scan compares: all that lie near each other, and of those further apart what is worth a
question."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from django.db import connection
from django.db.models import Exists, OuterRef

from memories.models import Memory, Scope, Window
from reflections.ladder import Pair
from reflections.models import HygieneConfig
from reflections.nearest import Near
from reflections.services.disputes import pair_of
from reflections.sql import load
from reflections.worth_asking import WIDELY, is_worth_asking, names_shared


class Comparable(NamedTuple):
    """``is_near``: so near that it waits for a person where there is no judge."""

    near: Near
    one: Memory
    another: Memory
    pair: Pair
    is_near: bool


def comparable(scope: Scope, found: Sequence[Near], rule: HygieneConfig) -> Iterator[Comparable]:
    """Those of *found* whose memories are live still, in their order."""
    pairs = list(with_memories(found, rule))
    shared: set[str] = set().union(*(names_shared(item.pair) for item in pairs if not item.is_near))
    common = widely_named(scope, shared)
    return (item for item in pairs if item.is_near or is_worth_asking(item.pair, widely_named=common))


def widely_named(scope: Scope, names: Collection[str]) -> set[str]:
    """Those that more than WIDELY live memories of *scope* speak of."""
    if not names:
        return set()
    with connection.cursor() as cursor:
        cursor.execute(load("widely_named"), {"names": sorted(names), "scope": scope.pk, "most": WIDELY})
        return {name for (name,) in cursor.fetchall()}


def with_memories(found: Sequence[Near], rule: HygieneConfig) -> Iterator[Comparable]:
    """Those of *found* whose memories are live still. The ladder is told no cosine of a text of several windows, since
    only its beginning was compared."""
    ids = {memory_id for near in found for memory_id in (near.subject, near.other)}
    further = Window.objects.filter(memory=OuterRef("pk"), position=1)
    live = Memory.objects.live().annotate(goes_on=Exists(further))
    rows = live.select_related("scope").prefetch_related("entities").in_bulk(ids)
    for near in found:
        if near.subject in rows and near.other in rows:
            one, another = rows[near.subject], rows[near.other]
            cosine = None if one.goes_on or another.goes_on else near.cosine
            pair = pair_of(one, another, cosine=cosine, known=False)
            yield Comparable(near, one, another, pair, near.cosine >= rule.pair_cosine)
