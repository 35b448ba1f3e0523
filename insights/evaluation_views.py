"""How well recall finds: the runs of the evaluation, for any signed-in person: figures, no memory's text."""

from __future__ import annotations

from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.views.decorators.http import require_safe

from insights.charts import Cell, Table
from insights.models import EvaluationRun
from insights.quality import runs, tables
from insights.quality.harness import PRODUCT, PRODUCT_UNAGED
from insights.views import as_csv
from insights.words import count
from memories.configuration import FUSION_FIELDS

RUNS_SHOWN: Final = 50
SHORT_REVISION: Final = 7


@require_safe
def evaluation_list(request: HttpRequest) -> HttpResponse:
    kept = EvaluationRun.objects.count()
    recent = list(EvaluationRun.objects.defer("values").order_by("-started_at", "-pk")[:RUNS_SHOWN])
    context = {
        "parents": _parents(),
        "kept": kept,
        "shown_n": f"the newest {RUNS_SHOWN} of {count(kept)}" if kept > RUNS_SHOWN else count(kept, "run"),
        "sets": _sets_table([run for run in recent if "systems" in run.results]),
        "ageing": _ageing_table([run for run in recent if "probes" in run.results]),
    }
    return render(request, "insights/evaluations.html", context)


@require_safe
def evaluation_run(request: HttpRequest, evaluation_id: int) -> HttpResponse:
    run = get_object_or_404(EvaluationRun, pk=evaluation_id)
    parents = [*_parents(), {"label": "How well recall finds", "href": reverse("evaluation_list")}]
    context = {"parents": parents, "run": run, "facts": _facts(run), "configuration": _configuration(run)}
    return render(request, "insights/evaluation_run.html", context | _figures(run))


@require_safe
def evaluation_csv(request: HttpRequest, evaluation_id: int) -> HttpResponse:
    run = get_object_or_404(EvaluationRun.objects.defer("values"), pk=evaluation_id)
    table = tables.probes(run.results) if "probes" in run.results else tables.long(run.results)
    return as_csv(f"evaluation-{run.pk}", table)


def _parents() -> list[dict[str, str]]:
    return [{"label": "How it ages", "href": reverse("insights")}]


def _address(run: EvaluationRun) -> str:
    return reverse("evaluation_run", args=[run.pk])


def _when(run: EvaluationRun) -> str:
    return date_format(timezone.localtime(run.started_at), "j M Y, H:i")


def _text(text: str, href: str = "") -> Cell:
    return Cell(text or None, text, href)


def _sets_table(recent: list[EvaluationRun]) -> Table:
    columns = (
        "Set",
        "Stored as",
        "Measured",
        "Questions",
        "Documents",
        "R@8",
        "nDCG@10",
        "R@8, age ignored",
        "Revision",
    )
    return Table(columns, tuple(_set_row(run) for run in recent))


def _set_row(run: EvaluationRun) -> tuple[Cell, ...]:
    product, unaged = (_overall(run, name) for name in (PRODUCT, PRODUCT_UNAGED))
    return (
        _text(run.name, _address(run)),
        _text(run.kind),
        _text(_when(run)),
        Cell(count(run.queries), run.queries),
        Cell(count(run.corpus_size), run.corpus_size),
        tables.figure(product.get("R@8")),
        tables.mean(product.get("nDCG@10")),
        tables.mean(unaged.get("R@8")),
        _text(run.revision[:SHORT_REVISION]),
    )


def _overall(run: EvaluationRun, system: str) -> dict[str, Any]:
    return next((row["overall"] for row in run.results["systems"] if row["name"] == system), {})


def _ageing_table(recent: list[EvaluationRun]) -> Table:
    return Table(("Probes", "Measured", "Contrast in force", "Passed", "Revision"), tuple(map(_ageing_row, recent)))


def _ageing_row(run: EvaluationRun) -> tuple[Cell, ...]:
    contrast, probes = run.results["contrast"], run.results["probes"]
    failing = next((len(names) for measured, names in run.results["failing"] if measured == contrast), 0)
    return (
        _text(run.name, _address(run)),
        _text(_when(run)),
        Cell(f"{contrast:g}", contrast),
        Cell(f"{probes - failing} of {probes}", probes - failing),
        _text(run.revision[:SHORT_REVISION]),
    )


def _facts(run: EvaluationRun) -> list[dict[str, Any]]:
    asked = "Probes" if "probes" in run.results else "Questions"
    return [
        {"label": "Measured", "when": run.started_at},
        {"label": "Took", "text": f"{run.seconds:.0f} s"},
        {"label": asked, "text": count(run.queries)},
        {"label": "Documents", "text": count(run.corpus_size) if run.corpus_size else None},
        {"label": "Stored as", "text": run.kind},
        {"label": "Embedder", "text": run.embedder or "none"},
        {"label": "Configuration", "text": run.versions},
        {"label": "Revision", "text": run.revision},
    ]


def _figures(run: EvaluationRun) -> dict[str, Any]:
    if "probes" in run.results:
        return {"probes": _probes(run), "popular": tables.popular(run.results) if "popular" in run.results else None}
    categories = [(metric, tables.by_category(run.results, metric)) for metric in tables.MAIN]
    return {
        "systems": tables.systems(run.results, with_interval=tables.MAIN),
        "categories": [(metric, table) for metric, table in categories if table.rows],
        "curve": tables.curve(run.results) if "curve" in run.results else None,
        **_replay(run),
        **_comparison(run),
    }


def _replay(run: EvaluationRun) -> dict[str, Any]:
    if "replay" not in run.results:
        return {}
    return {"replay": tables.replay(run.results), "replayed": tables.replayed(run.results)}


def _probes(run: EvaluationRun) -> list[dict[str, str]]:
    probes = run.results["probes"]
    return [
        {
            "label": f"Contrast {contrast:g}",
            "text": f"{probes - len(failing)} of {probes} passed" + (f"; not: {'; '.join(failing)}" if failing else ""),
        }
        for contrast, failing in run.results["failing"]
    ]


def _comparison(run: EvaluationRun) -> dict[str, Any]:
    earlier = runs.before(run)
    if earlier is None:
        return {"earlier": None}
    rows = tuple(
        (_text(change.system), *(tables.gain(change.changes[metric]) for metric in runs.KEPT))
        for change in runs.changes(run, earlier)
    )
    return {
        "earlier": earlier,
        "earlier_href": _address(earlier),
        "earlier_when": _when(earlier),
        "compared": Table(("System", *runs.KEPT), rows),
    }


def _configuration(run: EvaluationRun) -> dict[str, Any]:
    fusion = {name: run.configuration["fusion"][name] for name in FUSION_FIELDS if name in run.configuration["fusion"]}
    rules = run.configuration["ranking"]
    return {
        "fusion": [
            {
                "label": name.replace("_", " ").capitalize(),
                "text": f"{value:g}" if isinstance(value, float) else f"{value}",
            }
            for name, value in fusion.items()
        ],
        "kinds": Table(
            ("Kind", "Weight", "Half-life, days", "Curve", "Version"),
            tuple(
                (
                    Cell(rule["kind"], rule["kind"], kind=rule["kind"]),
                    Cell(f"{rule['weight']:g}", rule["weight"]),
                    Cell(f"{rule['half_life_days']:g}", rule["half_life_days"]),
                    _text(rule["curve"]),
                    Cell(str(rule["version"]), rule["version"]),
                )
                for rule in rules
            ),
        ),
    }
