"""Addresses behind the numbers: the memories that were counted, and the table as CSV."""

from __future__ import annotations

from urllib.parse import urlencode

from django.urls import reverse

from insights.charts import Link


def memories_of(scope: str | None) -> Link:
    """``link(**filters)`` is the list of the live memories counted under *filters*, in *scope* or in all."""
    kept = {"state": "live"} | ({"scope": scope} if scope else {})
    return lambda **filters: f"{reverse('memory_list')}?{urlencode(kept | filters)}"


def page_of(scope: str) -> str:
    return f"{reverse('insights')}?{urlencode({'scope': scope})}"


def csv_of(name: str, scope: str | None, **more: str) -> str:
    return _with(reverse("insights_csv", args=[name]), scope, **more)


def activity_of(scope: str | None) -> str:
    return _with(reverse("activity"), scope)


def period_of(scope: str | None, days: int) -> str:
    return _with(reverse("insights"), scope, days=str(days)) + "#recall"


def _with(address: str, scope: str | None, **more: str) -> str:
    asked = ({"scope": scope} if scope else {}) | more
    return f"{address}?{urlencode(asked)}" if asked else address
