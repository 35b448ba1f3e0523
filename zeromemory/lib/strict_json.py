"""JSON as RFC 8259 has it: no field twice in one object, no NaN and no Infinity."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, NoReturn


def loads(text: str | bytes) -> Any:
    """Raises ValueError (JSONDecodeError and UnicodeDecodeError are some) or RecursionError, for deep nests."""
    return json.loads(text, object_pairs_hook=_without_doubles, parse_constant=_no_number)


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        double = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"the field {double!a} is there twice.")
    return found


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number.")
