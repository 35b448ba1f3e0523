"""What the sources of a draft have in common."""

from collections import Counter
from collections.abc import Iterable

from memories.models import Entity, Memory


def shared_entities(sources: Iterable[Memory]) -> list[Entity]:
    """What at least two of the sources speak of, the most widely shared first. Prefetch ``entities``."""
    carried = Counter(entity for source in sources for entity in source.entities.all())
    shared = [entity for entity, count in carried.items() if count > 1]
    return sorted(shared, key=lambda entity: (-carried[entity], entity.canonical, entity.type))
