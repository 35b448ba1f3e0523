"""Edit: a new text is a new row that supersedes the old one; everything else changes in place."""

from typing import Any, Final

from django.utils import timezone

from memories import entities, growth, windows
from memories.access import Actor
from memories.controls import cleaned
from memories.errors import Conflict, ValidationFailed
from memories.models import Link, Memory, Provenance, Reinforcement, Scope
from memories.models.memory import AuthorKind, content_hash
from memories.retention import INFERRED, known_confidence, lower_of
from memories.services import audit, lifecycle
from memories.services.anchors import carry_anchors
from memories.services.validation import (
    check_choice,
    check_content,
    check_entities,
    check_kind,
    check_line,
    check_size,
    check_storable,
    check_validity,
)
from memories.services.verification import stamp_new_wording
from memories.services.writing import locked, refuse_twin, take_turns, writing
from memories.tasks import ring_for

LATEST: Final = -1  # no version has this number
EDITED: Final = "Edited"  # why the row of an old text was retired
CHECKS: Final = {
    "content": check_content,
    "kind": check_kind,
    "source": lambda value: check_line(value, "source"),
    "verbatim": lambda value: check_size(value, "verbatim"),
    "entities": check_entities,
    "valid_from": None,  # checked as a pair, with what is stored
    "valid_until": None,
    "pinned": lambda value: check_choice(value, (True, False), "pinned"),
    "confidence": lambda value: check_storable(value, "confidence"),
}
# What a new version keeps of the old one. Not external_id and idempotency_key: they name the row an earlier write made.
KEPT: Final = (
    "scope", "kind", "session", "source", "verbatim", "created_at", "newest_source_at", "valid_from", "valid_until",
    "pinned", "accessed_at", "access_count", "weight",
)  # fmt: skip
# Links of others that mean the statement rather than its wording follow it to the new version.
_FOLLOWING: Final = (Link.Type.RELATES_TO, Link.Type.CONTRADICTS)


def edit(*, actor: Actor, memory: Memory, expected_version: int | None, **changes: Any) -> Memory:
    """The memory as it now is: a new row when its text changed.

    *changes* are among CHECKS. With LATEST as *expected_version* they apply to whatever stands when their turn comes;
    a memory that was live when it was loaded is then followed through edits of others. Raises ValidationFailed,
    NotFound, Forbidden, and Conflict when the memory is retired, when it changed since *expected_version*, or when
    another live memory already says the same. Control characters are taken out; ``controls.notices_of`` says so.
    """
    changes = cleaned(changes)
    _check(changes)
    if "confidence" in changes:
        changes["confidence"] = known_confidence(changes["confidence"])
    with writing():
        current = locked(actor, memory)
        if expected_version == LATEST:
            current = _after_edits_meanwhile(actor, memory, current)
        _check_current(current, expected_version)
        changed = {field: value for field, value in changes.items() if _differs(current, field, value)}
        check_validity(changed.get("valid_from", current.valid_from), changed.get("valid_until", current.valid_until))
        if not changed:
            return current
        if "content" in changed:
            return _new_version(actor, current, changed)
        return _in_place(actor, current, changed)


def _check(changes: dict[str, Any]) -> None:
    for field, value in changes.items():
        if field not in CHECKS:
            raise ValidationFailed(f"Only {', '.join(CHECKS)} can be edited.", field=field)
        if check := CHECKS[field]:
            check(value)


def _after_edits_meanwhile(actor: Actor, loaded: Memory, current: Memory) -> Memory:
    """Each row is locked before its successor, so writers who wait for one another stand in one line."""
    while not loaded.invalidated_at and current.superseded_by and current.invalidation_reason == EDITED:
        current = locked(actor, current.superseded_by)
    return current


def _check_current(memory: Memory, expected_version: int | None) -> None:
    if expected_version is None:
        raise ValidationFailed("Send the version you edited, so that nobody's change is lost.", field="version")
    if memory.invalidated_at:
        raise Conflict("This memory is retired. Restore it first, or edit the version that replaced it.")
    if expected_version not in (memory.version, LATEST):
        raise Conflict(
            f"Somebody changed this memory meanwhile: it is at version {memory.version}. "
            "Load it again and repeat your change.",
            field="version",
        )


