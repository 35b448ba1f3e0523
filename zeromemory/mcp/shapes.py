"""What tools give back where REST has no answer of the same shape."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel

from insights.queries import Ageing
from insights.recall_quality import RecallQuality
from memories.api.shapes import MemoryWhole


class LinkMade(BaseModel):
    source: UUID
    target: UUID
    type: str


class MemoryRead(MemoryWhole):
    """``length`` counts the characters of the whole text; ``next_start`` is null at its end."""

    length: int
    next_start: int | None


class Retired(BaseModel):
    id: UUID
    state: str
    kind: str
    scope: str
    headline: str


class Used(BaseModel):
    """``useful`` and ``misled`` are the sums of evidence behind the multiplier."""

    id: UUID
    multiplier: float
    useful: float
    misled: float


class Pair(BaseModel):
    term: str
    alias: str


class AliasTold(Pair):
    id: UUID
    scope: str
    retired: bool


class Retention(BaseModel):
    """How a decaying scope stands. ``last_cycle`` is null where it never had one: then nothing has lost weight yet."""

    all: int
    tombstones: int
    archived: int
    average_weight: float | None
    recalls: int
    half_life_hours: float
    threshold: int
    last_cycle: datetime | None
    would_leave: int


class Started(BaseModel):
    """``started`` is false where the cycle was dropped; ``message`` says why."""

    scope: str
    started: bool
    message: str


class ScopeTold(BaseModel):
    """``scopes`` names all that can be read, ``writable`` those that can be written to; ``writes_here`` says whether
    this one can. Of several scopes together ``scope``, ``name`` and ``policy`` are null, and ``retention`` of all but
    a scope that decays."""

    scope: str | None
    name: str | None
    policy: str | None
    writes_here: bool
    live: int
    by_kind: dict[str, int]
    open_loops: int
    waiting_disputes: int
    rules_delivered: int
    aliases: list[Pair]
    retention: Retention | None
    scopes: list[str]
    writable: list[str]


class Proposed(BaseModel):
    rule_id: UUID
    state: str
    text: str


class Metrics(BaseModel):
    ageing: Ageing
    recall: RecallQuality


class Imported(BaseModel):
    read: int
    written: int
    existing: int
    links: int
    differing: list[str]
    notes: dict[str, int]
    scopes: list[str]
    dry_run: bool


class Written(BaseModel):
    id: UUID
    kind: str
    scope: str
    state: str
    headline: str
    created_at: datetime


class Receipt(BaseModel):
    """What a session left: ``unreported`` was given to it and nothing was said of it."""

    session: str
    recalls: int
    briefings: int
    written: list[Written]
    given: list[UUID]
    useful: list[UUID]
    misled: list[UUID]
    unreported: list[UUID]
