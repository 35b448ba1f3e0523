"""What a configuration value may be, with the sentence for what it may not.

Pure: shared by the services that write configuration and by the forms that ask for it.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from memories.errors import ValidationFailed
from memories.freshness import MOST_MEMORIES, MOST_SEARCHES
from memories.fusion import FEATURES, METHODS
from memories.ranking import CURVES
from memories.retention import ARCHIVE, AUTOMATIC, DELETE, REVIEW


class Limit(Protocol):
    def clean(self, field: str, value: Any) -> Any: ...


def _spoken(field: str) -> str:
    return field.replace("_", " ").capitalize()


@dataclass(frozen=True, slots=True)
class Number:
    """A finite number from *low* to *high*; without ``low_included`` it must be above *low*."""

    low: float
    high: float
    low_included: bool = True
    whole: bool = False

    def clean(self, field: str, value: Any) -> float:
        number = self._read(value)
        if number is None or not self._holds(number):
            raise ValidationFailed(f"{_spoken(field)} must be {self.sentence}, not {_quoted(value)}.", field=field)
        return int(number) if self.whole else number

    @property
    def sentence(self) -> str:
        noun = "a whole number" if self.whole else "a number"
        return f"{noun} {'from' if self.low_included else 'above'} {self.low:g} {self._joint} {self.high:g}"

    @property
    def _joint(self) -> str:
        return "to" if self.low_included else "and at most"

    def _read(self, value: Any) -> float | None:
        if isinstance(value, bool):
            return None
        try:
            return float(value)
        except (TypeError, ValueError, OverflowError):
            return None

    def _holds(self, number: float) -> bool:
        if not math.isfinite(number) or (self.whole and not number.is_integer()):
            return False
        above = self.low <= number if self.low_included else self.low < number
        return above and number <= self.high


@dataclass(frozen=True, slots=True)
class OneOf:
    choices: tuple[str, ...]

    def clean(self, field: str, value: Any) -> str:
        if value not in self.choices:
            raise ValidationFailed(
                f"{_spoken(field)} must be one of {', '.join(self.choices)}, not {_quoted(value)}.", field=field
            )
        return str(value)


def _quoted(value: Any) -> str:
    if value is None or value == "":
        return "empty"
    text = str(value)
    return repr(text if len(text) <= 40 else text[:39] + "…")


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one configuration table: each field alone, then *together* what holds between them."""

    fields: Mapping[str, Limit]
    together: Callable[[Mapping[str, Any]], None] = lambda _: None

    def clean(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """*values* as they will be stored; ValidationFailed names the first field that may not be so."""
        if unknown := sorted(values.keys() - self.fields.keys()):
            raise ValidationFailed(
                f"There is no setting {unknown[0]!r}. Choose from {', '.join(self.fields)}.", field=unknown[0]
            )
        cleaned = {field: self.fields[field].clean(field, value) for field, value in values.items()}
        self.together(cleaned)
        return cleaned


def _some_leg(values: Mapping[str, Any]) -> None:
    if values["vector_weight"] == 0 and values["text_weight"] == 0:
        raise ValidationFailed(
            "Vector weight and text weight cannot both be 0: nothing would be found.", field="vector_weight"
        )


# A half-life below a minute and a half is a slip of the keyboard: everything would be faded before it is recalled.
RANKING_LIMITS: Final = Limits(
    {
        "weight": Number(0.001, 2),
        "half_life_days": Number(0.001, 36500),
        "curve": OneOf(CURVES),
    }
)
FUSION_LIMITS: Final = Limits(
    {
        "method": OneOf(METHODS),
        "rrf_k": Number(0, 1000, low_included=False),
        "pool_multiplier": Number(1, 20, whole=True),
        "vector_weight": Number(0, 10),
        "text_weight": Number(0, 10),
        "recency_weight": Number(0, 10),
        "contrast": Number(0.01, 64),
    },
    _some_leg,
)
WEIGHTS_LIMITS: Final = Limits({name: Number(-100, 100) for name in FEATURES})
REINFORCEMENT_LIMITS: Final = Limits(
    {
        "window_days": Number(1, 3650, whole=True),
        "judge_minimum": Number(0, 1),
        "boost": Number(0, 2),
        "boost_limit": Number(1, 2),
        "penalty": Number(0, 2),
        "floor": Number(0.001, 1),
        "promoted": Number(0.001, 2),
    }
)
RETENTION_LIMITS: Final = Limits(
    {
        "half_life_hours": Number(1, 876_000),
        "floor": Number(1e-6, 0.5),
        "threshold": Number(1, 1_000_000, whole=True),
        "top_k": Number(1, 50, whole=True),
        "prune_action": OneOf((ARCHIVE, DELETE)),
        "summaries": OneOf((REVIEW, AUTOMATIC)),
        "confidence_weight": Number(0, 1),
    }
)
CODE_LIMITS: Final = Limits({"changed_factor": Number(0, 1, low_included=False)})
BRIEFING_LIMITS: Final = Limits(
    {"loop_days": Number(0, 3650, low_included=False), "recent_days": Number(0, 3650, low_included=False)}
)
FRESHNESS_LIMITS: Final = Limits(
    {
        "fact_days": Number(1, 3650, whole=True),
        "reference_days": Number(1, 3650, whole=True),
        "most_memories": Number(1, MOST_MEMORIES, whole=True),
        "most_searches": Number(1, MOST_SEARCHES, whole=True),
        "confidence": Number(0, 1),
    }
)
