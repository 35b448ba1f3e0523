"""How the corpus ages, drawn: numbers in, figures and their tables out. Pure.

A figure names its colours by token (``meta.colour``) and its drill-down by path (``customdata``), which ``charts.js``
resolves. Every chart carries the table of its numbers, which is also its CSV.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from insights.queries import Ageing, KindAgeing, ScopeAgeing
from insights.words import count, days, percent
from memories.ageing import AGE_BUCKETS
from memories.ranking import DECAYING, age_factor

Link = Callable[..., str]  # filters of the list of memories, as an address
SHOWN_AGES: Final = (30, 90, 365)
LABEL_GAP: Final = 0.066  # between two labels, in parts of the height of the curves' axis
CURVE_POINTS: Final = 60
SHORTEST_AXIS, LONGEST_AXIS = 365, 3650  # days


@dataclass(frozen=True, slots=True)
class Cell:
    """A number as it is read and as it is computed with; None is unknown."""

    text: str | None
    value: float | str | None
    href: str = ""
    kind: str = ""

    def __str__(self) -> str:
        return self.text if self.text is not None else "–"


@dataclass(frozen=True, slots=True)
class Table:
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """``title`` is the one question it answers, ``summary`` the answer in a sentence."""

    title: str
    n: str
    summary: str
    figure: dict[str, Any]
    table: Table
    full: bool = False


def age_buckets(ageing: Ageing, link: Link) -> Chart:
    labels = [bucket.label for bucket in AGE_BUCKETS.values()]
    counts = list(ageing.buckets.values())
    links = [link(age=name) for name in ageing.buckets]
    bars = {
        "type": "bar",
        "x": [_broken(label) for label in labels],
        "y": counts,
        "text": [count(number) for number in counts],
        "textposition": "outside",
        "cliponaxis": False,
        "customdata": links,
        "hovertemplate": "%{text}<extra></extra>",
        "meta": {"colour": "chart-1"},
    }
    layout = {"yaxis": {"visible": False, "rangemode": "tozero"}, "margin": {"l": 8, "r": 8, "t": 28, "b": 8}}
    rows = [
        (Cell(label, label), _count(number, href), _share(number, ageing.live))
        for label, number, href in zip(labels, counts, links, strict=True)
    ]
    return Chart(
        title="How old is what we remember?",
        n=count(ageing.live, "live memory"),
        summary=_buckets_said(ageing),
        figure=drawn([bars], layout),
        table=Table(("Age", "Memories", "Share"), tuple(rows)),
    )


def faded_by_kind(ageing: Ageing, link: Link) -> Chart:
    kinds = ageing.by_kind
    bars = {
        "type": "bar",
        "orientation": "h",
        "y": [row.kind for row in kinds],
        "x": [row.faded_share or 0 for row in kinds],
        "text": [_faded_of(row) for row in kinds],
        "textposition": "outside",
        "cliponaxis": False,
        "customdata": [link(kind=row.kind, faded="1") if row.faded else "" for row in kinds],
        "hovertemplate": "%{y}: %{text}<extra></extra>",
        "meta": {"colour": [f"kind-{row.kind}" for row in kinds]},
    }
    layout = {
        "height": 32 * len(kinds) + 32,
        "xaxis": {"range": [0, 1.8], "tickvals": [0, 0.5, 1], "ticktext": ["0", "50 %", "100 %"]},
        "yaxis": {"autorange": "reversed"},
    }
    return Chart(
        title="How much of each kind has faded?",
        n=_faded_n(ageing),
        summary=_faded_said(ageing),
        figure=drawn([bars], layout),
        table=Table(
            ("Kind", "Memories", "Faded", "Share faded", "Median age", "Half-life"),
            tuple(_kind_row(row, link) for row in kinds),
        ),
    )


def half_lives(ageing: Ageing, link: Link) -> Chart:
    kinds = ageing.by_kind
    medians = [row.median_age_days for row in kinds if row.median_age_days is not None]
    last = min(LONGEST_AXIS, max([SHORTEST_AXIS, *(1.1 * median for median in medians)]))
    ages = [round(last * (step / CURVE_POINTS) ** 2, 3) for step in range(CURVE_POINTS + 1)]
    traces = [*_curves(kinds, ages), _medians(kinds, last, link), _labels(kinds, last, link)]
    return Chart(
        title="How fast does each kind fade?",
        n="what age leaves of its score; a dot marks the median memory",
        summary="What age leaves of the score of each kind: one half at its half-life.",
        figure=drawn(traces, _curve_layout(last, ageing.median_age_days)),
        table=Table(
            (
                "Kind",
                "Half-life",
                *(f"Left after {age} days" for age in SHOWN_AGES),
                "Median age",
                "Left at the median",
            ),
            tuple(_curve_row(row, link) for row in kinds),
        ),
        full=True,
    )


CHARTS: Final[Mapping[str, Callable[[Ageing, Link], Chart]]] = {
    "age": age_buckets,
    "faded": faded_by_kind,
    "half-lives": half_lives,
}


def scope_table(ageing: Ageing, link: Link, page: Callable[[str], str]) -> Table:
    """*page* is the address of this page for one scope."""
    return Table(
        ("Scope", "Policy", "Memories", "Median age", "Faded", "Share faded"),
        tuple(
            (
                Cell(row.scope, row.scope, page(row.scope)),
                Cell(row.retention, row.retention),
                _count(row.live, link(scope=row.scope)),
                Cell(days(row.median_age_days), row.median_age_days),
                _faded_of_scope(row, link),
                Cell(percent(row.faded_share), row.faded_share),
            )
            for row in ageing.by_scope
        ),
    )


def _faded_of_scope(row: ScopeAgeing, link: Link) -> Cell:
    """0 where nothing has faded; a dash where nothing can."""
    if row.retention == DECAYING:
        return Cell(None, None)
    return _count(row.faded, link(scope=row.scope, faded="1"))


# Tables and sentences ------------------------------------------------------------------------


def _kind_row(row: KindAgeing, link: Link) -> tuple[Cell, ...]:
    return (
        Cell(row.kind, row.kind, kind=row.kind),
        _count(row.live, link(kind=row.kind)),
        _count(row.faded, link(kind=row.kind, faded="1")) if row.can_fade else Cell(None, None),
        Cell(percent(row.faded_share), row.faded_share),
        Cell(days(row.median_age_days), row.median_age_days),
        Cell(days(row.half_life_days), row.half_life_days),
    )


def _curve_row(row: KindAgeing, link: Link) -> tuple[Cell, ...]:
    at_median = None if row.median_age_days is None else _left(row, row.median_age_days)
    return (
        Cell(row.kind, row.kind, kind=row.kind),
        Cell(days(row.half_life_days), row.half_life_days),
        *(Cell(percent(_left(row, age)), _left(row, age)) for age in SHOWN_AGES),
        Cell(days(row.median_age_days), row.median_age_days),
        Cell(percent(at_median), at_median),
    )


def _left(row: KindAgeing, age: float) -> float:
    return age_factor(age, row.half_life_days, row.curve)


def _count(number: int, href: str) -> Cell:
    return Cell(count(number), number, href if number else "")


def _share(number: int, total: int) -> Cell:
    share = number / total if total else None
    return Cell(percent(share), share)


def _broken(label: str) -> str:
    """On two lines, so that five labels fit beside each other on a phone."""
    return "<br>".join(label.rsplit(" ", 1))


def _faded_of(row: KindAgeing) -> str:
    return f"{percent(row.faded_share)} of {count(row.can_fade)}" if row.can_fade else "–"


def _faded_n(ageing: Ageing) -> str:
    return f"{count(ageing.faded)} of {count(ageing.can_fade)}" if ageing.can_fade else ""


def _buckets_said(ageing: Ageing) -> str:
    parts = [f"{AGE_BUCKETS[name].label.lower()}: {count(number)}" for name, number in ageing.buckets.items()]
    return f"Live memories by age. {'; '.join(parts)}."


def _faded_said(ageing: Ageing) -> str:
    parts = [f"{row.kind} {_faded_of(row)}" for row in ageing.by_kind if row.can_fade]
    return (
        f"Share of each kind older than its half-life. {'; '.join(parts) or 'Nothing is remembered yet that can fade'}."
    )


# Figures -------------------------------------------------------------------------------------


def _curves(kinds: Sequence[KindAgeing], ages: list[float]) -> list[dict[str, Any]]:
    """One line a kind. Of kinds that share a curve the later ones are dashed, so that both colours show."""
    drawn: set[tuple[float, str]] = set()
    traces = []
    for row in kinds:
        same = (row.half_life_days, row.curve)
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": row.kind,
                "x": ages,
                "y": [_left(row, age) for age in ages],
                "line": {"dash": "6px,6px" if same in drawn else "solid"},
                "hovertemplate": f"{row.kind}, %{{x:.0f}} days old: %{{y:.0%}} left<extra></extra>",
                "meta": {"colour": f"kind-{row.kind}"},
            }
        )
        drawn.add(same)
    return traces


def _medians(kinds: Sequence[KindAgeing], last: float, link: Link) -> dict[str, Any]:
    shown = [
        (row, row.median_age_days) for row in kinds if row.median_age_days is not None and row.median_age_days <= last
    ]
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [median for _, median in shown],
        "y": [_left(row, median) for row, median in shown],
        "text": [f"{row.kind}: median age {days(median)}" for row, median in shown],
        "customdata": [link(kind=row.kind) for row, _ in shown],
        "cliponaxis": False,
        "marker": {"size": 10},
        "hovertemplate": "%{text}<extra></extra>",
        "meta": {"colour": [f"kind-{row.kind}" for row, _ in shown]},
    }


def _labels(kinds: Sequence[KindAgeing], last: float, link: Link) -> dict[str, Any]:
    """The name of each kind at the end of its curve, moved apart where curves end together."""
    ordered = sorted(kinds, key=lambda row: _left(row, last), reverse=True)
    return {
        "type": "scatter",
        "mode": "markers+text",
        "x": [last * 1.02] * len(ordered),
        "y": _spread([_left(row, last) for row in ordered]),
        "text": [f" {row.kind}" for row in ordered],
        "textposition": "middle right",
        "customdata": [link(kind=row.kind) if row.live else "" for row in ordered],
        "cliponaxis": False,
        "marker": {"size": 7, "symbol": "square"},
        "hoverinfo": "skip",
        "meta": {"colour": [f"kind-{row.kind}" for row in ordered]},
    }


def _spread(places: list[float]) -> list[float]:
    """Descending *places*, at least LABEL_GAP apart and none below 0."""
    spread: list[float] = []
    for number, place in enumerate(places):
        above = spread[-1] - LABEL_GAP if spread else 1.0
        lowest = LABEL_GAP * (len(places) - 1 - number)
        spread.append(max(lowest, min(place, above)))
    return spread


def _curve_layout(last: float, median: float | None) -> dict[str, Any]:
    layout: dict[str, Any] = {
        "height": 340,
        "hovermode": "closest",
        "margin": {"l": 8, "r": 120, "t": 24, "b": 8},
        "xaxis": {
            "range": [0, last * 1.03],
            "title": {"text": "age in days", "font": {"size": 12}, "standoff": 8},
            "showgrid": False,
        },
        "yaxis": {"range": [-0.02, 1.04], "tickvals": [0, 0.5, 1], "ticktext": ["0", "half", "all"], "showgrid": True},
    }
    if median is None or median > last:
        return layout
    layout["shapes"] = [{"type": "line", "x0": median, "x1": median, "y0": 0, "y1": 1}]
    inward = "left" if median < last / 2 else "right"
    text = f"median of all: {days(median)}"
    layout["annotations"] = [{"x": median, "y": 1.0, "yanchor": "bottom", "yshift": 4, "xanchor": inward, "text": text}]
    return layout


def drawn(traces: list[dict[str, Any]], layout: dict[str, Any]) -> dict[str, Any]:
    """Validated by plotly, as a dictionary; a misspelt property raises ValueError."""
    import plotly.graph_objects as go  # here, because it takes half a second and commands never draw

    figure = go.Figure(data=traces, layout=layout)
    figure.update_layout(template=None)
    plain: dict[str, Any] = figure.to_plotly_json()
    return plain
