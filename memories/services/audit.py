"""The audit trail: every write leaves one entry, in its own transaction."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.db import models
from django.utils import timezone

from memories.access import Actor
from memories.models import AuditEntry, Scope, Token
from memories.models.audit import OPERATION


def record(
    *,
    actor: Actor | None,
    action: str,
    subject: models.Model,
    scope: Scope | None = None,
    label: str = "",
    reason: str = "",
    **detail: Any,
) -> AuditEntry:
    """Write who did *action* to *subject*. Without an actor, *label* names the command or scanner that acted.

    *detail* holds ids, numbers and short words as JSON; never the text of a memory.
    """
    _note_first_write(actor)
    entry = _entry(actor, action, subject, scope, label, reason, detail)
    entry.save(force_insert=True)
    return entry


def record_each(
    *,
    actor: Actor | None,
    action: str,
    subjects: Iterable[tuple[models.Model, dict[str, Any]]],
    reason: str = "",
    label: str = "",
) -> None:
    """One entry for each of many subjects with a ``scope_id``, with its own detail, in one statement."""
    _note_first_write(actor)
    entries = []
    for subject, detail in subjects:
        entry = _entry(actor, action, subject, None, label, reason, detail)
        entry.scope_id = subject.scope_id  # type: ignore[attr-defined]  # as the docstring asks
        entries.append(entry)
    AuditEntry.objects.bulk_create(entries)


def record_operation(
    *, actor: Actor, action: str, operation: UUID, scope: Scope, reason: str = "", **detail: Any
) -> AuditEntry:
    """One entry for an act on many memories. Each of its members has an entry of its own, which names *operation*."""
    _note_first_write(actor)
    entry = AuditEntry(**_acted(actor, "", action, reason, detail), scope=scope)
    entry.object_type, entry.object_id = OPERATION, str(operation)
    entry.save(force_insert=True)
    return entry


def _entry(
    actor: Actor | None,
    action: str,
    subject: models.Model,
    scope: Scope | None,
    label: str,
    reason: str,
    detail: dict[str, Any],
) -> AuditEntry:
    return AuditEntry(
        **_acted(actor, label, action, reason, detail),
        scope=scope,
        object_type=subject._meta.model_name or "",
        object_id=str(subject.pk),
    )


def _acted(actor: Actor | None, label: str, action: str, reason: str, detail: dict[str, Any]) -> dict[str, Any]:
    return {
        "user": actor.user if actor else None,
        "token": actor.token if actor else None,
        "actor": (label or (actor.label if actor else "system"))[:200],
        "action": action,
        "reason": reason,
        "detail": detail,
    }


def _note_first_write(actor: Actor | None) -> None:
    """The first write of a token tells its owner that the set-up works."""
    if actor and actor.token and actor.token.first_write_at is None:
        Token.objects.filter(pk=actor.token.pk, first_write_at=None).update(first_write_at=timezone.now())
