"""Corpora for the insight tests, and their numbers counted by plain SQL."""

from datetime import UTC, datetime, timedelta

from django.db import connection

from memories.models import Memory, Scope
from memories.ranking import KINDS

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LIVE = "invalidated_at IS NULL AND (valid_until IS NULL OR valid_until > now()) AND scope_id = ANY(%(scopes)s)"
AGE = "GREATEST(interval '0', %(now)s - created_at)"


def make_aged(scope, ages, *, now=NOW, kinds=KINDS, **values):
    """A row for each age in days, the kinds taken in turn."""
    return Memory.objects.bulk_create(
        Memory(
            scope=scope,
            content=f"Aged {number}.",
            content_sha256=f"{number}",
            kind=kinds[number % len(kinds)],
            created_at=now - timedelta(days=age),
            **values,
        )
        for number, age in enumerate(ages)
    )


def make_corpus(scope, size, *, now=NOW):
    """*size* live rows of every kind and age, some dated ahead, among rows that are retired or lapsed."""
    live = make_aged(scope, [number * 1.7 - 5 for number in range(size)], now=now)
    if live:
        retired = {"invalidated_at": now, "invalidated_actor": "owner"}
        make_aged(scope, range(40), now=now, **retired)
        make_aged(scope, range(9), now=now, superseded_by=live[0], **retired)
        make_aged(scope, range(9), now=now, valid_until=datetime(2025, 1, 1, tzinfo=UTC))
    return live


def counted(expression, condition="true", *, now=NOW, scopes=None, **parameters):
    """*expression* over the live rows of *scopes* (all by default) that meet *condition*."""
    ids = [scope.pk for scope in (Scope.objects.all() if scopes is None else scopes)]
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {expression} FROM memories LEFT JOIN ranking_config USING (kind) WHERE {LIVE} AND ({condition})",
            {"scopes": ids, "now": now, **parameters},
        )
        return cursor.fetchone()[0]


HALF_LIFE = "make_interval(secs => 86400 * COALESCE(half_life_days, 365))"
FADED = f"{AGE} > {HALF_LIFE}"
MEDIAN = f"percentile_cont(0.5) WITHIN GROUP (ORDER BY EXTRACT(EPOCH FROM {AGE})::float8 / 86400)"
BUCKETS = {
    "le_7d": f"{AGE} <= interval '7 days'",
    "d8_30": f"{AGE} > interval '7 days' AND {AGE} <= interval '30 days'",
    "d31_90": f"{AGE} > interval '30 days' AND {AGE} <= interval '90 days'",
    "d91_365": f"{AGE} > interval '90 days' AND {AGE} <= interval '365 days'",
    "gt_1y": f"{AGE} > interval '365 days'",
}
