"""Links between memories. A ``supersedes`` link retires what it points at."""

import uuid
from collections.abc import Sequence

from memories.access import Actor
from memories.errors import NotFound, ValidationFailed
from memories.models import Link, Memory
from memories.services import audit, lifecycle
from memories.services.validation import LinkSpec, check_link_type
from memories.services.writing import locked, writing


def link(*, actor: Actor, source: Memory, target: Memory, type: str) -> Link:
    """Tie *source* to *target*. ``supersedes`` retires the target; a tie that exists is returned as it is."""
    check_link_type(type)
    with writing():
        source = locked(actor, source)
        create_links(actor=actor, memory=source, specs=[LinkSpec(type, target.pk)])
        return Link.objects.get(source=source, target_id=target.pk, type=type)


def create_links(*, actor: Actor, memory: Memory, specs: Sequence[LinkSpec]) -> int:
    """The links that were not there before, inside the caller's transaction; their number.

    Raises NotFound when a target may not be seen, so that nothing is learned about it.
    """
    targets = _targets(actor, specs)
    made = 0
    for spec in specs:
        target = targets[id_of(spec)]
        _refuse_itself(memory, target)
        if spec.type == Link.Type.SUPERSEDES:
            made += lifecycle.retire_in_favour(actor=actor, memory=target, replacement=memory)
            continue
        made += _tie(actor, memory, target, spec.type)
    return made


def _tie(actor: Actor, source: Memory, target: Memory, type: str) -> bool:
    _, created = Link.objects.get_or_create(
        source=source, target=target, type=type, defaults={"created_by": actor.label[:200]}
    )
    if created:
        audit.record(actor=actor, action="link", subject=source, scope=source.scope, type=type, target=str(target.pk))
    return created


def _targets(actor: Actor, specs: Sequence[LinkSpec]) -> dict[uuid.UUID, Memory]:
    ids = {id_of(spec) for spec in specs}
    found = Memory.objects.visible_to(actor).select_related("scope").in_bulk(ids)
    if len(found) < len(ids):
        raise NotFound("There is no such memory to link to. Check the target's id.", field="links")
    return found


def id_of(spec: LinkSpec) -> uuid.UUID:
    """Raises NotFound for what is no id."""
    try:
        return uuid.UUID(str(spec.target))
    except ValueError as error:
        raise NotFound("There is no such memory to link to. Check the target's id.", field="links") from error


def _refuse_itself(memory: Memory, target: Memory) -> None:
    if memory.pk == target.pk:
        raise ValidationFailed(
            "A memory cannot be linked to itself, nor to one that says exactly the same.", field="links"
        )
