"""PURE. One budget for all that a briefing says: what fits is taken in order, cut where it is long, and marked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

CHARACTERS_A_TOKEN: Final = 4  # of English prose with the tokenizers of the large models; a rule of thumb
SHORTEST_CUT: Final = 200  # characters; of less nobody learns anything
MARK: Final = "…"


@dataclass(frozen=True, slots=True)
class Cut:
    """A text as it is given; ``truncated`` when there is more of it."""

    text: str
    truncated: bool


def cut(text: str, most: int) -> Cut:
    """At most *most* characters, ended at a word where one ends in the last third."""
    if len(text) <= most:
        return Cut(text, False)
    kept = text[: most - len(MARK)]
    space = max(kept.rfind(" "), kept.rfind("\n"))
    return Cut((kept[:space] if space > len(kept) * 2 // 3 else kept).rstrip() + MARK, True)


class Purse:
    """Characters left to spend. ``left_out`` counts what there was no room for."""

    def __init__(self, tokens: int) -> None:
        self.left = tokens * CHARACTERS_A_TOKEN
        self.left_out = 0

    def take(self, given: Cut, *, may_shrink: bool = False) -> Cut | None:
        """Pay for a text, shortened to what is left where it *may_shrink*; None where there is no room for it."""
        if may_shrink and len(given.text) > self.left >= SHORTEST_CUT:
            given = Cut(cut(given.text, self.left).text, True)
        if len(given.text) > self.left:
            self.left_out += 1
            return None
        self.left -= len(given.text)
        return given
