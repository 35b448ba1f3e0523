"""What a record may say: the rules of ``remember`` for what it knows, and the same spirit for the rest of a row."""

from collections.abc import Iterator
from datetime import datetime
from itertools import batched

from memories.entities import EntitySpec
from memories.errors import ValidationFailed, ZeroMemoryError
from memories.models import Scope, UsageEvent, Verification
from memories.services import validation
from memories.services.validation import MOST_LINKS, Draft, LinkSpec
from memories.transfer.errors import Faults, TransferError
from memories.transfer.records import MemoryRecord, ScopeRecord

STATES = ("live", "superseded", "invalidated")


def check(record: MemoryRecord) -> None:
    """Raises TransferError naming the line and the field, or Mistakes."""
    faults = Faults()
    faults.tried(_check_as_written, record)
    faults.found += [TransferError(problem, line=record.line, field=field) for field, problem in _problems(record)]
    faults.settle()


def _check_as_written(record: MemoryRecord) -> None:
    try:
        validation.check_draft(_draft(record))
        # A memory gathers links from others, so one may have more of them than a single write takes.
        for links in batched(_links(record), MOST_LINKS):
            validation.check_links(links)
        for field, moment in _past_moments(record):
            validation.check_learned(moment, field)
        for field, text, longest in _short_texts(record):
            _check_length(text, longest, field)
    except ZeroMemoryError as error:
        raise TransferError(error.message, line=record.line, field=error.field) from error


def check_scope(record: ScopeRecord) -> None:
    try:
        _check_length(record.scope, 300, "scope")
        _check_length(record.name, 120, "name")
        validation.check_choice(record.retention, Scope.Retention.values, "retention")
    except ZeroMemoryError as error:
        raise TransferError(error.message, line=record.line, field=error.field) from error


def _draft(record: MemoryRecord) -> Draft:
    return Draft(
        content=record.content,
        kind=record.kind,
        entities=[EntitySpec(entity.name, entity.type) for entity in record.entities],
        source=record.source,
        verbatim=record.verbatim,
        session=record.session,
        created_at=record.created_at,
        valid_from=record.valid_from,
        valid_until=record.valid_until,
        newest_source_at=record.newest_source_at,
        idempotency_key=record.idempotency_key,
        external_id=record.external_id,
        author_kind=record.author_kind,
        provenance=record.provenance,
    )


def _links(record: MemoryRecord) -> Iterator[LinkSpec]:
    return (LinkSpec(link.type, link.target) for link in record.links)


def _past_moments(record: MemoryRecord) -> Iterator[tuple[str, datetime | None]]:
    for field in ("recorded_at", "updated_at", "accessed_at", "invalidated_at", "archived_at"):
        yield field, getattr(record, field)
    for link in record.links:
        yield "links", link.created_at
    for signal in record.signals:
        yield "signals", signal.at
    for look in record.checks:
        yield "checks", look.at
    if record.reinforcement:
        yield "reinforcement", record.reinforcement.computed_at


def _short_texts(record: MemoryRecord) -> Iterator[tuple[str, str, int]]:
    yield "scope", record.scope, 300
    yield "author", record.author or "", 150
    yield "agent", record.agent, 120
    yield "superseded_by", record.superseded_by, 300
    yield "invalidated_by", record.invalidated_by, 150
    yield "invalidated_actor", record.invalidated_actor, 200
    yield "invalidation_reason", record.invalidation_reason, 2000
    for link in record.links:
        yield "links", link.created_by, 200
        yield "links", link.target, 300
    for signal in record.signals:
        yield "signals", signal.session, 120
        yield "signals", signal.user, 150
    for look in record.checks:
        yield "checks", look.user, 150
        yield "checks", look.actor, 200
        yield "checks", look.source, 2000
        yield "checks", look.note, 2000
        yield "checks", look.model, 200


def _check_length(text: str, longest: int, field: str) -> None:
    validation.check_storable(text, field)
    if len(text) > longest:
        raise ValidationFailed(f"may have at most {longest} characters.", field=field)


def _problems(record: MemoryRecord) -> Iterator[tuple[str, str]]:
    if record.weight is not None and not 0 <= record.weight <= 1:
        yield "weight", "must be a number from 0 to 1."
    if record.version == 0:
        yield "version", "starts at 1."
    if any(not link.target for link in record.links):
        yield "links", "need a target: the id or the external id of a memory."
    yield from _state_problems(record)
    yield from _evidence_problems(record)


def _state_problems(record: MemoryRecord) -> Iterator[tuple[str, str]]:
    retired = bool(record.invalidated_at or record.superseded_by)
    if record.state not in (None, *STATES):
        yield "state", f"must be one of {', '.join(STATES)}."
    if record.state == "live" and retired:
        yield "state", "cannot be live with invalidated_at or superseded_by. Leave them out, or correct the state."
    if record.archived_at and not (retired or record.state == "invalidated"):
        yield "archived_at", "is of what left its scope: say when that was in invalidated_at, or leave it out."
    if record.state == "superseded" and not record.superseded_by:
        yield "superseded_by", "is missing: a superseded memory names its successor."
    if record.state == "invalidated" and record.superseded_by:
        yield "state", "must be superseded when superseded_by names a successor."


def _evidence_problems(record: MemoryRecord) -> Iterator[tuple[str, str]]:
    found = record.reinforcement
    if found and not (0 < found.multiplier <= 2 and found.useful >= 0 and found.misled >= 0):
        yield "reinforcement", "needs a multiplier above 0 and at most 2, and sums that are not negative."
    for signal in record.signals:
        if signal.source not in UsageEvent.Source.values:
            yield "signals", f"need a source that is one of {', '.join(UsageEvent.Source.values)}."
        if signal.useful and signal.misled:
            yield "signals", "cannot be useful and misleading at once."
        if signal.relevant is not None and signal.source != UsageEvent.Source.JUDGE:
            yield "signals", "say whether a memory was relevant only of a judge."
        if not 0 <= signal.confidence <= 1:
            yield "signals", "need a confidence from 0 to 1."
    for look in record.checks:
        if look.verdict not in Verification.Verdict.values:
            yield "checks", f"need a verdict that is one of {', '.join(Verification.Verdict.values)}."
        if look.method not in Verification.Method.values:
            yield "checks", f"need a method that is one of {', '.join(Verification.Method.values)}."
        if look.confidence is not None and not 0 <= look.confidence <= 1:
            yield "checks", "need a confidence from 0 to 1, or none."
