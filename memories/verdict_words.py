"""What became of code, in the words of a page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from memories.anchors import AnchorNow
from memories.code.verdicts import DEMOTING, Verdict, worst

SENTENCES: Final = {
    Verdict.UNCHANGED: "Says what it said.",
    Verdict.COSMETIC: "Written differently, and says what it said.",
    Verdict.CHANGED: "Says something else now, so this memory ranks lower.",
    Verdict.MOVED: "Stands elsewhere now, and says what it said.",
    Verdict.RENAMED: "Has another name now, and says what it said.",
    Verdict.AMBIGUOUS: "No longer there, and two or more places could be it.",
    Verdict.GONE: "No longer there, nor anywhere else, so this memory ranks lower.",
    Verdict.UNKNOWN: "Could not be checked: neither fresh nor stale.",
}
_ON_A_ROW: Final = {
    Verdict.CHANGED: "code changed",
    Verdict.GONE: "code gone",
    Verdict.UNKNOWN: "code not checked",
}


def badge_of(verdict: Verdict) -> dict[str, str]:
    return {"text": verdict.value, "tone": "amber" if verdict in DEMOTING else ""}


def row_badge(anchors: Iterable[AnchorNow]) -> list[dict[str, str]]:
    """Of a memory in a list: by the worst of its verdicts, and only where that is to be known."""
    found = worst({now.verdict for now in anchors})
    if found not in _ON_A_ROW:
        return []
    return [{"text": _ON_A_ROW[found], "tone": badge_of(found)["tone"]}]


def tally(counts: Mapping[str, int]) -> list[dict[str, Any]]:
    """How many of each verdict, those that demote first."""
    order = (*sorted(DEMOTING), *(verdict for verdict in Verdict if verdict not in DEMOTING))
    return [badge_of(verdict) | {"text": f"{counts[verdict]:,} {verdict}"} for verdict in order if counts.get(verdict)]
