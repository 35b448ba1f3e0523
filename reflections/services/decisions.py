"""What a person decides about a draft. Each decision is one transaction on a locked row, with its audit entry."""

import uuid
from datetime import datetime, timedelta
from typing import Final

from django.utils import timezone

from memories.access import Actor, require_write
from memories.entities import EntitySpec
from memories.errors import Conflict, Forbidden, NotFound, ValidationFailed
from memories.models import Link, Memory, Provenance
from memories.models.memory import AuthorKind, content_hash
from memories.services.audit import record
from memories.services.lifecycle import forget
from memories.services.remember import Remembered, remember
from memories.services.validation import MOST_ENTITIES, LinkSpec, check_line
from memories.services.writing import writing
from reflections import configuration
from reflections.models import Candidate
from reflections.models.candidates import sources_of
from reflections.services.summary_sources import give_back, retire_sources
from reflections.shared import shared_entities
from reflections.summary import confidence_of
from reflections.wording import already_decided, day

KINDS: Final = ("fact", "convention")
LONGEST_SNOOZE: Final = timedelta(days=366)
State = Candidate.State


def approve(
    *,
    actor: Actor,
    candidate: Candidate,
    version: int,
    content: str | None = None,
    kind: str | None = None,
    shown: str | None = None,
) -> Memory:
    """Write the draft, or the *content* a person made of it, as one memory derived from every source.

    *shown* is the SHA-256 of the draft on the screen: another text than that is not approved unseen.
    The sources are not touched, but for those of a summary, which are retired in its favour. Raises Forbidden,
    ValidationFailed, or Conflict when somebody decided already, a sentence of an unedited draft rests on a source that
    is gone, or a live memory says exactly this.
    """
    with writing():
        row = _open_row(actor, candidate, version)
        if shown is not None and shown != content_hash(row.draft):
            raise Conflict(already_decided(row))
        text, kind = _text(row, content), _kind(row, kind)
        memory = _written(actor, row, text, kind)
        if row.is_summary:
            retire_sources(actor=actor, candidate=row, memory=memory)
        row.memory, row.kind = memory, kind
        _decide(row, State.APPROVED, actor)
        record(
            actor=actor,
            action="approve",
            subject=row,
            scope=row.scope,
            memory=str(memory.pk),
            edited=text != row.draft,
        )
    return memory


def dismiss(*, actor: Actor, candidate: Candidate, version: int, reason: str = "") -> Candidate:
    """Never to be proposed again: the episodes stay members of this candidacy."""
    reason = reason.strip()
    check_line(reason, "reason")
    with writing():
        row = _open_row(actor, candidate, version)
        _decide(row, State.DISMISSED, actor, reason=reason)
        record(actor=actor, action="dismiss", subject=row, scope=row.scope, reason=reason)
    return row


def snooze(*, actor: Actor, candidate: Candidate, version: int, until: datetime | None = None) -> Candidate:
    """Out of the queue until *until*, by default for the configured number of days; then pending again."""
    until = wake_date(until)
    with writing():
        row = _open_row(actor, candidate, version)
        _decide(row, State.SNOOZED, actor, snoozed_until=until)
        record(actor=actor, action="snooze", subject=row, scope=row.scope, until=until.isoformat())
    return row


def undo(*, actor: Actor, candidate: Candidate, version: int) -> Candidate:
    """Back to pending. The memory an approval wrote is forgotten, restorable like any other; what it had replaced as a
    summary is restored.

    Raises Conflict when there is nothing to undo, or when that memory was changed since.
    """
    with writing():
        row = _locked(actor, candidate, version)
        if row.is_open:
            raise Conflict("There is nothing to undo: this draft is waiting for a decision.")
        undone = row.state
        if row.memory:
            _take_back(actor, row, row.memory)
        _reopen(row)
        record(actor=actor, action="undo", subject=row, scope=row.scope, undone=undone)
    return row


def wake_due() -> int:
    """Make snoozed rows whose date has come pending; how many there were."""
    with writing():
        due = list(Candidate.objects.due().select_for_update(of=("self",), skip_locked=True).select_related("scope"))
        for row in due:
            row.state, row.snoozed_until, row.decided_by, row.decided_at = State.PENDING, None, None, None
            row.save(update_fields=["state", "snoozed_until", "decided_by", "decided_at"])
            record(actor=None, label="snooze sweep", action="wake", subject=row, scope=row.scope)
    return len(due)


