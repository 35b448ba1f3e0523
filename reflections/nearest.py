"""Pairs of memories that lie near each other by meaning."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection

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
    statement = load("nearest_pairs").replace("{dimensions}", str(int(stamp.dimensions)))
    wanted: dict[str, Any] = {
        "subjects": list(subjects),
        "model": stamp.model,
        "version": stamp.version,
        "cosine": cosine,
        "nearest": nearest,
    }
    with connection.cursor() as cursor:
        cursor.execute(statement, wanted)
        return iter([Near(*row) for row in cursor.fetchall()])
