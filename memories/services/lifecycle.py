"""Retiring and reviving. Nothing is removed: a retired memory keeps its row, its reason and its way back."""

from datetime import datetime

from django.utils import timezone

from memories.access import Actor
from memories.errors import Conflict, ValidationFailed
from memories.models import Link, Memory, Scope
from memories.models.memory import LOOPS
from memories.services import audit
from memories.services.validation import check_line
from memories.services.writing import locked, refuse_twin, take_turns, writing


def forget(*, actor: Actor, memory: Memory, reason: str = "") -> Memory:
    check_line(reason, "reason")
    with writing():
        memory = locked(actor, memory)
        if memory.invalidated_at:
            raise Conflict("This memory is already forgotten." if not memory.superseded_by_id else _SUPERSEDED)
        _retire(actor, memory, reason)
        audit.record(actor=actor, action="forget", subject=memory, scope=memory.scope, reason=reason)
    return memory


def close(*, actor: Actor, memory: Memory, reason: str = "", evidence: str = "") -> Memory:
    """Say that a task is done, or a question answered. It is retired without a successor, and ``restore`` reopens it.

    *evidence* is what shows it: the id of a memory, or a sentence. Raises ValidationFailed for another kind, Conflict
    when it is closed already.
    """
    because = _closing_words(reason, evidence)
    with writing():
        memory = locked(actor, memory)
        _refuse_no_loop(memory)
        if memory.invalidated_at:
            raise Conflict("This loop is closed already. Restore it to open it again.")
        _retire(actor, memory, because)
        audit.record(actor=actor, action="close", subject=memory, scope=memory.scope, reason=because)
    return memory


def _closing_words(reason: str, evidence: str) -> str:
    check_line(reason, "reason")
    check_line(evidence, "evidence")
    because = f"{reason} (shown by: {evidence})" if reason and evidence else reason or evidence
    check_line(because, "reason")
    return because


def _refuse_no_loop(memory: Memory) -> None:
    if memory.kind not in LOOPS:
        kind = memory.get_kind_display().lower()
        raise ValidationFailed(f"This {kind} is not an open loop: only tasks and open questions are closed.")


def restore(*, actor: Actor, memory: Memory, reason: str = "") -> Memory:
    """Bring a retired memory back, and cut the ``supersedes`` links that point at it.

    Raises Conflict when it is not retired, or when a live one says exactly the same. Imports keep rows of one text
    apart that were apart where they came from, so a row with an external id comes back beside its twin.
    """
    check_line(reason, "reason")
    with writing():
        take_turns(memory.scope_id, "content", memory.content_sha256)
        memory = locked(actor, memory)
        if not memory.invalidated_at:
            raise Conflict("This memory is not forgotten, so there is nothing to restore.")
        _bring_back(actor, memory, reason, updated_at=timezone.now())
    return memory


def take_back(*, actor: Actor, memory: Memory, retired_at: datetime, updated_at: datetime, reason: str) -> Memory:
    """Undo the retirement of *retired_at*: the row is as it was before, *updated_at* included.

    Raises Conflict when anything became of it since.
    """
    with writing():
        take_turns(memory.scope_id, "content", memory.content_sha256)
        memory = locked(actor, memory)
        if memory.invalidated_at != retired_at:
            raise Conflict(f"A memory that this retired was {_since(memory)} since. Open it to go on from there.")
        _bring_back(actor, memory, reason, updated_at=updated_at)
    return memory


def file_back(*, actor: Actor, memory: Memory, kind: str, version: int, updated_at: datetime, reason: str) -> Memory:
    """Undo the change of kind that followed on *version*: the row is as it was then.

    Raises Conflict when the memory was changed since, or when a live one of *kind* says exactly the same.
    """
    with writing():
        take_turns(memory.scope_id, "content", memory.content_sha256)
        memory = locked(actor, memory)
        if memory.version != version + 1:
            raise Conflict("The memory was changed or filed as yet another kind since, so the decision stands.")
        memory.kind, memory.version, memory.updated_at = kind, version, updated_at
        refuse_twin(memory)
        memory.save(update_fields=["kind", "version", "updated_at"])
        audit.record(actor=actor, action="edit", subject=memory, scope=memory.scope, reason=reason, fields=["kind"])
    return memory


def _since(memory: Memory) -> str:
    return "retired another time" if memory.invalidated_at else "restored"


def _bring_back(actor: Actor, memory: Memory, reason: str, *, updated_at: datetime) -> None:
    if not memory.external_id:
        refuse_twin(memory, beside_imported=True)
    links = Link.objects.filter(target=memory, type=Link.Type.SUPERSEDES)
    cut = [str(source) for source in links.values_list("source_id", flat=True)]
    links.delete()
    _revive(memory, updated_at)
    audit.record(actor=actor, action="restore", subject=memory, scope=memory.scope, reason=reason, links_cut=cut)


