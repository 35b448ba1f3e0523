"""How memories are ranked: the configuration in force and its history, for everybody to read."""

from __future__ import annotations

from typing import Any, Final

from django.db import models
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from memories.configuration import MISSING, difference, snapshot
from memories.models import ConfigVersion, FusionConfig, FusionWeights, RankingConfig, ReinforcementConfig
from memories.presentation import figure

SHOWN_CHANGES: Final = 50
# What the models do not say themselves.
FUSION_WORDS: Final = {
    "rrf_k": ("Rank constant", "of reciprocal ranks: the higher, the less the first places stand out"),
    "pool_multiplier": ("Candidates of each search", "times the number of answers asked for"),
    "vector_weight": ("Weight of the search by meaning", "of its places, or of the features of meaning"),
    "text_weight": ("Weight of the search by words", "of its places, or of the features of words"),
    "recency_weight": ("Weight of newness", "of the newest memories; 0 leaves them out"),
    "contrast": ("Contrast", "the power that spreads good matches from weak ones before age counts"),
}


@require_safe
def ranking_page(request: HttpRequest) -> HttpResponse:
    now = snapshot()
    context = {
        "columns": ["Kind", "Weight", "Half-life in days", "Curve", "Version"],
        "kinds": [_kind(row) for row in now["ranking"]],
        "tables": [
            _table("Fusion", "How the searches by meaning and by words become one order", FusionConfig, now["fusion"]),
            _table("Weights", "What each feature of the log-linear method counts", FusionWeights, now["weights"]),
            _table(
                "Reinforcement",
                "What reports of use count, and for how long",
                ReinforcementConfig,
                now["reinforcement"],
            ),
        ],
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


def _table(name: str, caption: str, model: type[models.Model], row: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": name,
        "caption": f"{caption}. Version: {_version(row['version'])}",
        "rows": [_constant(model, field, value) for field, value in row.items() if field != "version"],
    }


def _constant(model: type[models.Model], name: str, value: float | str) -> dict[str, Any]:
    field = next(field for field in model._meta.fields if field.name == name)
    label, words = FUSION_WORDS.get(name) or (field.verbose_name.capitalize(), field.help_text)
    return {"label": label, "value": value if isinstance(value, str) else f"{value:g}", "words": words}


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
