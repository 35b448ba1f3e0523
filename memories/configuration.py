"""The configuration in force. Read from the tables at each call, so a change counts from the next recall on."""

from dataclasses import asdict
from typing import Any

from memories.models import ConfigVersion, FusionConfig, RankingConfig
from memories.ranking import KINDS, UNKNOWN_RULE, FusionRule, KindRule

MISSING = 0  # the version shown for a row that does not exist
RULE_FIELDS = tuple(KindRule.__dataclass_fields__)
FUSION_FIELDS = tuple(FusionRule.__dataclass_fields__)


def ranking_rules() -> dict[str, KindRule]:
    """A rule for every kind; a kind without a row gets ``UNKNOWN_RULE``."""
    rows = RankingConfig.objects.values_list("kind", *RULE_FIELDS)
    return dict.fromkeys(KINDS, UNKNOWN_RULE) | {kind: KindRule(*values) for kind, *values in rows}


def fusion_rule() -> FusionRule:
    row = FusionConfig.objects.values(*FUSION_FIELDS).first()
    return FusionRule(**row) if row else FusionRule()


def snapshot() -> dict[str, Any]:
    """``{"ranking": [{kind, weight, half_life_days, curve, version}], "fusion": {…, version}}``.

    Version 0 marks a row that is missing, shown with the values that stand in for it.
    """
    ranking = {row["kind"]: row for row in RankingConfig.objects.values("kind", *RULE_FIELDS, "version")}
    fusion = FusionConfig.objects.values(*FUSION_FIELDS, "version").first()
    return {
        "ranking": [
            ranking.get(kind) or {"kind": kind} | asdict(UNKNOWN_RULE) | {"version": MISSING} for kind in KINDS
        ],
        "fusion": fusion or asdict(FusionRule()) | {"version": MISSING},
    }


def difference(version: ConfigVersion) -> str:
    """What changed, as words: ``half_life_days 365 → 90``."""
    if version.new is None:
        return "removed"
    old = version.old or {}
    changed = [field for field, value in version.new.items() if old.get(field) != value]
    return ", ".join(f"{field} {_shown(old.get(field))} → {_shown(version.new[field])}" for field in changed)


def _shown(value: Any) -> str:
    if value is None:
        return "none"
    return f"{value:g}" if isinstance(value, float) else str(value)
