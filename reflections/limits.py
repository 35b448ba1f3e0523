"""What the thresholds of clustering may be."""

from collections.abc import Mapping
from typing import Any, Final

from memories.errors import ValidationFailed
from memories.limits import Limits, Number
from zeromemory.llm.contracts import MOST_EVIDENCE


def _ordered(values: Mapping[str, Any]) -> None:
    if values["cosine_min"] >= values["cosine_max"]:
        raise ValidationFailed("Cosine min must be below cosine max, or no pair would ever join.", field="cosine_min")
    if values["min_members"] > values["max_members"]:
        raise ValidationFailed("Min members must not be above max members.", field="min_members")


REFLECTION_LIMITS: Final = Limits(
    {
        "cosine_min": Number(0, 1),
        "cosine_max": Number(0, 1),
        "work_minutes": Number(1, 1440, whole=True),
        "work_cosine": Number(0, 1),
        "work_step": Number(0, 1),
        "min_members": Number(2, 50, whole=True),
        "max_members": Number(2, 50, whole=True),
        "snooze_days": Number(1, 365, whole=True),
    },
    _ordered,
)

_SHARE: Final = Number(0, 1)
HYGIENE_LIMITS: Final = Limits(
    {
        "pair_days": Number(1, 3650, whole=True),
        "pair_cosine": _SHARE,
        "pair_cosine_alike": _SHARE,
        "pair_candidates": Number(1, 20, whole=True),
        "pair_most": Number(1, 10000, whole=True),
        "same_words_cosine": _SHARE,
        "same_session_cosine": _SHARE,
        "duplicate_confidence": _SHARE,
        "supersedes_confidence": _SHARE,
        "authority_confidence": _SHARE,
        "provisional_confidence": _SHARE,
        "loop_cosine": _SHARE,
        "loop_evidence": Number(1, MOST_EVIDENCE, whole=True),
        "loop_confidence": _SHARE,
        "loop_ask_confidence": _SHARE,
        "loop_most": Number(1, 1000, whole=True),
        "kind_confidence": _SHARE,
        "kind_most": Number(1, 1000, whole=True),
        "reexamine_surfacings": Number(1, 10000, whole=True),
        "reexamine_days": Number(1, 3650, whole=True),
        "reexamine_subjects": Number(1, 100, whole=True),
        "reexamine_rows": Number(1, 100, whole=True),
        "suspect_reports": Number(1, 1000, whole=True),
        "suspect_days": Number(1, 3650, whole=True),
        "code_share": _SHARE,
        "rule_sessions": Number(1, 1000, whole=True),
        "rule_days": Number(1, 3650, whole=True),
        "rule_settled_days": Number(0, 3650, whole=True),
    }
)
