"""Export: every memory of the chosen scopes, in a fixed order, counted before and after."""

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from django.db import connection, transaction
from django.db.models import Model, Prefetch, QuerySet

from memories.embedder_in_use import newest_change
from memories.models import Alias, Link, Memory, MemoryEntity, Scope, UsageEvent, Verification
from memories.presentation import scope_names
from memories.transfer import departing
from memories.transfer.contract import Format
from memories.transfer.errors import TransferError
from memories.transfer.records import (
    AliasRecord,
    CheckRecord,
    Counts,
    EntityRecord,
    LinkRecord,
    MemoryRecord,
    Record,
    ReinforcementRecord,
    ScopeRecord,
    SignalRecord,
)

BATCH = 250


@dataclass(slots=True)
class Export:
    """Filled while ``export_to`` runs; complete when its iterator has ended."""

    written: int = 0
    carried: Counter[str] = field(default_factory=Counter)  # rows about memories, by the name of their table
    left_out: Counter[str] = field(default_factory=Counter)


def export_to(
    format: Format, scopes: Sequence[Scope], export: Export | None = None, *, whole: bool = False
) -> Generator[bytes]:
    """The file's bytes, piece by piece: the same database gives the same bytes.

    What is kept about the memories comes with them; with *whole*, the configuration too. The caller has checked that
    the scopes may be read. Raises TransferError when fewer memories came out than counted.
    """
    yield from _exported(format, format.write, scopes, export or Export(), whole=whole)


def export_files(
    format: Format, scopes: Sequence[Scope], export: Export | None = None, *, whole: bool = False
) -> Generator[tuple[str, bytes]]:
    """The same as the files of a folder, each with its path in it."""
    yield from _exported(format, format.files, scopes, export or Export(), whole=whole)


def _exported[T](
    format: Format,
    write: Callable[[Iterable[Record], Counts], Iterable[T]],
    scopes: Sequence[Scope],
    export: Export,
    *,
    whole: bool,
) -> Generator[T]:
    with _one_moment():
        memories = Memory.objects.in_scopes([scope.pk for scope in scopes])
        counted = memories.count()
        records = _records(format, memories, scopes, export, whole=whole)
        yield from write(records, Counts(memories=counted, embedder=_embedder() if whole else ""))
        if export.written != counted:
            raise TransferError(f"{counted} memories were counted and {export.written} exported. Try again.")


@contextmanager
def _one_moment() -> Iterator[None]:
    """All queries see the same state, however long the export takes."""
    if connection.in_atomic_block:
        yield
        return
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield


def _embedder() -> str:
    change = newest_change()
    return change.answering_stamp if change else ""


def _records(
    format: Format, memories: QuerySet[Memory], scopes: Sequence[Scope], export: Export, *, whole: bool
) -> Iterator[Record]:
    """The memories last: a file that was cut off has fewer of them than it announces."""
    names = scope_names(scopes)
    if format.carries:
        yield from _beside(names, scopes, export, whole=whole)
    else:
        yield from _aliases(names, export) if format.holds_aliases else ()
        _leave_out(names, export, but=Alias if format.holds_aliases else None)
    for memory in _with_all(memories).iterator(chunk_size=BATCH):
        yield _record(memory, names, export)
        export.written += 1


def _beside(names: dict[int, str], scopes: Sequence[Scope], export: Export, *, whole: bool) -> Iterator[Record]:
    for scope in sorted(scopes, key=lambda scope: names[scope.pk]):
        yield ScopeRecord(names[scope.pk], scope.name, scope.retention, scope.created_at)
    if whole:
        yield from departing.configuration()
    for record in departing.about_memories(names, export.left_out):
        yield record
        export.carried[record.type] += 1


def _aliases(names: dict[int, str], export: Export) -> Iterator[AliasRecord]:
    for alias in Alias.objects.filter(scope__in=names, retired_at=None).order_by("created_at", "pk"):
        yield AliasRecord(alias.term, alias.alias, names[alias.scope_id], alias.pk, alias.created_at)
        export.carried[Alias._meta.db_table] += 1


def _leave_out(names: dict[int, str], export: Export, *, but: type[Model] | None) -> None:
    for record in departing.about_memories(names, export.left_out):
        if but and record.type == but._meta.db_table:
            continue
        export.left_out[f"rows of {record.type}, which a file of jsonl holds alone"] += 1


