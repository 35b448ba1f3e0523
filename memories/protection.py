"""PURE. What no machine and no bulk act retires, whatever it is sure of."""

from typing import Final

PROTECTED_KINDS: Final = frozenset({"gotcha", "convention", "decision", "preference"})
PROVISIONAL: Final = 0  # a provisional note is protected by no kind


def is_protected(kind: str, provenance: int) -> bool:
    return kind in PROTECTED_KINDS and provenance > PROVISIONAL
