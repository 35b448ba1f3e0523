"""Imports as people see them: where they stand, in words, and what they would write."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from django.template.defaultfilters import filesizeformat
from django.utils import timezone

from memories import condition
from memories.access import Actor
from memories.errors import ZeroMemoryError
from memories.models import Import
from memories.models.memory import Kind
from memories.transfer import kept_files
from memories.transfer.imported import Imported
from memories.transfer.records import MemoryRecord
from memories.transfer.registry import FORMATS, format_called
from memories.transfer.rows import humbled
from zeromemory.lib.counting import counted

SAMPLE: Final = 5
EXCERPT: Final = 280  # characters
State = Import.State


def row_of_import(row: Import, actor: Actor) -> dict[str, Any]:
    """A line of the table of past imports. What the file was called is its owner's."""
    mine = row.user_id == actor.user.pk
    return {"row": row, "is_mine": mine, "counts": _in_short(row), "format": _label(row.format)}


def _label(name: str) -> str:
    return format_called(name).label if name in FORMATS else name


def _in_short(row: Import) -> str:
    if row.state not in (State.DONE, State.CHECKED):
        return ""
    told = row.report
    return f"{told['written']:,} new, {told['existing']:,} already there"


def shown(row: Import, actor: Actor) -> dict[str, Any]:
    undoable = Imported(row).forgettable().count() if row.state == State.DONE else 0
    return {
        "row": row,
        "facts": _facts(row),
        "said": _said(row),
        "level": {State.FAILED: "danger", State.CANCELLED: "amber"}.get(State(row.state), "info"),
        "report": _report(row) if "read" in row.report else None,
        "mistakes": row.report.get("mistakes", []),
        "sample": list(_sample(row, actor)) if row.state == State.CHECKED else [],
        "may_write": row.scope_id in actor.writable,
        "undoable": undoable,
        "touched": row.report.get("written", 0) - undoable if row.state == State.DONE and not row.undone_by else 0,
        "stopping": row.is_under_way and row.cancel_asked_at is not None,
    }


def _facts(row: Import) -> list[dict[str, Any]]:
    return [
        {
            "label": "File",
            "text": _file(row),
        },
        {"label": "Format", "text": _label(row.format)},
        {"label": "Into", "text": row.scope.slug},
        {"label": "Handed in", "when": row.handed_in_at},
    ]


def _file(row: Import) -> str:
    if not row.file_name:
        return "sent over REST"
    return f"{row.file_name} ({filesizeformat(row.file_bytes)})" if row.file_bytes else row.file_name


def _said(row: Import) -> str:
    """Where it stands, in a sentence."""
    if row.state in (State.TO_CHECK, State.QUEUED):
        worker = condition.worker()
        return "It is about to start." if worker.state == "ok" else f"It waits for the worker, which {worker.text}."
    if row.state in (State.CHECKING, State.RUNNING):
        stopping = " It stops at its next batch, and nothing is written." if row.cancel_asked_at else ""
        return f"{counted(row.read, 'memory', 'memories')} read so far.{stopping}"
    if row.state == State.CHECKED:
        return "Nothing is written yet. Look at it, then import it; the file is kept for a day."
    if row.state == State.DONE:
        return f"{_in_short(row)}."
    return row.error or "Nothing of the file was written."


def _report(row: Import) -> dict[str, Any]:
    told = row.report
    names = dict(Kind.choices)
    return {
        "read": told["read"],
        "written": told["written"],
        "existing": told["existing"],
        "links": told["links"],
        "kinds": sorted(((names.get(kind, kind), number) for kind, number in told["kinds"].items()), key=_most_first),
        "skipped": sorted(told["skipped"].items()),
        "notes": sorted((what, number) for what, number in told["notes"].items() if number),
        "differing": told["differing"],
        "more_differing": max(told["differing_count"] - len(told["differing"]), 0),
    }


def _most_first(counted: tuple[str, int]) -> tuple[int, str]:
    return -counted[1], counted[0]


def _sample(row: Import, actor: Actor) -> Iterator[dict[str, Any]]:
    """The first memories of the file, as they would be stored."""
    try:
        with kept_files.opened(row.pk, row.file_name) as file:
            records = (record for record in format_called(row.format)().read(file) if isinstance(record, MemoryRecord))
            for record in islice(records, SAMPLE):
                yield _as_stored(humbled(record, actor))
    except ZeroMemoryError:
        return  # the report says what is wrong with the file


def _as_stored(record: MemoryRecord) -> dict[str, Any]:
    return {
        "kind": record.kind,
        "text": record.content[:EXCERPT] + ("…" if len(record.content) > EXCERPT else ""),
        "created_at": record.created_at or timezone.now(),
        "about": ", ".join(entity.name for entity in record.entities[:8]),
        "source": record.source[:120],
    }