def supersede(*, actor: Actor, memory: Memory, replacement: Memory, reason: str = "") -> Memory:
    """Retire *memory* in favour of a live *replacement*; the actor must be able to write to both."""
    check_line(reason, "reason")
    with writing():
        # In the order of their ids, so that two people superseding a pair both ways cannot deadlock.
        rows = {row.pk: locked(actor, row) for row in sorted((memory, replacement), key=lambda row: row.pk)}
        memory, replacement = rows[memory.pk], rows[replacement.pk]
        retire_in_favour(actor=actor, memory=memory, replacement=replacement, reason=reason)
        memory.refresh_from_db()
    return memory


def retire_in_favour(*, actor: Actor, memory: Memory, replacement: Memory, reason: str = "") -> bool:
    """Inside the caller's transaction; False when this very replacement had retired it before.

    The replacement must be live, and a live memory has no successor: so no chain of successors can close a circle.
    """
    if memory.pk == replacement.pk:
        raise ValidationFailed("A memory cannot supersede itself.", field="links")
    memory, replacement = locked(actor, memory), locked(actor, replacement)
    if memory.superseded_by_id == replacement.pk:
        return False
    if replacement.state != "live":
        raise Conflict("The replacement is itself retired. Name a live one, or restore it first.", field="links")
    if memory.invalidated_at:
        raise Conflict(_SUPERSEDED if memory.superseded_by_id else _FORGOTTEN, field="links")
    _retire(actor, memory, reason, superseded_by=replacement)
    _link_successor(memory, replacement, actor.label)
    audit.record(
        actor=actor, action="supersede", subject=memory, scope=memory.scope, reason=reason, by=str(replacement.pk)
    )
    return True


def retire_by_scanner(
    *, memory: Memory, label: str, reason: str, replacement: Memory | None = None, action: str = "forget", **detail: str
) -> None:
    """Retire without anybody asking for it, inside the caller's transaction, which holds both rows.

    *label* names who acted, *detail* goes into the audit entry. Raises Conflict for what is not live, and for a pinned
    memory, which no machine retires.
    """
    if memory.pinned:
        raise Conflict("A pinned memory is never retired automatically.")
    if memory.invalidated_at or (replacement and replacement.state != "live"):
        raise Conflict("One of the two was retired meanwhile.")
    _retire(None, memory, reason, superseded_by=replacement, label=label)
    if replacement:
        _link_successor(memory, replacement, label)
        detail |= {"by": str(replacement.pk)}
    audit.record(
        actor=None,
        label=label,
        action="supersede" if replacement else action,
        subject=memory,
        scope=memory.scope,
        reason=reason,
        **detail,
    )


def close_by_scanner(*, memory: Memory, label: str, reason: str, **detail: str) -> None:
    """Close a loop without anybody asking for it, like ``retire_by_scanner``."""
    _refuse_no_loop(memory)
    retire_by_scanner(memory=memory, label=label, reason=reason, replacement=None, action="close", **detail)


def pin(*, actor: Actor, memory: Memory) -> Memory:
    return _set_pin(actor, memory, pinned=True)


def unpin(*, actor: Actor, memory: Memory) -> Memory:
    return _set_pin(actor, memory, pinned=False)


_SUPERSEDED = "This memory is already superseded by another. Restore it first, or change its successor."
_FORGOTTEN = "This memory is already forgotten. Restore it first."


def _set_pin(actor: Actor, memory: Memory, *, pinned: bool) -> Memory:
    with writing():
        memory = locked(actor, memory)
        if memory.invalidated_at:
            raise Conflict("Only a live memory can be pinned or unpinned. Restore it first.")
        if memory.pinned == pinned:
            return memory
        memory.pinned, memory.updated_at, memory.version = pinned, timezone.now(), memory.version + 1
        memory.save(update_fields=["pinned", "updated_at", "version"])
        audit.record(actor=actor, action="pin" if pinned else "unpin", subject=memory, scope=memory.scope)
    return memory


def _retire(
    actor: Actor | None, memory: Memory, reason: str, superseded_by: Memory | None = None, label: str = ""
) -> None:
    """Without an actor, *label* says who did it."""
    memory.invalidated_at = memory.updated_at = timezone.now()
    memory.invalidated_by = actor.user if actor else None
    memory.invalidated_actor = (actor.label if actor else label)[:200]
    memory.invalidation_reason, memory.superseded_by = reason, superseded_by
    memory.save(update_fields=_RETIREMENT)


def _link_successor(memory: Memory, replacement: Memory, created_by: str) -> None:
    Link.objects.get_or_create(
        source=replacement, target=memory, type=Link.Type.SUPERSEDES, defaults={"created_by": created_by[:200]}
    )


def _revive(memory: Memory, updated_at: datetime) -> None:
    memory.updated_at = updated_at
    memory.invalidated_at = memory.invalidated_by = memory.superseded_by = None
    memory.invalidated_actor = memory.invalidation_reason = ""
    if memory.scope.retention == Scope.Retention.DECAYING:  # else its next cycle might let it go again
        memory.weight, memory.accessed_at = 1.0, timezone.now()
    memory.archived_at = None
    memory.save(update_fields=[*_RETIREMENT, "archived_at", "weight", "accessed_at"])


_RETIREMENT = [
    "invalidated_at",
    "invalidated_by",
    "invalidated_actor",
    "invalidation_reason",
    "superseded_by",
    "updated_at",
]
