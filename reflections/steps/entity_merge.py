"""Let an entity without a type join its only namesake that has one."""

from __future__ import annotations

from typing import Final

from memories.entities import with_typed_namesake
from memories.models import Entity, Scope
from memories.services import entities
from reflections.presentation import counted
from reflections.services.progress import Progress

SCANNER: Final = "entity merge"


def work(scope: Scope, progress: Progress) -> None:
    for entity, into in with_typed_namesake(scope):
        merged = _merge(entity, into, progress)
        progress.count(found=1, done=int(merged), skipped=int(not merged))


def survey(scope: Scope) -> str:
    number = len(with_typed_namesake(scope))
    return f"would merge {counted(number, 'untyped name')} into the entity of a type"


def _merge(entity: Entity, into: Entity, progress: Progress) -> bool:
    """Whether anything came of it: what somebody holds at this moment waits for the next run."""
    done = 0
    while ties := sum(entities.merge_entity(entity=entity, into=into, label=SCANNER, scanner=SCANNER)):
        done += ties
        progress.count()
        if ties < entities.AT_ONCE:
            break
    return done > 0
