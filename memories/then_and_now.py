"""The code of an anchor as it was when somebody last said that the memory holds for it, beside the code as it is."""

from __future__ import annotations

from typing import Final

from memories.anchored import text_now, text_then
from memories.anchors import AnchorNow
from memories.checkout import Checkout
from memories.code.verdicts import Verdict
from memories.differences import Part, line_difference
from memories.guard import masked

_NOTHING_TO_SHOW: Final = {Verdict.UNCHANGED, Verdict.UNKNOWN, Verdict.AMBIGUOUS}
_MARKS: Final = {"remove": "- ", "add": "+ "}


def difference_of(now: AnchorNow, tree: Checkout | None) -> list[Part]:
    """By lines, without the secrets in them; nothing where the text is the same or could not be read."""
    if tree is None or now.verdict in _NOTHING_TO_SHOW:
        return []
    return line_difference(text_then(now.anchor), masked(text_now(now, tree)))


def in_plain_text(parts: list[Part]) -> str:
    """The lines that differ, each with a mark of what became of it."""
    return "\n".join(_MARKS[part["op"]] + part["text"] for part in parts if part["op"] in _MARKS)