def _locked(actor: Actor, candidate: Candidate, version: int) -> Candidate:
    """The row as it stands now, held until the end of the transaction."""
    if not actor.is_person:
        raise Forbidden("Only a signed-in person decides about drafts. Open Reflections in a browser.")
    rows = Candidate.objects.visible_to(actor).select_for_update(of=("self",)).select_related("scope")
    row = rows.filter(pk=candidate.pk).first()
    if row is None:
        raise NotFound("There is no such draft here. Check the address.")
    require_write(actor, row.scope_id)
    if row.version != version:
        raise Conflict(already_decided(row))
    return row


def _open_row(actor: Actor, candidate: Candidate, version: int) -> Candidate:
    row = _locked(actor, candidate, version)
    if not row.is_open:
        raise Conflict(already_decided(row))
    return row


def _decide(
    row: Candidate, state: str, actor: Actor, *, reason: str = "", snoozed_until: datetime | None = None
) -> None:
    row.state, row.reason, row.snoozed_until = state, reason, snoozed_until
    row.decided_by, row.decided_at = actor.user, timezone.now()
    row.version += 1
    row.save()


def _reopen(row: Candidate) -> None:
    row.state, row.reason, row.snoozed_until, row.memory = State.PENDING, "", None, None
    row.decided_by = row.decided_at = None
    row.version += 1
    row.save()


def _text(row: Candidate, content: str | None) -> str:
    if content is None:
        _refuse_lost_support(row)
        return row.draft
    # Browsers send a textarea's lines with CRLF.
    text = content.replace("\r\n", "\n").strip()
    if text == row.draft.strip():
        _refuse_lost_support(row)
        return row.draft
    return text


def _kind(row: Candidate, kind: str | None) -> str:
    if kind is None:
        return row.kind
    if kind not in KINDS:
        raise ValidationFailed(f"A distillate is a {' or a '.join(KINDS)}. Choose one of them.", field="kind")
    return kind


def _refuse_lost_support(row: Candidate) -> None:
    sources = _resting_on(row)
    if Memory.objects.live().filter(pk__in=sources).count() < len(sources):
        raise Conflict(
            "A source that this draft quotes was forgotten or changed since. Edit the draft so that it no longer "
            "rests on it, or dismiss it."
        )


def _resting_on(row: Candidate) -> set[uuid.UUID]:
    """The ids of the sources that the draft's sentences name; of all, where one names none."""
    named = [sources_of(line) for line in row.sentences]
    if named and all(named):
        return {uuid.UUID(source) for sources in named for source in sources}
    return set(row.members.values_list("memory_id", flat=True))


def _written(actor: Actor, row: Candidate, text: str, kind: str) -> Memory:
    sources = list(row.episodes.order_by("candidacy__position").prefetch_related("entities"))
    shared = shared_entities(sources)[:MOST_ENTITIES]
    remembered = remember(
        compare=False,
        actor=actor,
        scope=row.scope,
        content=text,
        kind=kind,
        entities=[EntitySpec(entity.name, entity.type) for entity in shared],
        links=[LinkSpec(Link.Type.DERIVED_FROM, source.pk) for source in sources],
        source=f"reflection:{row.pk}",
        author_kind=AuthorKind.DISTILLED,
        provenance=Provenance.AGENT,
        confidence=confidence_of(sources) if row.is_summary else "",
        newest_source_at=max(source.created_at for source in sources),
    )
    return _only_new(remembered)


def _only_new(remembered: Remembered) -> Memory:
    if remembered.deduplicated:
        raise Conflict(
            f"A live {remembered.memory.kind} already says exactly this. Edit the draft, or dismiss it.",
            field="content",
        )
    return remembered.memory


def _take_back(actor: Actor, row: Candidate, written: Memory) -> None:
    memory = Memory.objects.select_for_update(of=("self",)).get(pk=written.pk)
    if memory.invalidated_at or memory.version != 1:
        change = "changed" if memory.state == "live" else memory.state.replace("invalidated", "forgotten")
        raise Conflict(
            f"The memory that this approval wrote was {change} since, so the approval stands. "
            "Open the memory to go on from there."
        )
    if row.is_summary:
        give_back(actor=actor, memory=memory)
    forget(actor=actor, memory=memory, reason="approval undone")


def wake_date(until: datetime | None) -> datetime:
    """Until when to snooze, by default for the configured number of days.

    Raises ValidationFailed for a day that is past, or further than LONGEST_SNOOZE away.
    """
    now = timezone.now()
    until = until or now + timedelta(days=configuration.current().snooze_days)
    if until <= now:
        raise ValidationFailed("Choose a date in the future to snooze until.", field="until")
    if until > now + LONGEST_SNOOZE:
        latest = day(now + LONGEST_SNOOZE)
        raise ValidationFailed(f"Snooze for at most a year, until {latest}.", field="until")
    return until
