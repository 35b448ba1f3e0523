"""Import: all or nothing, once, and counted."""

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils import timezone

from memories import growth
from memories.access import Actor
from memories.embedder_in_use import newest_change
from memories.errors import ValidationFailed
from memories.models import Memory, Scope
from memories.models.memory import content_hash
from memories.services import audit
from memories.services.anchors import attach, check_anchors, read_anchors
from memories.services.reinforcement import set_promoted
from memories.services.validation import AnchorSpec
from memories.services.writing import writing
from memories.tasks import embed_pending
from memories.transfer.aliases_arriving import Aliases
from memories.transfer.arriving import Arrivals
from memories.transfer.carried import called, ruled_among
from memories.transfer.checks import check
from memories.transfer.contract import Format
from memories.transfer.destinations import Destinations
from memories.transfer.errors import Faults, TransferError, told
from memories.transfer.records import AliasRecord, CarriedRecord, MemoryRecord, Record, ScopeRecord
from memories.transfer.references import References
from memories.transfer.rows import People, Row, build, derived_identity, humbled, insert
from memories.transfer.settings_arriving import Settings
from memories.transfer.stored import Stored, StoredMemory, is_nameless

BATCH_MEMORIES = 250
BATCH_CHARACTERS = 4_000_000

type Progress = Callable[[int], None]
"""Called after each batch with the number of memories read so far."""

type Wrote = Callable[[Sequence[UUID]], None]
"""Called with the ids of the new memories of each batch, in the transaction that writes them."""


@dataclass(frozen=True, slots=True)
class Report:
    """``read`` = ``written`` + ``existing``. ``differing``: where what is read says otherwise than what is stored."""

    read: int
    written: int
    existing: int
    links: int
    differing: tuple[str, ...] = ()
    skipped: Mapping[str, int] = field(default_factory=dict)
    notes: Mapping[str, int] = field(default_factory=dict)
    carried: Mapping[str, int] = field(default_factory=dict)  # rows about memories, by the name of their table
    scopes: tuple[str, ...] = ()
    created_scopes: tuple[str, ...] = ()
    kinds: Mapping[str, int] = field(default_factory=dict)  # of the new memories
    dry_run: bool = False


def import_from(
    format: Format,
    source: Any,
    *,
    actor: Actor,
    scope: Scope | str | None = None,
    create_scopes: bool = False,
    trusted: bool = False,
    dry_run: bool = False,
    progress: Progress | None = None,
    wrote: Wrote | None = None,
) -> Report:
    """Read *source* and write its memories in one transaction; raises TransferError, and then nothing was written.

    What is stored already is left as it is. All goes into *scope*, or else into the scope each record names.
    *trusted* is an operator's restore: it keeps who wrote, approved and retired what, and the track records. Without
    it everything is the importer's own, at the rank of an import.
    """
    format.faults = faults = Faults()
    try:
        with writing():
            work = _Import(Destinations(actor, only=scope, create=create_scopes), faults, trusted=trusted, wrote=wrote)
            for batch in _batches(format.read(source)):
                work.take(batch)
                if progress:
                    progress(work.read)
            faults.settle()
            report = work.finish(format, dry_run=dry_run)
            growth.tell_of(work.written)
            if dry_run:
                transaction.set_rollback(True)
    except IntegrityError as error:
        raise TransferError(
            f"Somebody wrote one of these memories at the same moment, so nothing was imported ({error}). Try again."
        ) from error
    return report


def _batches(records: Iterable[Record]) -> Iterator[list[Record]]:
    batch: list[Record] = []
    size = 0
    for record in records:
        batch.append(record)
        size += len(record.content) + len(record.verbatim) if isinstance(record, MemoryRecord) else 0
        if len(batch) == BATCH_MEMORIES or size > BATCH_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


