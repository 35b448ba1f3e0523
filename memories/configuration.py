"""The configuration in force. Read from the tables at each call, so a change counts from the next recall on."""

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from memories.fusion import FEATURES, UNTRAINED, FusionRule, Weights
from memories.models import (
    CodeConfig,
    ConfigVersion,
    EmbedderChange,
    FusionConfig,
    FusionWeights,
    RankingConfig,
    ReinforcementConfig,
    RetentionPolicy,
)
from memories.ranking import KINDS, REINFORCEMENT_DEFAULTS, UNKNOWN_RULE, KindRule, ReinforcementRule
from memories.retention import RetentionRule
from memories.sql import load
from memories.vocabulary import Pair, spelt
from memories.words import searchable
from zeromemory.lib.partial import partial
from zeromemory.lib.prepared import prepared_cursor

MISSING = 0  # the version shown for a row that does not exist
RULE_FIELDS = tuple(KindRule.__dataclass_fields__)
FUSION_FIELDS = tuple(name for name in FusionRule.__dataclass_fields__ if name != "weights")
REINFORCEMENT_FIELDS = tuple(ReinforcementRule.__dataclass_fields__)

_CHANGE_FIELDS = ("id", "former_stamp", "former_choice", "stamp", "choice", "state")  # the dates come when asked for


@dataclass(frozen=True, slots=True)
class InForce:
    """What a recall goes by. ``rules`` as in ``ranking_rules()``; ``change`` is the newest change of the embedder.
    ``stamps`` of live memories: the first and the last in order, so one where all bear the same. ``decaying`` holds the
    rule of each scope that is read and decays, ``archives`` those of them that
    hold an archive, ``aliases`` those of all that are read which the query may hold."""

    rules: dict[str, KindRule]
    fusion: FusionRule
    change: EmbedderChange | None
    stamps: frozenset[str]
    changed_factor: float = CodeConfig().changed_factor
    is_anchored: bool = False  # whether any memory names code
    decaying: Mapping[int, RetentionRule] = field(default_factory=dict)
    archives: frozenset[int] = frozenset()
    aliases: tuple[Pair, ...] = ()

    def top_k(self, scopes: Collection[int]) -> int | None:
        """How many results their policies give where nobody names a number; None unless each of *scopes* decays."""
        if not scopes or not self.decaying.keys() >= set(scopes):
            return None
        return max(self.decaying[scope].top_k for scope in scopes)


def ranking_rules() -> dict[str, KindRule]:
    """A rule for every kind; a kind without a row gets ``UNKNOWN_RULE``."""
    rows = RankingConfig.objects.values_list("kind", *RULE_FIELDS)
    return dict.fromkeys(KINDS, UNKNOWN_RULE) | {kind: KindRule(*values) for kind, *values in rows}


def fusion_rule() -> FusionRule:
    return _fusion(FusionConfig.objects.values(*FUSION_FIELDS).first(), FusionWeights.objects.values(*FEATURES).first())


def reinforcement_rule() -> ReinforcementRule:
    """What signals count."""
    row = ReinforcementConfig.objects.values(*REINFORCEMENT_FIELDS).first()
    return ReinforcementRule(**row) if row else REINFORCEMENT_DEFAULTS


def in_force(scopes: Collection[int] = (), query: str = "") -> InForce:
    """In one round trip, for the hot path; *scopes* are those that are read, *query* what is looked for in them."""
    with prepared_cursor() as cursor:
        cursor.execute(load("configuration"), {"scopes": sorted(scopes), "query": spelt(searchable(query))})
        *parts, first, last, is_anchored, policies, archives, aliases = cursor.fetchone()
    ranking, fusion, weights, code, change = (json.loads(part) if part else None for part in parts)
    rules = {row["kind"]: KindRule(*(row[field] for field in RULE_FIELDS)) for row in ranking or ()}
    return InForce(
        rules=dict.fromkeys(KINDS, UNKNOWN_RULE) | rules,
        fusion=_fusion(fusion, weights),
        change=partial(EmbedderChange, {name: change[name] for name in _CHANGE_FIELDS}) if change else None,
        stamps=frozenset() if first is None else frozenset({first, last}),
        changed_factor=code["changed_factor"] if code else CodeConfig().changed_factor,
        is_anchored=is_anchored,
        decaying=_rules(json.loads(policies)) if policies else {},
        archives=frozenset(archives or ()),
        aliases=tuple((term, alias) for term, alias in json.loads(aliases)) if aliases else (),
    )


def _rules(policies: Mapping[str, dict[str, Any] | None]) -> dict[int, RetentionRule]:
    return {
        int(scope): partial(RetentionPolicy, policy).rule if policy else RetentionRule()
        for scope, policy in policies.items()
    }


def _fusion(row: dict[str, Any] | None, weights: dict[str, Any] | None) -> FusionRule:
    told = {field: row[field] for field in FUSION_FIELDS} if row else {}
    learned = Weights(**{name: weights[name] for name in FEATURES}) if weights else UNTRAINED
    return FusionRule(**told, weights=learned)


def snapshot() -> dict[str, Any]:
    """``{"ranking": [{kind, weight, half_life_days, curve, version}], "fusion": {…, version},
    "weights": {…, version}, "reinforcement": {…, version}}``.

    Version 0 marks a row that is missing, shown with the values that stand in for it.
    """
    ranking = {row["kind"]: row for row in RankingConfig.objects.values("kind", *RULE_FIELDS, "version")}
    fusion = FusionConfig.objects.values(*FUSION_FIELDS, "version").first()
    weights = FusionWeights.objects.values(*FEATURES, "version").first()
    reinforcement = ReinforcementConfig.objects.values(*REINFORCEMENT_FIELDS, "version").first()
    shipped = {name: getattr(FusionRule(), name) for name in FUSION_FIELDS}
    return {
        "ranking": [
            ranking.get(kind) or {"kind": kind} | asdict(UNKNOWN_RULE) | {"version": MISSING} for kind in KINDS
        ],
        "fusion": fusion or shipped | {"version": MISSING},
        "weights": weights or asdict(UNTRAINED) | {"version": MISSING},
        "reinforcement": reinforcement or asdict(REINFORCEMENT_DEFAULTS) | {"version": MISSING},
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
