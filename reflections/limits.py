"""What the thresholds of clustering may be."""

from collections.abc import Mapping
from typing import Any, Final

from memories.errors import ValidationFailed
from memories.limits import Limits, Number


def _ordered(values: Mapping[str, Any]) -> None:
    if values["cosine_min"] >= values["cosine_max"]:
        raise ValidationFailed("Cosine min must be below cosine max, or no pair would ever join.", field="cosine_min")
    if values["min_members"] > values["max_members"]:
        raise ValidationFailed("Min members must not be above max members.", field="min_members")


REFLECTION_LIMITS: Final = Limits(
    {
        "cosine_min": Number(0, 1),
        "cosine_max": Number(0, 1),
        "min_members": Number(2, 50, whole=True),
        "max_members": Number(2, 50, whole=True),
        "snooze_days": Number(1, 365, whole=True),
    },
    _ordered,
)
