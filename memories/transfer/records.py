"""What travels: a memory and all that hangs on it, free of any file format and of any database.

A field that is None was not given; the import then chooses what ``remember`` would have chosen.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from memories.transfer.errors import Place


@dataclass(frozen=True, slots=True)
class EntityRecord:
    """``recognised``: found in the text, where the writer named nothing."""

    name: str
    type: str = "thing"
    recognised: bool | None = None


@dataclass(frozen=True, slots=True)
class LinkRecord:
    """``target`` names a memory by its id or its external id, in the file or already stored."""

    type: str
    target: str
    created_at: datetime | None = None
    created_by: str = ""


@dataclass(frozen=True, slots=True)
class ReinforcementRecord:
    multiplier: float
    useful: float = 0
    misled: float = 0
    promoted: bool = False
    computed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class SignalRecord:
    at: datetime
    source: str
    session: str = ""
    user: str = ""
    useful: bool = False
    misled: bool = False
    confidence: float = 1.0
    relevant: bool | None = None


@dataclass(frozen=True, slots=True)
class CheckRecord:
    """A line of the ledger of checks."""

    at: datetime
    verdict: str
    method: str
    user: str = ""
    actor: str = ""
    source: str = ""
    note: str = ""
    confidence: float | None = None
    model: str = ""


@dataclass(frozen=True, slots=True)
class AnchorRecord:
    """Code that a memory is about, to be read where the memory arrives. An anchor as it was set travels as a row."""

    repository: str
    path: str
    symbol: str = ""
    code: str = ""


@dataclass(frozen=True, slots=True)
class MemoryRecord:
    content: str
    kind: str = "fact"
    scope: str = ""
    created_at: datetime | None = None
    id: UUID | None = None
    external_id: str = ""
    provenance: int | None = None
    author_kind: str | None = None
    author: str | None = None
    agent: str = ""
    session: str = ""
    source: str = ""
    verbatim: str = ""
    recorded_at: datetime | None = None
    updated_at: datetime | None = None
    newest_source_at: datetime | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    version: int | None = None
    state: str | None = None
    invalidated_at: datetime | None = None
    invalidated_by: str = ""
    invalidated_actor: str = ""
    invalidation_reason: str = ""
    superseded_by: str = ""
    pinned: bool = False
    accessed_at: datetime | None = None
    access_count: int | None = None
    weight: float | None = None
    confidence: str = ""
    archived_at: datetime | None = None
    idempotency_key: str = ""
    entities: tuple[EntityRecord, ...] = ()
    links: tuple[LinkRecord, ...] = ()
    anchors: tuple[AnchorRecord, ...] = ()
    reinforcement: ReinforcementRecord | None = None
    signals: tuple[SignalRecord, ...] = ()
    checks: tuple[CheckRecord, ...] = ()
    line: Place | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class ScopeRecord:
    scope: str
    name: str = ""
    retention: str = "ageing"
    created_at: datetime | None = None
    line: Place | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class AliasRecord:
    """Two words that stand for each other, as another product has them. Natively they travel as rows."""

    term: str
    alias: str
    scope: str = ""
    id: UUID | None = None
    created_at: datetime | None = None
    line: Place | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class CarriedRecord:
    """A row of a table that travels beside the memories: its ``type`` is the table's name, ``row`` its columns."""

    type: str
    row: Mapping[str, Any]
    line: Place | None = field(default=None, compare=False)


type Record = MemoryRecord | ScopeRecord | CarriedRecord | AliasRecord


@dataclass(frozen=True, slots=True)
class Counts:
    """What a file announces about itself, so that one that was cut off is noticed. ``embedder`` made its vectors."""

    memories: int
    embedder: str = ""


type Skipped = Mapping[str, int]
"""Why something was left out by intent, and how often."""
