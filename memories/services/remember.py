"""Remember: one memory, written once, however often it is sent."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from django.conf import settings
from django.db import DatabaseError, transaction
from django.utils import timezone

from memories import entities, growth, quick_meaning, similarity, windows
from memories.access import Actor
from memories.candidates import Meaning
from memories.controls import cleaned, notices_of
from memories.errors import Conflict
from memories.models import Anchor, Kind, Memory, Provenance, Scope
from memories.models.memory import AuthorKind, content_hash
from memories.recognised_entities import recognise
from memories.retention import known_confidence
from memories.services import audit
from memories.services.anchors import attach, check_anchors, read_anchors
from memories.services.links import create_links
from memories.services.recognition import Known, known_again, tie_to_given
from memories.services.signals import note_links
from memories.services.validation import Draft, check_draft, check_entity_count
from memories.services.writing import require_scope, take_turns, writing
from memories.similarity import Similar
from memories.tasks import ring_for
from zeromemory.embedding import EmbedderError

logger = logging.getLogger(__name__)

_NAMES: Final = ("idempotency_key", "external_id")
_LEFT_ALONE: Final = ("pinned", "source", "verbatim", "valid_from", "valid_until", "confidence")


@dataclass(frozen=True, slots=True)
class Remembered:
    """``similar``: up to three live memories of the scope that say almost the same, most alike first. ``recognised``:
    names of entities that were found in the text, because none was given. ``anchored``: whether it may name code."""

    memory: Memory
    deduplicated: bool
    similar: tuple[Similar, ...] = ()
    notices: tuple[str, ...] = ()
    recognised: tuple[str, ...] = ()
    anchored: bool = True


def remember(
    *, actor: Actor, scope: Scope, content: str, ring: bool = True, compare: bool = True, **asked: Any
) -> Remembered:
    """Store *content* in *scope*; the fields of ``Draft`` are the other things to ask for.

    A live memory of the same kind and text, and one with the same idempotency key or external id, is returned instead
    of a second row. Control characters are taken out, with a notice. Raises ValidationFailed, PayloadTooLarge,
    NotFound, Forbidden or Conflict, and then nothing is written. Bulk writers pass ``ring=False``: the sweep embeds
    what they wrote, and near-equal memories are not sought; nor with ``compare=False``, for those who hold other rows.
    """
    asked |= {"content": content}
    draft = Draft(**cleaned(asked))
    check_draft(draft)
    if draft.confidence:
        draft = replace(draft, confidence=known_confidence(draft.confidence))
    require_scope(actor, scope)
    check_anchors(draft.anchors)
    code = read_anchors(scope, draft.anchors, actor.checkouts)
    with writing():
        remembered = _written(actor, scope, draft, code.anchors)
        if ring and not remembered.deduplicated:
            ring_for(remembered.memory)
            growth.tell(scope)
    remembered = replace(remembered, notices=(*notices_of(asked), *code.notices, *remembered.notices))
    if not (ring and compare) or remembered.deduplicated:
        return remembered
    similar, notices = _similar(remembered.memory)
    return replace(remembered, similar=similar, notices=(*remembered.notices, *notices))


def _similar(memory: Memory) -> tuple[tuple[Similar, ...], tuple[str, ...]]:
    """With notices. The memory is written by now, so a search that fails must not be taken for a write that failed."""
    try:
        meaning, notices = _meaning(memory)  # outside the transaction: it may have to wait
        with transaction.atomic():
            return similarity.near_equal(memory, meaning), notices
    except DatabaseError:
        logger.exception("Memories that resemble %s were not found", memory.pk)
        return (), ()


def _meaning(memory: Memory) -> tuple[Meaning | None, tuple[str, ...]]:
    if settings.EMBEDDER == "none":
        return None, ("No embedder is configured, so this memory is found by its words alone.",)
    try:
        return quick_meaning.meaning_of(memory.content[: similarity.COMPARED]), ()
    except EmbedderError as error:
        return None, (f"Similar memories were sought by words only: {error}",)


def _written(actor: Actor, scope: Scope, draft: Draft, code: Sequence[Anchor]) -> Remembered:
    if sent_before := _sent_before(scope, draft):
        return Remembered(sent_before, deduplicated=True)
    twin = _twin(scope, draft)
    known = Known() if twin else known_again(actor, scope, draft)
    if stored := twin or known.memory:
        notices = _merged(stored, draft) if twin else _as_given(stored, draft)
        return _repeated(actor, stored, draft, code, notices)
    memory = _new_row(actor, scope, draft)
    entities.attach(memory, draft.entities)
    named = () if draft.entities else recognise(memory)
    create_links(actor=actor, memory=memory, specs=draft.links)
    attach(actor=actor, memory=memory, anchors=code)
    windows.write_windows(memory)
    audit.record(actor=actor, action="remember", subject=memory, scope=scope, kind=memory.kind)
    note_links(actor=actor, memory=memory, specs=draft.links)
    tie_to_given(memory, known.reworded)
    return Remembered(memory, deduplicated=False, recognised=named, anchored=bool(code))


def _repeated(
    actor: Actor, memory: Memory, draft: Draft, code: Sequence[Anchor], notices: tuple[str, ...]
) -> Remembered:
    entities_added = entities.attach(memory, draft.entities)
    links_added = create_links(actor=actor, memory=memory, specs=draft.links)
    anchors_added = attach(actor=actor, memory=memory, anchors=code)
    if entities_added or links_added or anchors_added:
        check_entity_count(memory.entities.count())
        audit.record(
            actor=actor,
            action="enrich",
            subject=memory,
            scope=memory.scope,
            entities=entities_added,
            links=links_added,
            anchors=anchors_added,
        )
    _note_repeat(actor, memory, draft)
    return Remembered(memory, deduplicated=True, notices=notices)


def _as_given(memory: Memory, draft: Draft) -> tuple[str, ...]:
    """The memory takes no name from the draft: under that another text was sent."""
    said = "A memory that stands here says this already, so it was not stored again."
    fields = _LEFT_ALONE if draft.kind == Kind.FACT else ("kind", *_LEFT_ALONE)  # a fact is what is not said to be else
    return (said, *_not_changed(memory, draft, fields))


def _note_repeat(actor: Actor, memory: Memory, draft: Draft) -> None:
    """So that an agent which saves over and over is seen. A person is not counted, nor a retry with its key."""
    if actor.is_person:
        return
    how = "same text" if memory.content == draft.content else "given before"
    audit.record(actor=actor, action="recognise", subject=memory, scope=memory.scope, how=how, agent=actor.agent[:120])


def _merged(twin: Memory, draft: Draft) -> tuple[str, ...]:
    """Give the twin the names that the draft goes by, so that a retry finds it whatever becomes of its text.

    The sentences tell what was asked for and left as it stood.
    """
    asked = [field for field in _NAMES if getattr(draft, field)]
    taken = [field for field in asked if getattr(twin, field)]
    for field in set(asked) - set(taken):
        setattr(twin, field, getattr(draft, field))
    twin.save(update_fields=set(asked) - set(taken))
    notices = [
        f"This text was stored before under another {field.replace('_', ' ')}, so the one sent was not stored."
        for field in taken
    ]
    return (*notices, *_not_changed(twin, draft, _LEFT_ALONE))


def _not_changed(memory: Memory, draft: Draft, fields: Sequence[str]) -> tuple[str, ...]:
    left = [field for field in fields if getattr(draft, field) and getattr(draft, field) != getattr(memory, field)]
    if not left:
        return ()
    return (f"This text was stored before. Not changed: {', '.join(left)}. Edit the memory to change that.",)


def _sent_before(scope: Scope, draft: Draft) -> Memory | None:
    """What an earlier write with this key or external id made, as it stands today: changes since then are kept."""
    if draft.idempotency_key and (found := _first(scope, idempotency_key=draft.idempotency_key)):
        if found.content_sha256 != content_hash(draft.content):
            raise Conflict("This idempotency key was used for another text. Use a new key.", field="idempotency_key")
        return found
    return _first(scope, external_id=draft.external_id) if draft.external_id else None


def _first(scope: Scope, **key: str) -> Memory | None:
    ((field, value),) = key.items()
    take_turns(scope.pk, field, value)
    return Memory.objects.filter(scope=scope, **key).first()


def _twin(scope: Scope, draft: Draft) -> Memory | None:
    sha = content_hash(draft.content)
    take_turns(scope.pk, "content", sha)
    alike = Memory.objects.live().filter(scope=scope, kind=draft.kind, content_sha256=sha)
    return alike.select_for_update(of=("self",)).order_by("pk").first()  # held, so that it stays live until the commit


def _new_row(actor: Actor, scope: Scope, draft: Draft) -> Memory:
    now = timezone.now()
    author_kind = draft.author_kind or (AuthorKind.HUMAN if actor.is_person else AuthorKind.AGENT)
    default_rank = Provenance.HUMAN if author_kind == AuthorKind.HUMAN else Provenance.AGENT
    return Memory.objects.create(
        scope=scope,
        kind=draft.kind,
        content=draft.content,
        content_sha256=content_hash(draft.content),
        provenance=default_rank if draft.provenance is None else draft.provenance,
        author_kind=author_kind,
        author=actor.user,
        agent=actor.agent[:120],
        session=draft.session,
        source=draft.source,
        verbatim=draft.verbatim,
        created_at=draft.created_at or now,
        updated_at=now,
        accessed_at=now,
        newest_source_at=draft.newest_source_at,
        valid_from=draft.valid_from,
        valid_until=draft.valid_until,
        pinned=draft.pinned,
        confidence=known_confidence(draft.confidence),
        external_id=draft.external_id,
        idempotency_key=draft.idempotency_key,
    )