class _Import:
    def __init__(self, destinations: Destinations, faults: Faults, *, trusted: bool, wrote: Wrote | None) -> None:
        self.destinations = destinations
        self.faults = faults
        self.wrote = wrote
        self.trusted = trusted
        self.people = People()
        self.references = References()
        self.arrivals = Arrivals(destinations, self.references, self.people)
        self.settings = Settings(destinations.actor, self.people)
        self.aliases = Aliases(destinations)
        self.notes: Counter[str] = Counter()
        self.promoted: list[UUID] = []
        self.read = self.existing = 0
        self.written: Counter[int] = Counter()
        self.kinds: Counter[str] = Counter()
        self.differing: list[str] = []

    def take(self, batch: Sequence[Record]) -> None:
        records = [record for record in batch if isinstance(record, MemoryRecord)]
        for record in batch:
            self._put_by(record)
        placed = [found for record in records if (found := self.faults.tried(self._placed, record))]
        self.read += len(records)
        if self.faults.found:
            return  # nothing will be written; what follows is read for its mistakes
        stored = Stored(placed)
        rows = [row for record, scope_id in placed if (row := self._new(record, scope_id, stored))]
        if rows and insert(rows, self.people) != len(rows):
            raise TransferError("The database did not keep every memory of a batch. Nothing was imported.")
        if rows and not self.written:
            embed_pending.apply_async_on_commit(retry=False)
        self._count([memory for _, memory in rows])
        for record, memory in rows:
            self.references.wait(record, memory)
            if record.reinforcement and record.reinforcement.promoted:
                self.promoted.append(memory.pk)
            if record.anchors:
                self._anchor(record, memory)

    def _anchor(self, record: MemoryRecord, memory: Memory) -> None:
        """What cannot be read here costs the anchor and not the memory."""
        specs = [AnchorSpec(each.repository, each.path, each.symbol, each.code) for each in record.anchors]
        try:
            check_anchors(specs)
            found = read_anchors(memory.scope, specs).anchors
        except ValidationFailed:
            found = ()
        attach(actor=self.destinations.actor, memory=memory, anchors=found)
        self.notes["anchors whose code could not be read here"] += len(specs) - len(found)

    def _count(self, memories: Sequence[Memory]) -> None:
        self.written.update(memory.scope_id for memory in memories)
        self.kinds.update(memory.kind for memory in memories)
        if memories and self.wrote:
            self.wrote([memory.pk for memory in memories])

    def _put_by(self, record: Record) -> None:
        """What is no memory waits until they are there."""
        if isinstance(record, ScopeRecord):
            self.destinations.declare(record)
        elif isinstance(record, AliasRecord):
            self.aliases.wait(record)
        elif isinstance(record, CarriedRecord):
            table = called(record.type)
            assert table  # the format has read it by its table
            if not self.trusted:
                self.notes[f"{table.plural}: an operator's import alone restores them"] += 1
            elif table.is_configuration:
                self.settings.wait(record)
            else:
                self.arrivals.wait(record)

    def _placed(self, record: MemoryRecord) -> tuple[MemoryRecord, int]:
        """The record as this import may write it, and the id of its scope."""
        check(record)
        allowed = record if self.trusted else humbled(record, self.destinations.actor)
        return allowed, self.destinations.of(record).pk

    def _new(self, record: MemoryRecord, scope_id: int, stored: Stored) -> Row | None:
        """The row to write, or None when it is there already."""
        if is_nameless(record):
            nameless, record = record, dataclasses.replace(record, external_id=derived_identity(record))
            if self.references.knows(record.external_id, scope_id) or stored.twin_of(nameless, scope_id):
                self.existing += 1
                return None
        self.references.claim(record, scope_id)
        if found := stored.of(record, scope_id):
            self._keep(record, found)
            return None
        stored.refuse_used_key(record, scope_id)
        taken = stored.is_taken(record.id)
        memory = build(
            record,
            id=None if taken else record.id,
            external_id=record.external_id or (str(record.id) if taken else ""),
            scope_id=scope_id,
            actor=self.destinations.actor,
            people=self.people,
        )
        self.references.stands_for(record, memory.pk, scope_id)
        return record, memory

    def _keep(self, record: MemoryRecord, found: StoredMemory) -> None:
        self.existing += 1
        self.references.stands_for(record, found.pk, found.scope_id)
        if differs := _differences(record, found):
            self.differing.append(f"{told(record.line)}: {', '.join(differs)}" if record.line else record.external_id)

    def finish(self, format: Format, *, dry_run: bool) -> Report:
        written = self.written.total()
        if written + self.existing != self.read:
            raise TransferError(
                f"{self.read} memories were read, {written} written and {self.existing} found: that does not add up. "
                "Nothing was imported."
            )
        actor = self.destinations.actor
        links = self.references.settle(actor)
        self.settings.settle()
        self.arrivals.settle()
        self.aliases.settle(self.arrivals.written)
        self._demote()
        self._compare_embedder(format.embedder)
        for scope in self.destinations.scopes:
            self._record(scope, format.name, links)
        return Report(
            read=self.read,
            written=written,
            existing=self.existing,
            links=links,
            differing=tuple(self.differing),
            skipped=dict(+format.skipped),
            notes=dict(format.notes + self.notes + self._notes_of_parts()),
            carried=dict(sum(self.arrivals.written.values(), Counter())),
            scopes=tuple(scope.slug for scope in self.destinations.scopes),
            created_scopes=tuple(scope.slug for scope in self.destinations.created),
            kinds=dict(self.kinds),
            dry_run=dry_run,
        )

    def _notes_of_parts(self) -> Counter[str]:
        return self.settings.notes + self.arrivals.notes + self.aliases.notes + self._unknown_people()

    def _record(self, scope: Scope, format: str, links: int) -> None:
        written, carried = self.written[scope.pk], self.arrivals.written[scope.pk]
        detail: dict[str, Any] = {"carried": dict(carried)} if carried else {}
        if written or links or carried:
            actor = self.destinations.actor
            audit.record(
                actor=actor, action="import", subject=scope, scope=scope, format=format, written=written, **detail
            )

    def _compare_embedder(self, theirs: str) -> None:
        change = newest_change()
        if theirs and change and change.answering_stamp != theirs:
            self.notes[f"change of the embedder: {theirs} there, {change.answering_stamp or 'none'} here"] = 1

    def _demote(self) -> None:
        """A memory ranks as a rule only where the rule is there, to be revoked."""
        alone = set(self.promoted) - ruled_among(self.promoted)
        for memory in Memory.objects.filter(pk__in=alone):
            set_promoted(memory=memory, promoted=False, now=timezone.now())
        self.notes["memories said to be rules, without the rule: they rank by what was said of them"] = len(alone)

    def _unknown_people(self) -> Counter[str]:
        people = self.people.unknown.items()
        return Counter({f"mentions of {name!a}, who has no account here": times for name, times in people if times})


def _differences(record: MemoryRecord, found: StoredMemory) -> list[str]:
    retired = bool(record.invalidated_at or record.superseded_by or record.state == "invalidated")
    same = {
        "content": content_hash(record.content) == found.content_sha256,
        "kind": record.kind == found.kind,
        # A line that does not speak of its state leaves it open: a later one may have superseded it.
        "state": retired == found.retired or not (retired or record.state),
    }
    return [name for name, holds in same.items() if not holds]
