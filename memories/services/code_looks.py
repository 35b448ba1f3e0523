"""Noting what a look at the code of a scope found, to be counted and told of later."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from django.db import transaction

from memories.models import CodeLook, Scope


@dataclass(slots=True)
class Found:
    """Of one repository. ``verdicts`` counts anchors, the rest memories, as CodeLook says."""

    verdicts: dict[str, int] = field(default_factory=dict)
    memories: int = 0
    stale: int = 0
    held: int = 0


@transaction.atomic
def note_looks(*, scope: Scope, found: Mapping[str, Found], at: datetime) -> None:
    """By the name of the repository. What was noted before gives way; a look is no act, so the trail says nothing."""
    CodeLook.objects.filter(scope=scope).delete()
    CodeLook.objects.bulk_create(
        CodeLook(
            scope=scope,
            repository=name,
            at=at,
            verdicts=one.verdicts,
            memories=one.memories,
            stale=one.stale,
            held=one.held,
        )
        for name, one in sorted(found.items())
    )


def note_asked(look: CodeLook, left: int) -> None:
    """That no more than *left* of it are held any more, inside the caller's transaction, which holds it."""
    look.held = min(look.held, left)
    look.save(update_fields=["held"])
