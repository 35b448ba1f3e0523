"""Pairs of memories that lie near each other by meaning."""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple
from uuid import UUID

from django.db import connection

from memories.candidates import EXACT_UP_TO
from memories.models.memory import LOOPS
from reflections.eligible import Stamp
from reflections.sql import load

WINDOWS_A_MEMORY: Final = 8  # that are read of the index for each memory wanted: a long text has many near ones


def ends_of(one: UUID, another: UUID) -> tuple[UUID, UUID]:
    """The two in order, as tables of pairs hold them."""
    low, high = sorted((one, another))
    return low, high


class Near(NamedTuple):
    """``cosine`` is the greatest over the windows of *other*."""

    subject: UUID
    other: UUID
    cosine: float

    @property
    def ends(self) -> tuple[UUID, UUID]:
        return ends_of(self.subject, self.other)


def nearest_pairs(
    subjects: Sequence[UUID], *, stamp: Stamp, cosine: float, nearest: int, exact_up_to: int = EXACT_UP_TO
) -> Iterator[Near]:
    """For each subject that has a vector of *stamp*, at most *nearest* others of its scope that are at least that
    similar, nearest first. Episodes are no others. In a scope of at most *exact_up_to* all are compared."""
    return _found(
        "nearest_pairs", stamp, subjects=list(subjects), cosine=cosine, nearest=nearest, exact_up_to=exact_up_to
    )


def loop_evidence(
    loops: Sequence[UUID],
    *,
    scanner: str,
    stamp: Stamp,
    cosine: float,
    nearest: int,
    exact_up_to: int = EXACT_UP_TO,
) -> Iterator[Near]:
    """For each open loop at most *nearest* newer memories of its scope that are at least that similar, nearest first:
    no loops, and no older than the last look of *scanner*, as ``Judged`` tells it. Where at most *exact_up_to* are
    newer, all are compared."""
    return _found(
        "loop_evidence",
        stamp,
        loops=list(loops),
        scanner=scanner,
        no_evidence=[str(kind) for kind in LOOPS],
        cosine=cosine,
        nearest=nearest,
        exact_up_to=exact_up_to,
    )


def _found(name: str, stamp: Stamp, *, nearest: int, **wanted: Any) -> Iterator[Near]:
    statement = load(name).replace("{dimensions}", str(int(stamp.dimensions)))
    wanted |= {"model": stamp.model, "version": stamp.version}
    wanted |= {"nearest": nearest, "windows": nearest * WINDOWS_A_MEMORY}
    with connection.cursor() as cursor:
        cursor.execute(statement, wanted)
        return iter([Near(*row) for row in cursor.fetchall()])
