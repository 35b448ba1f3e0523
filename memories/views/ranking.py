"""How memories are ranked: the configuration in force and its history, for everybody to read."""

from __future__ import annotations

from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from memories.configuration import MISSING, difference, snapshot
from memories.models import ConfigVersion, RankingConfig
from memories.presentation import figure

SHOWN_CHANGES: Final = 50
FUSION_WORDS: Final = {
    "vector_weight": ("Weight of the search by meaning", "what a hit at rank r adds is this / (rank constant + r)"),
    "text_weight": ("Weight of the search by words", "the same for words"),
    "recency_weight": ("Weight of newness", "the same for the newest memories; 0 leaves them out"),
    "rrf_k": ("Rank constant", "the higher, the less the first places stand out"),
    "pool_multiplier": ("Candidates of each search", "times the number of answers asked for"),
    "contrast": ("Contrast", "the power that spreads good matches from weak ones before age counts"),
}


@require_safe
def ranking_page(request: HttpRequest) -> HttpResponse:
    now = snapshot()
    kinds, *joined = now.values()
    context = {
        "columns": ["Kind", "Weight", "Half-life in days", "Curve", "Version"],
        "kinds": [_kind(row) for row in kinds],
        "fusion": [_constant(name, value) for row in joined for name, value in row.items() if name != "version"],
        "fusion_version": ", ".join(_version(row["version"]) for row in joined),
        "changes": [_change(version) for version in _changes()[:SHOWN_CHANGES]],
    }
    return render(request, "memories/ranking.html", context)


def _kind(row: dict[str, Any]) -> list[Any]:
    return [
        {"kind": row["kind"]},
        figure(row["weight"]),
        f"{row['half_life_days']:,g}",
        row["curve"],
        _version(row["version"]),
    ]


def _version(number: int) -> str:
    return "not stored, defaults hold" if number == MISSING else str(number)


def _constant(name: str, value: float) -> dict[str, str]:
    label, words = FUSION_WORDS.get(name) or (name.replace("_", " ").capitalize(), "")
    return {"label": label, "value": f"{value:g}", "words": words}


def _changes() -> Any:
    return ConfigVersion.objects.select_related("changed_by").order_by("-changed_at", "-pk")


def _change(version: ConfigVersion) -> dict[str, Any]:
    of_a_kind = version.table == RankingConfig._meta.db_table
    subject = version.row if of_a_kind else version.table.removesuffix("_config").replace("_", " ")
    return {
        "title": f"{subject}: {difference(version)}",
        "when": version.changed_at,
        "by": version.changed_by.get_username() if version.changed_by else "nobody",
        "badge": {"text": f"version {version.version}", "tone": ""},
        "text": version.reason,
    }
