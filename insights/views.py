"""How it ages: what a person may read, by age, by kind and by scope."""

from __future__ import annotations

import csv
from datetime import datetime
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from insights import queries
from insights.addresses import activity_of, csv_of, memories_of, page_of, period_of
from insights.charts import CHARTS, Chart, Table, scope_table
from insights.code_verdicts import CodeVerdicts, anchored_at, code_verdicts, verdict_chart, verdict_table
from insights.keeping import LARGE_SCOPE, REGRET_LINE, gauges
from insights.recall_quality import DAYS, RecallQuality, recall_quality
from insights.recall_words import recalls_by_day, tiles
from insights.words import count
from insights.writers import writer_table, writers
from memories.access import Actor, actor_for_request, readable_scopes, scope_for
from memories.models import Scope
from memories.presentation import scope_names

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")
SCOPES = "scopes"
RECALLS = "recalls"
WRITERS = "writers"
CODE = "code"
PERIODS = (7, 30, 90)


@require_safe
def insights(request: HttpRequest) -> HttpResponse:
    actor, now, days = actor_for_request(request), timezone.now(), _days(request)
    scope, readable = _chosen(request, actor), readable_scopes(actor)
    ageing = queries.ageing(actor=actor, scope=scope, now=now)
    context = {
        "ageing": ageing,
        "charts": [
            _shown(name, draw(ageing, memories_of(ageing.scope)), ageing.scope) for name, draw in CHARTS.items()
        ],
        "scopes": scope_table(ageing, memories_of(None), page_of),
        "scopes_csv": csv_of(SCOPES, None),
        "names": list(scope_names(readable).values()),
        "decaying": _decaying_said(ageing),
        "links": _links(ageing),
        "faded_n": f"{count(ageing.faded)} of {count(ageing.can_fade)}" if ageing.can_fade else "",
        "median_n": "half are older" if ageing.live > 1 else "",
        "decay": _decay([row for row in readable if scope is None or row.pk == scope.pk], now),
        "days": days,
        "recall": _recall(recall_quality(actor=actor, scope=scope, days=days, now=now)),
        **_code(code_verdicts(actor=actor, scope=scope), ageing.scope),
        "writers": writer_table(writers(actor=actor, scope=scope, days=days, now=now)),
        "writers_csv": csv_of(WRITERS, ageing.scope, days=str(days)),
    }
    return render(request, "insights/insights.html", context)


@require_safe
def table_csv(request: HttpRequest, name: str) -> HttpResponse:
    actor = actor_for_request(request)
    if name not in {*CHARTS, SCOPES, RECALLS, WRITERS, CODE}:
        raise Http404(f"There is no table {name!r}.")
    scope, now = _chosen(request, actor), timezone.now()
    if name == CODE:
        return as_csv(name, verdict_table(code_verdicts(actor=actor, scope=scope), anchored_at))
    if name == RECALLS:
        quality = recall_quality(actor=actor, scope=scope, days=_days(request), now=now)
        return as_csv(name, recalls_by_day(quality).table)
    if name == WRITERS:
        return as_csv(name, writer_table(writers(actor=actor, scope=scope, days=_days(request), now=now)))
    ageing = queries.ageing(actor=actor, scope=scope, now=now)
    link = memories_of(ageing.scope)
    table = scope_table(ageing, link, page_of) if name == SCOPES else CHARTS[name](ageing, link).table
    return as_csv(name, table)


def _chosen(request: HttpRequest, actor: Actor) -> Scope | None:
    name = request.GET.get("scope", "").replace("\x00", "").strip()
    return scope_for(actor, name) if name else None


def _days(request: HttpRequest) -> int:
    """One of PERIODS; anything else is the usual one."""
    asked = request.GET.get("days", "")
    return int(asked) if asked in map(str, PERIODS) else DAYS


def _decay(scopes: list[Scope], now: datetime) -> dict[str, Any] | None:
    found = gauges(scopes, now)
    if found is None:
        return None
    share = found.regrets.share
    return {
        "gauges": found,
        "misses": share is not None and share > REGRET_LINE,
        "is_large": found.largest > LARGE_SCOPE,
        "large": LARGE_SCOPE,
    }


def _recall(quality: RecallQuality) -> dict[str, Any]:
    scope = quality.scope
    return {
        "quality": quality,
        "tiles": tiles(quality, activity_of(scope)),
        "chart": recalls_by_day(quality),
        "csv": csv_of(RECALLS, scope, days=str(quality.days)),
        "activity": activity_of(scope),
        "periods": [
            {"label": f"{days} days", "href": period_of(scope, days), "selected": days == quality.days}
            for days in PERIODS
        ],
    }


def _code(found: CodeVerdicts, scope: str | None) -> dict[str, Any]:
    return {
        "code": found,
        "code_chart": verdict_chart(found, anchored_at) if found.known else None,
        "code_table": verdict_table(found, anchored_at),
        "code_share": found.stale / found.known if found.known else None,
        "code_n": f"{count(found.stale)} of {count(found.known)}" if found.known else "",
        "code_csv": csv_of(CODE, scope),
    }


def _shown(name: str, chart: Chart, scope: str | None) -> dict[str, Any]:
    return {"chart": chart, "csv": csv_of(name, scope)}


def _links(ageing: queries.Ageing) -> dict[str, str]:
    link = memories_of(ageing.scope)
    return {"live": link() if ageing.live else "", "faded": link(faded="1") if ageing.faded else ""}


def _decaying_said(ageing: queries.Ageing) -> str:
    names = [row.scope for row in ageing.by_scope if row.retention == Scope.Retention.DECAYING and row.live]
    if not names:
        return ""
    return (
        f"{', '.join(names)}: search here does not weigh age, because this scope keeps its memories by last access. "
        "They are counted by age all the same, and none of them fades."
    )


def as_csv(name: str, table: Table) -> HttpResponse:
    response = HttpResponse(
        content_type="text/csv; charset=utf-8", headers={"Content-Disposition": f'attachment; filename="{name}.csv"'}
    )
    writer = csv.writer(response)
    writer.writerow(table.columns)
    writer.writerows([_inert(cell.value) for cell in row] for row in table.rows)
    return response


def _inert(value: float | str | None) -> float | str:
    """A spreadsheet runs text that begins like a formula; a leading apostrophe keeps it text."""
    if isinstance(value, str) and value.startswith(FORMULA_STARTS):
        return f"'{value}"
    return "" if value is None else value
