"""Whether recall is useful, as people read it: tiles, one chart and its table. Pure."""

from __future__ import annotations

from typing import Any, Final

from insights.charts import Cell, Chart, Table, drawn
from insights.recall_quality import RecallQuality
from insights.words import count, days, percent
from zeromemory.lib.counting import counted

WHOLE_TICKS: Final = 4  # with fewer recalls a day the axis would have ticks between whole numbers


def tiles(quality: RecallQuality, asked: str) -> list[dict[str, str | None]]:
    """*asked* is the address of the log. Either the proxy or the judged share, never both."""
    empty = f"{asked}{'&' if '?' in asked else '?'}outcome=empty" if quality.empty else ""
    return [
        _tile("Given to agents", count(quality.surfaced, "memory"), count(quality.times, "time")),
        _reported("Reported useful", quality.useful, quality),
        _reported("Reported misleading", quality.misled, quality),
        _judged(quality) if quality.precision is not None else _proxy(quality),
        _tile("Nothing found", percent(quality.empty_share), _of(quality.empty, quality.recalls, "recall"), empty),
        _tile("Moved by use", percent(quality.reinforced_share), _of(quality.reinforced, quality.given, "result")),
        _tile("Median age when given", days(quality.median_age_days), "half were older" if quality.given > 1 else ""),
    ]


def _tile(label: str, value: str | None, n: str, href: str = "") -> dict[str, str | None]:
    return {"label": label, "value": value, "n": n, "href": href}


def _reported(label: str, number: int, quality: RecallQuality) -> dict[str, str | None]:
    """A dash while nobody has reported anything: silence is not 0."""
    return _tile(label, count(number) if quality.reports else None, "of them" if quality.reports else "no reports yet")


def _judged(quality: RecallQuality) -> dict[str, str | None]:
    n = f"{count(quality.relevant)} of {count(quality.judged)} judged events"
    return _tile("Relevant to the question", percent(quality.precision), n)


def _proxy(quality: RecallQuality) -> dict[str, str | None]:
    judged = f"{quality.judged} of {quality.judged_needed} judged events"
    if quality.usefulness is None:
        return _tile("Useful among the given", None, judged)
    n = f"{count(quality.useful)} of {count(quality.surfaced)}; a stand-in, {judged}"
    return _tile("Useful among the given", percent(quality.usefulness), n)


def _of(part: int, whole: int, noun: str) -> str:
    return f"{count(part)} of {count(whole, noun)}" if whole else ""


def recalls_by_day(quality: RecallQuality) -> Chart:
    names = {
        "found": ("found something", "chart-1"),
        "empty": ("nothing found", "amber"),
        "failed": ("failed", "danger"),
    }
    traces = [_bars(quality, name, *words) for name, words in names.items()]
    shown = [trace for trace in traces if any(trace["y"])]
    asked = quality.recalls + quality.failed
    return Chart(
        title="How often do agents ask, and how often in vain?",
        n=f"{count(asked, 'recall')} with your tokens in {counted(quality.log_days, 'day')}",
        summary=_said(quality),
        figure=drawn(shown or traces[:1], _layout(quality, [trace["name"] for trace in shown])),
        table=Table(("Day (UTC)", "Found something", "Nothing found", "Failed"), _rows(quality)),
        full=True,
    )


def _bars(quality: RecallQuality, name: str, label: str, colour: str) -> dict[str, Any]:
    return {
        "type": "bar",
        "name": label,
        "x": [day.day.isoformat() for day in quality.by_day],
        "y": [getattr(day, name) for day in quality.by_day],
        "hovertemplate": f"%{{x|%-d %b}}: %{{y}} {label}<extra></extra>",
        "meta": {"colour": colour},
    }


def _layout(quality: RecallQuality, names: list[str]) -> dict[str, Any]:
    most = max((day.found + day.empty + day.failed for day in quality.by_day), default=0)
    layout: dict[str, Any] = {
        "barmode": "stack",
        "bargap": 0.2,
        "margin": {"l": 8, "r": 8, "t": 28, "b": 8},
        "xaxis": {"type": "date", "tickformat": "%-d %b", "nticks": 6},
        "yaxis": {"rangemode": "tozero", "tickformat": ",d", "nticks": 4}
        | ({"dtick": 1} if most < WHOLE_TICKS else {}),
    }
    if len(names) < 2:
        return layout
    text = f"from below: {', '.join(names)}"
    layout["annotations"] = [{"xref": "paper", "x": 0, "yref": "paper", "y": 1, "yanchor": "bottom", "text": text}]
    return layout


def _rows(quality: RecallQuality) -> tuple[tuple[Cell, ...], ...]:
    return tuple(
        (
            Cell(day.day.isoformat(), day.day.isoformat()),
            *(Cell(count(number), number) for number in (day.found, day.empty, day.failed)),
        )
        for day in quality.by_day
    )


def _said(quality: RecallQuality) -> str:
    if not quality.recalls and not quality.failed:
        return "No agent of yours has asked anything."
    return (
        f"Recalls by day. {count(quality.recalls - quality.empty)} found something, {count(quality.empty)} nothing, "
        f"{count(quality.failed)} failed."
    )
