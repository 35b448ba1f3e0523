"""The code of a memory beside the question whether it still holds, as it is when somebody opens the item."""

from __future__ import annotations

from typing import Any

from memories.code.verdicts import Verdict, worst
from memories.views.anchoring import code_of
from reflections.code_reading import WELL
from reflections.models import Dispute


def code_beside(row: Dispute) -> dict[str, Any]:
    """Its anchors with their verdicts as of now; empty where the item is about something else, or is settled."""
    is_asked = row.type == Dispute.Type.CODE_CHANGED and row.status in ("pending", "snoozed")
    if not is_asked or row.subject.invalidated_at:
        return {}
    anchors = code_of(row.subject)["anchors"]
    verdicts = {one["verdict"] for one in anchors}
    found = worst(verdicts)
    if not anchors or found == Verdict.UNKNOWN:
        return {"is_unknown": bool(anchors), "details": [one["detail"] for one in anchors if one["detail"]]}
    return {
        "anchors": anchors,
        "is_back": found in WELL,
        "is_gone": Verdict.GONE in verdicts and Verdict.CHANGED not in verdicts,
    }
