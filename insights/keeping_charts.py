"""The weights of a decaying scope, drawn. Pure."""

from __future__ import annotations

from insights.charts import Cell, Chart, Table, drawn
from insights.keeping import Keeping, WeightBand
from insights.words import count, percent


def weights(keeping: Keeping) -> Chart:
    live = keeping.statistics.live
    labels = [_label(band) for band in keeping.bands]
    counts = [band.count for band in keeping.bands]
    bars = {
        "type": "bar",
        "x": labels,
        "y": counts,
        "text": [count(number) for number in counts],
        "textposition": "outside",
        "cliponaxis": False,
        "hovertemplate": "%{text}<extra></extra>",
        "meta": {"colour": "chart-1"},
    }
    layout = {"yaxis": {"visible": False, "rangemode": "tozero"}, "margin": {"l": 8, "r": 8, "t": 28, "b": 8}}
    said = "; ".join(f"{label}: {count(number)}" for label, number in zip(labels, counts, strict=True))
    rows = [
        (
            Cell(label, label),
            Cell(count(number), number),
            Cell(percent(number / live if live else None), number / live if live else None),
        )
        for label, number in zip(labels, counts, strict=True)
    ]
    return Chart(
        title="How much weight is left?",
        n=count(live, "live memory"),
        summary=f"Live memories by the weight that is left. {said}.",
        figure=drawn([bars], layout),
        table=Table(("Weight", "Memories", "Share"), tuple(rows)),
        full=True,
    )


def _label(band: WeightBand) -> str:
    return f"{band.over:g} to {band.to:g}"
