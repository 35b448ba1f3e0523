"""The sources of the inbox, in the order of their filters. Whoever reads the inbox imports from here."""

from memories.access import Actor
from reflections.inbox.disputes import DisputeSource
from reflections.inbox.drafts import DraftSource
from reflections.inbox.registry import WAITING, all_sources, item_of, register, source_called
from reflections.inbox.rules import RuleSource

__all__ = ["all_sources", "item_of", "source_called", "waiting"]

register(DraftSource())
register(DisputeSource())
register(RuleSource())


def waiting(actor: Actor) -> int:
    """How many rows wait, of whatever source; one query."""
    first, *rest = [
        source.visible(actor).filter(source.tabs()[WAITING]).order_by().values_list("pk") for source in all_sources()
    ]
    return first.union(*rest, all=True).count()
