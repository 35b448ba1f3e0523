"""How far a change of embedder is, in numbers for those who may steer it and in a sentence for everybody."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.urls import reverse

from memories.embedder_in_use import newest_change
from memories.models import EmbedderChange, Memory
from zeromemory.embedding import EmbedderError, get_embedder

State = EmbedderChange.State


@dataclass(frozen=True, slots=True)
class Progress:
    """Live memories: *done* of *total* have vectors of the embedder changed to; *failed* could not be embedded."""

    done: int
    total: int
    failed: int
    reason: str

    @property
    def share(self) -> str:
        """Rounded down: all is said only of all."""
        return f"{100 * self.done // self.total} %" if self.total else "–"


def progress_of(change: EmbedderChange) -> Progress:
    live = Memory.objects.filter(invalidated_at__isnull=True)
    failed = live.exclude(embedding_error="")
    return Progress(
        done=live.filter(embedded_with=change.stamp).count(),
        total=live.count(),
        failed=failed.count(),
        reason=failed.values_list("embedding_error", flat=True).first() or "",
    )


def banner() -> dict[str, Any] | None:
    """A notice while the embedder that answers is not the one that ZEROMEMORY_EMBEDDER names."""
    change = newest_change()
    if change is None or change.state == State.FINISHED or not change.former_stamp:
        return None
    level, text = _words(change)
    return {"level": level, "text": text, "href": reverse("embedder_page"), "link": "The change"} if text else None


def _words(change: EmbedderChange) -> tuple[str, str]:
    former, new = _name(change.former_stamp), _name(change.stamp)
    if change.state == State.ROLLED_BACK:
        named = f"Searches use {former}, although ZEROMEMORY_EMBEDDER names {new}: that change was rolled back."
        return "amber", named if change.stamp == _configured_stamp() else ""
    if change.state == State.PAUSED:
        return "amber", f"The change from {former} to {new} is paused. Searches go on with {former}."
    return "info", f"All memories are being embedded by {new}. Until that is done, searches go on with {former}."


def _name(stamp: str) -> str:
    return stamp.rpartition(" ")[0]


def _configured_stamp() -> str:
    try:
        chosen = get_embedder()
        return chosen.stamp if chosen else ""
    except EmbedderError:
        return ""
