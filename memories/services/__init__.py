"""Every write of memories, as verbs. Keyword-only, one transaction each, with an audit entry."""

from memories.entities import EntitySpec
from memories.services.anchors import reanchor
from memories.services.edit import LATEST, edit
from memories.services.lifecycle import close, forget, pin, restore, supersede, unpin
from memories.services.links import link
from memories.services.remember import Remembered, remember
from memories.services.validation import AnchorSpec, LinkSpec

__all__ = [
    "LATEST",
    "AnchorSpec",
    "EntitySpec",
    "LinkSpec",
    "Remembered",
    "close",
    "edit",
    "forget",
    "link",
    "pin",
    "reanchor",
    "remember",
    "restore",
    "supersede",
    "unpin",
]
