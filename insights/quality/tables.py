"""A run as tables: the same for the terminal, the page and its CSV. PURE."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from insights.charts import Cell, Table
from insights.quality.metrics import METRICS, Estimate

MAIN: Final = ("R@8", "nDCG@10")


def figure(value: Sequence[float] | None) -> Cell:
    """``0.613 (0.590–0.636)`` from ``[mean, low, high]``."""
    if value is None:
        return Cell(None, None)
    middle, low, high = value
    return Cell(f"{middle:.3f} ({low:.3f}–{high:.3f})", middle)


def mean(value: Sequence[float] | None) -> Cell:
    return Cell(None, None) if value is None else _plain(value[0])


def gain(change: Estimate) -> Cell:
    """A difference with its interval, and whether it separates from nothing."""
    certain = "" if change.low <= 0 <= change.high else ", certain"
    return Cell(f"{change.mean:+.3f} ({change.low:+.3f} to {change.high:+.3f}{certain})", change.mean)


def systems(results: Mapping[str, Any], with_interval: Collection[str] = METRICS.keys()) -> Table:
    return Table(
        ("System", *METRICS, "ms, median", "ms, 95th percentile"),
        tuple(
            (
                _text(row["name"]),
                *((figure if name in with_interval else mean)(row["overall"].get(name)) for name in METRICS),
                _milliseconds(row["milliseconds"]["p50"]),
                _milliseconds(row["milliseconds"]["p95"]),
            )
            for row in results["systems"]
        ),
    )


def by_category(results: Mapping[str, Any], metric: str) -> Table:
    """A row a category, a column a system; no rows where the set has no categories."""
    rows = results["systems"]
    counts = {name: entry["n"] for row in rows for name, entry in row["categories"].items()}
    return Table(
        ("Category", "Questions", *(row["name"] for row in rows)),
        tuple(
            (
                _text(name),
                Cell(f"{n:,}", n),
                *(figure(row["categories"].get(name, {}).get("figures", {}).get(metric)) for row in rows),
            )
            for name, n in sorted(counts.items())
        ),
    )


def curve(results: Mapping[str, Any]) -> Table:
    """R@8 by contrast where every document is of one kind; the last row leaves age out."""
    drawn = results["curve"]
    kinds = drawn["kinds"]
    rows = [
        (Cell(f"{contrast:g}", contrast), *(_plain(kinds[kind][place]) for kind in kinds))
        for place, contrast in enumerate(drawn["contrasts"])
    ]
    return Table(("Contrast", *kinds), (*rows, (_text("age ignored"), *(_plain(drawn["none"]) for _ in kinds))))


def probes(results: Mapping[str, Any]) -> Table:
    return Table(
        ("Contrast", "Passed", "Failing"),
        tuple(
            (
                Cell(f"{contrast:g}", contrast),
                Cell(f"{results['probes'] - len(failing)} of {results['probes']}", results["probes"] - len(failing)),
                _text("; ".join(failing) or "–"),
            )
            for contrast, failing in results["failing"]
        ),
    )


def popular(results: Mapping[str, Any]) -> Table:
    """What it takes for a memory that is not the right one to come first."""
    return Table(
        ("Whatever else there is was", "Passed", "Failing"),
        tuple(
            (
                _text(record),
                Cell(f"{results['probes'] - len(failing)} of {results['probes']}", results["probes"] - len(failing)),
                _text("; ".join(failing) or "–"),
            )
            for record, failing in results["popular"]
        ),
    )


def replay(results: Mapping[str, Any]) -> Table:
    """What a simulated quarter of use changed, in nDCG@10 and R@8."""
    groups = results["replay"]["groups"]
    return Table(
        ("Questions", "n", *(f"{metric} {when}" for metric in MAIN for when in ("before", "after", "gain"))),
        tuple((_text(group["name"]), Cell(f"{group['n']:,}", group["n"]), *_gained(group)) for group in groups),
    )


def _gained(group: Mapping[str, Any]) -> Iterator[Cell]:
    for metric in MAIN:
        yield _plain(group["before"][metric])
        yield _plain(group["after"][metric])
        yield gain(Estimate(*group["gain"][metric]))


def replayed(results: Mapping[str, Any]) -> str:
    """The quarter in words: what was asked and reported, and how much of what is shown was reinforced."""
    told = results["replay"]
    reports = ", ".join(f"{number:,} {name}" for name, number in told["reports"].items()) or "none"
    shares = {name: "–" if share is None else f"{share:.1%}" for name, share in told["reinforced"].items()}
    return (
        f"{told['habits']['days']} days, {told['recalls']:,} recalls; reports: {reports}. Reinforced: "
        f"{shares['corpus']} of what is stored, {shares['shown']} of what is shown; at the cap: {shares['at_cap']}."
    )


def long(results: Mapping[str, Any]) -> Table:
    """One figure a row, for programs."""
    return Table(("System", "Category", "Questions", "Metric", "Mean", "Low", "High"), tuple(_long(results)))


def _long(results: Mapping[str, Any]) -> Iterator[tuple[Cell, ...]]:
    for row in results["systems"]:
        asked = sum(entry["n"] for entry in row["categories"].values()) or None
        groups = {"all": {"n": asked, "figures": row["overall"]}} | row["categories"]
        for category, entry in groups.items():
            for metric in METRICS:  # stored objects do not keep their order
                head = (_text(row["name"]), _text(category), Cell(str(entry["n"]), entry["n"]), _text(metric))
                yield head + tuple(Cell(f"{value:.5f}", value) for value in entry["figures"].get(metric, ()))


def markdown(table: Table) -> str:
    lines = [table.columns, ["---", *("--:" for _ in table.columns[1:])], *table.rows]
    return "\n".join(f"| {' | '.join(str(cell) for cell in line)} |" for line in lines)


def _text(text: str) -> Cell:
    return Cell(text, text)


def _plain(value: float) -> Cell:
    return Cell(f"{value:.3f}", value)


def _milliseconds(value: float) -> Cell:
    return Cell(f"{value:.1f}", value)
