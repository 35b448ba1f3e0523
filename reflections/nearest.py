"""Pairs of memories that lie near each other by meaning."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection

from memories.models.memory import LOOPS
from reflections.eligible import Stamp
from reflections.sql import load


class Near(NamedTuple):
    """``cosine`` is the greatest over the windows of *other*."""

    subject: UUID
    other: UUID
    cosine: float


def nearest_pairs(subjects: Sequence[UUID], *, stamp: Stamp, cosine: float, nearest: int) -> Iterator[Near]:
    """For each subject that has a vector of *stamp*, at most *nearest* others of its scope that are at least that
    similar, nearest first. Episodes are no others."""
    return _found("nearest_pairs", stamp, subjects=list(subjects), cosine=cosine, nearest=nearest)


def loop_evidence(loops: Sequence[UUID], *, scanner: str, stamp: Stamp, cosine: float, nearest: int) -> Iterator[Near]:
    """For each open loop at most *nearest* newer memories of its scope that are at least that similar, nearest first:
    no loops, and no older than the last look of *scanner*, as ``Judged`` tells it."""
    return _found(
        "loop_evidence",
        stamp,
        loops=list(loops),
        scanner=scanner,
        no_evidence=[str(kind) for kind in LOOPS],
        cosine=cosine,
        nearest=nearest,
    )


def _found(name: str, stamp: Stamp, **wanted: Any) -> Iterator[Near]:
    statement = load(name).replace("{dimensions}", str(int(stamp.dimensions)))
    with connection.cursor() as cursor:
        cursor.execute(statement, wanted | {"model": stamp.model, "version": stamp.version})
        return iter([Near(*row) for row in cursor.fetchall()])
