"""Retiring and reviving. Nothing is removed: a retired memory keeps its row, its reason and its way back."""

from django.utils import timezone

from memories.access import Actor
from memories.errors import Conflict, ValidationFailed
from memories.models import Link, Memory
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
        if not memory.external_id:
            refuse_twin(memory, beside_imported=True)
        cut = list(Link.objects.filter(target=memory, type=Link.Type.SUPERSEDES).values_list("source_id", flat=True))
        Link.objects.filter(target=memory, type=Link.Type.SUPERSEDES).delete()
        _revive(memory)
        audit.record(
            actor=actor,
            action="restore",
            subject=memory,
            scope=memory.scope,
            reason=reason,
            links_cut=[str(source) for source in cut],
        )
    return memory


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
    Link.objects.get_or_create(
        source=replacement, target=memory, type=Link.Type.SUPERSEDES, defaults={"created_by": actor.label[:200]}
    )
    audit.record(
        actor=actor, action="supersede", subject=memory, scope=memory.scope, reason=reason, by=str(replacement.pk)
    )
    return True


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


def _retire(actor: Actor, memory: Memory, reason: str, superseded_by: Memory | None = None) -> None:
    memory.invalidated_at = memory.updated_at = timezone.now()
    memory.invalidated_by, memory.invalidated_actor = actor.user, actor.label[:200]
    memory.invalidation_reason, memory.superseded_by = reason, superseded_by
    memory.save(update_fields=_RETIREMENT)


def _revive(memory: Memory) -> None:
    memory.updated_at = timezone.now()
    memory.invalidated_at = memory.invalidated_by = memory.superseded_by = None
    memory.invalidated_actor = memory.invalidation_reason = ""
    memory.save(update_fields=_RETIREMENT)


_RETIREMENT = [
    "invalidated_at",
    "invalidated_by",
    "invalidated_actor",
    "invalidation_reason",
    "superseded_by",
    "updated_at",
]
