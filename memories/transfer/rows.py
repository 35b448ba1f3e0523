"""Records into rows, a batch at a time."""

import dataclasses
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.utils import timezone

from memories import windows
from memories.access import Actor
from memories.entities import canonical_name
from memories.models import Entity, Memory, MemoryEntity, Provenance, Reinforcement, UsageEvent, User, Verification
from memories.models.memory import AuthorKind, content_hash, new_id
from memories.retention import known_confidence
from memories.transfer.fields import written
from memories.transfer.records import CheckRecord, MemoryRecord, SignalRecord

UNNAMED: Final = "unnamed"  # whoever made a check that a file attributes to nobody

type Row = tuple[MemoryRecord, Memory]


class People:
    """Accounts by name. Who has none here is counted, and the row then names nobody."""

    def __init__(self) -> None:
        self.unknown: Counter[str] = Counter()
        self._known: dict[str, User | None] = {"": None}

    def called(self, username: str) -> User | None:
        if username not in self._known:
            self._known[username] = User.objects.filter(username=username).first()
        found = self._known[username]
        self.unknown[username] += found is None and bool(username)
        return found


def humbled(record: MemoryRecord, actor: Actor) -> MemoryRecord:
    """What somebody may say who only sends a file: no rank, track record or signature of anybody else."""
    return dataclasses.replace(
        record,
        author=actor.user.get_username(),
        author_kind=AuthorKind.IMPORT,
        provenance=min(record.provenance if record.provenance is not None else 1, Provenance.AGENT),
        recorded_at=None,
        invalidated_by=actor.user.get_username() if record.invalidated_at else "",
        invalidated_actor="",
        links=tuple(dataclasses.replace(link, created_by=actor.label[:200]) for link in record.links),
        reinforcement=None,
        signals=(),
        checks=(),
    )


def derived_identity(record: MemoryRecord) -> str:
    """The same line has the same identity, so that a file without ids can be imported again."""
    values = dataclasses.asdict(record) | {"line": None}
    for field in ("anchors", "confidence", "archived_at"):
        if not values[field]:
            del values[field]  # lines had an identity before they could say it
    told = json.dumps(values, sort_keys=True, default=written)
    return "line:" + hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:40]


def build(
    record: MemoryRecord, *, id: UUID | None, external_id: str, scope_id: int, actor: Actor, people: People
) -> Memory:
    """The row, without its successor: that may stand further down."""
    now = timezone.now()
    author_kind = record.author_kind or AuthorKind.IMPORT
    default_rank = Provenance.HUMAN if author_kind == AuthorKind.HUMAN else Provenance.AGENT
    retired_at = record.invalidated_at or (now if record.state == "invalidated" else None)
    return Memory(
        id=id or new_id(),
        scope_id=scope_id,
        kind=record.kind,
        content=record.content,
        content_sha256=content_hash(record.content),
        provenance=default_rank if record.provenance is None else record.provenance,
        author_kind=author_kind,
        author=actor.user if record.author is None else people.called(record.author),
        agent=record.agent,
        session=record.session,
        source=record.source,
        verbatim=record.verbatim,
        created_at=record.created_at or now,
        updated_at=record.updated_at or now,
        newest_source_at=record.newest_source_at,
        valid_from=record.valid_from,
        valid_until=record.valid_until,
        version=record.version or 1,
        invalidated_at=retired_at,
        invalidated_by=people.called(record.invalidated_by) if retired_at else None,
        invalidated_actor=(record.invalidated_actor or actor.label[:200]) if retired_at else "",
        invalidation_reason=record.invalidation_reason,
        pinned=record.pinned,
        accessed_at=record.accessed_at or now,
        access_count=record.access_count or 0,
        weight=1.0 if record.weight is None else record.weight,
        confidence=known_confidence(record.confidence),
        archived_at=record.archived_at if retired_at else None,
        external_id=external_id,
        idempotency_key=record.idempotency_key,
    )


def insert(rows: Sequence[Row], people: People) -> int:
    """Write the memories with windows, entities and evidence; how many the database then holds."""
    memories = [memory for _, memory in rows]
    Memory.objects.bulk_create(memories)
    keep_dates(Memory, memories, "recorded_at", [record.recorded_at for record, _ in rows])
    windows.write_windows(*memories)
    _insert_entities(rows)
    _insert_evidence(rows, people)
    return Memory.objects.filter(pk__in=[memory.pk for memory in memories]).count()


def keep_dates(model: Any, rows: Iterable[Any], field: str, dates: Iterable[datetime | None]) -> None:
    """Put back dates that the row's own clock has overwritten while it was inserted."""
    given = [(row, date) for row, date in zip(rows, dates, strict=True) if date]
    for row, date in given:
        setattr(row, field, date)
    model.objects.bulk_update([row for row, _ in given], [field], batch_size=500)


def _insert_entities(rows: Sequence[Row]) -> None:
    names = {
        (memory.scope_id, canonical_name(entity.name), entity.type): entity.name
        for record, memory in reversed(rows)
        for entity in reversed(record.entities)
    }
    if not names:
        return
    # Sorted, so that two writers naming the same new entities wait for each other instead of deadlocking.
    fresh = [
        Entity(scope_id=scope, canonical=canonical, type=type, name=names[scope, canonical, type])
        for scope, canonical, type in sorted(names)
    ]
    Entity.objects.bulk_create(fresh, ignore_conflicts=True)
    scopes, canonicals = {key[0] for key in names}, {key[1] for key in names}
    found = Entity.objects.filter(scope_id__in=scopes, canonical__in=canonicals)
    known = {(entity.scope_id, entity.canonical, entity.type): entity.pk for entity in found}
    ties = {
        (memory.pk, known[memory.scope_id, canonical_name(entity.name), entity.type]): bool(entity.recognised)
        for record, memory in rows
        for entity in record.entities
    }
    MemoryEntity.objects.bulk_create(
        MemoryEntity(memory_id=memory, entity_id=entity, recognised=recognised)
        for (memory, entity), recognised in ties.items()
    )


def _insert_evidence(rows: Sequence[Row], people: People) -> None:
    _insert_multipliers(rows)
    UsageEvent.objects.bulk_create(
        _event(signal, memory, people) for record, memory in rows for signal in record.signals
    )
    Verification.objects.bulk_create(
        _check(check, memory, people) for record, memory in rows for check in record.checks
    )


def _insert_multipliers(rows: Sequence[Row]) -> None:
    told = [(record.reinforcement, memory) for record, memory in rows if record.reinforcement]
    multipliers = [
        Reinforcement(
            memory_id=memory.pk,
            multiplier=given.multiplier,
            useful=given.useful,
            misled=given.misled,
            promoted=given.promoted,
        )
        for given, memory in told
    ]
    Reinforcement.objects.bulk_create(multipliers)
    keep_dates(Reinforcement, multipliers, "computed_at", [given.computed_at for given, _ in told])


def _event(signal: SignalRecord, memory: Memory, people: People) -> UsageEvent:
    return UsageEvent(
        memory_id=memory.pk,
        at=signal.at,
        source=signal.source,
        session=signal.session,
        user=people.called(signal.user),
        useful=signal.useful,
        misled=signal.misled,
        confidence=signal.confidence,
        relevant=signal.relevant,
    )


def _check(check: CheckRecord, memory: Memory, people: People) -> Verification:
    return Verification(
        memory_id=memory.pk,
        at=check.at,
        verdict=check.verdict,
        method=check.method,
        user=people.called(check.user),
        actor=check.actor or check.user or UNNAMED,
        source=check.source,
        note=check.note,
        confidence=check.confidence,
        model=check.model,
    )