def _with_all(memories: QuerySet[Memory]) -> QuerySet[Memory]:
    ties = MemoryEntity.objects.select_related("entity")
    links = Link.objects.select_related("target").defer("target__content", "target__verbatim")
    return (
        memories.select_related("author", "invalidated_by", "reinforcement", "superseded_by")
        .prefetch_related(
            Prefetch("memory_entities", ties.order_by("entity__type", "entity__canonical")),
            Prefetch("links_out", links.order_by("created_at", "type", "target_id")),
            Prefetch("verifications", Verification.objects.select_related("user").order_by("at", "pk")),
            Prefetch("usage_events", UsageEvent.objects.select_related("user").order_by("at", "pk")),
        )
        .defer("superseded_by__content", "superseded_by__verbatim")
        .order_by("created_at", "pk")
    )


def _record(memory: Memory, names: dict[int, str], export: Export) -> MemoryRecord:
    return MemoryRecord(
        id=memory.pk,
        external_id=memory.external_id,
        scope=names[memory.scope_id],
        kind=memory.kind,
        content=memory.content,
        provenance=memory.provenance,
        author_kind=memory.author_kind,
        author=memory.author.get_username() if memory.author else "",
        agent=memory.agent,
        session=memory.session,
        source=memory.source,
        verbatim=memory.verbatim,
        created_at=memory.created_at,
        recorded_at=memory.recorded_at,
        updated_at=memory.updated_at,
        newest_source_at=memory.newest_source_at,
        valid_from=memory.valid_from,
        valid_until=memory.valid_until,
        version=memory.version,
        state=_state(memory, names),
        invalidated_at=memory.invalidated_at,
        invalidated_by=memory.invalidated_by.get_username() if memory.invalidated_by else "",
        invalidated_actor=memory.invalidated_actor,
        invalidation_reason=memory.invalidation_reason,
        superseded_by=_successor(memory, names, export),
        pinned=memory.pinned,
        accessed_at=memory.accessed_at,
        access_count=memory.access_count,
        weight=memory.weight,
        confidence=memory.confidence,
        archived_at=memory.archived_at,
        idempotency_key=memory.idempotency_key,
        entities=tuple(
            EntityRecord(tie.entity.name, tie.entity.type, tie.recognised or None)
            for tie in memory.memory_entities.all()
        ),
        links=_links(memory, names, export),
        reinforcement=_reinforcement(memory),
        signals=tuple(_signal(event) for event in memory.usage_events.all()),
        checks=tuple(_check(check) for check in memory.verifications.all()),
    )


def _state(memory: Memory, names: dict[int, str]) -> str:
    """As stored: whether a validity window has lapsed depends on the day, and the bytes must not."""
    if memory.superseded_by and memory.superseded_by.scope_id in names:
        return "superseded"
    return "invalidated" if memory.invalidated_at else "live"


def _successor(memory: Memory, names: dict[int, str], export: Export) -> str:
    if memory.superseded_by is None:
        return ""
    if memory.superseded_by.scope_id not in names:
        export.left_out["successors in scopes that are not exported"] += 1
        return ""
    return str(memory.superseded_by_id)


def _links(memory: Memory, names: dict[int, str], export: Export) -> tuple[LinkRecord, ...]:
    links = memory.links_out.all()
    inside = [link for link in links if link.target.scope_id in names]
    if len(inside) < len(links):
        export.left_out["links to scopes that are not exported"] += len(links) - len(inside)
    return tuple(LinkRecord(link.type, str(link.target_id), link.created_at, link.created_by) for link in inside)


def _reinforcement(memory: Memory) -> ReinforcementRecord | None:
    found = getattr(memory, "reinforcement", None)
    if found is None:
        return None
    return ReinforcementRecord(found.multiplier, found.useful, found.misled, found.promoted, found.computed_at)


def _signal(event: UsageEvent) -> SignalRecord:
    return SignalRecord(
        at=event.at,
        source=event.source,
        session=event.session,
        user=event.user.get_username() if event.user else "",
        useful=event.useful,
        misled=event.misled,
        confidence=event.confidence,
        relevant=event.relevant,
    )


def _check(check: Verification) -> CheckRecord:
    return CheckRecord(
        at=check.at,
        verdict=check.verdict,
        method=check.method,
        user=check.user.get_username() if check.user else "",
        actor=check.actor,
        source=check.source,
        note=check.note,
        confidence=check.confidence,
        model=check.model,
    )