def _differs(memory: Memory, field: str, value: Any) -> bool:
    if field == "entities":
        return {(entities.canonical_name(spec.name), spec.type) for spec in value} != {
            (entity.canonical, entity.type) for entity in memory.entities.all()
        }
    return bool(getattr(memory, field) != value)


def _in_place(actor: Actor, memory: Memory, changed: dict[str, Any]) -> Memory:
    columns = changed.keys() - {"entities"}
    for field in columns:
        setattr(memory, field, changed[field])
    if "kind" in changed or ("valid_until" in changed and memory.state == "live"):
        take_turns(memory.scope_id, "content", memory.content_sha256)
        refuse_twin(memory)
    memory.version, memory.updated_at = memory.version + 1, timezone.now()
    memory.save(update_fields=[*columns, "version", "updated_at"])
    if "entities" in changed:
        entities.attach(memory, changed["entities"])
        entities.detach_all_but(memory, changed["entities"])
    audit.record(actor=actor, action="edit", subject=memory, scope=memory.scope, fields=sorted(changed))
    return memory


def _new_version(actor: Actor, old: Memory, changed: dict[str, Any]) -> Memory:
    named = changed.get("entities", entities.specs_of(old))
    columns = {field: getattr(old, field) for field in KEPT} | _authorship(actor, old) | _not_kept(old) | changed
    columns.pop("entities", None)
    new = Memory(**columns, content_sha256=content_hash(changed["content"]), version=old.version + 1)
    take_turns(new.scope_id, "content", new.content_sha256)
    refuse_twin(new)
    new.save(force_insert=True)
    windows.write_windows(new)
    entities.attach(new, named)
    _carry_links(old, new)
    carry_anchors(old, new)
    _carry_reinforcement(old, new)
    stamp_new_wording(actor=actor, memory=new)
    lifecycle.retire_in_favour(actor=actor, memory=old, replacement=new, reason=EDITED)
    audit.record(actor=actor, action="edit", subject=new, scope=new.scope, fields=sorted(changed), old=str(old.pk))
    ring_for(new)
    growth.tell(new.scope)
    return new


def _not_kept(old: Memory) -> dict[str, Any]:
    """A pin in a scope that decays is on the words that were pinned: what replaces them has to earn its own."""
    return {"pinned": False} if old.scope.retention == Scope.Retention.DECAYING else {}


def _authorship(actor: Actor, old: Memory) -> dict[str, Any]:
    """Who typed the new text, and how sure it is. An agent's wording never passes for a person's, nor a provisional one
    for a firm one, nor is it verified because what it replaces was."""
    if actor.is_person:
        return {
            "confidence": old.confidence,
            "author": actor.user,
            "agent": "",
            "author_kind": AuthorKind.HUMAN,
            "provenance": Provenance.HUMAN,
        }
    return {
        "author": actor.user,
        "agent": actor.agent[:120],
        "author_kind": AuthorKind.AGENT,
        "confidence": lower_of(old.confidence, INFERRED),
        "provenance": min(old.provenance, Provenance.AGENT),
    }


def _carry_links(old: Memory, new: Memory) -> None:
    out = [(new.pk, link.target_id, link) for link in old.links_out.exclude(type=Link.Type.SUPERSEDES)]
    into = [(link.source_id, new.pk, link) for link in old.links_in.filter(type__in=_FOLLOWING)]
    Link.objects.bulk_create(
        [
            Link(source_id=source, target_id=target, type=link.type, created_by=link.created_by)
            for source, target, link in out + into
        ],
        ignore_conflicts=True,
    )


def _carry_reinforcement(old: Memory, new: Memory) -> None:
    row = Reinforcement.objects.filter(memory=old).first()
    if row:
        row.pk, row._state.adding = new.pk, True
        row.save(force_insert=True)
