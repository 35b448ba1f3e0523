"""What may be written, with the sentence for what may not. The one place, for every way in."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.utils import timezone

from memories import guard
from memories.entities import EntitySpec, canonical_name
from memories.errors import PayloadTooLarge, ValidationFailed
from memories.models import Kind, Link, Provenance
from memories.models.memory import AuthorKind
from memories.moments import is_within_reach
from memories.words import UNSTORABLE
from zeromemory.lib.unseen import is_blank

MOST_BYTES: Final = 4 * 1024 * 1024
MOST_ENTITIES = MOST_LINKS = 100
MOST_REPLACED = 10  # by one new memory
CLOCK_SKEW: Final = timedelta(seconds=5)
LENGTHS: Final = {
    "source": 2000,
    "session": 120,
    "idempotency_key": 200,
    "external_id": 300,
    "reason": 2000,
    "evidence": 2000,
    "agent": 120,
}
ENTITY_NAME_LENGTH, ENTITY_TYPE_LENGTH = 300, 40


@dataclass(frozen=True, slots=True)
class LinkSpec:
    type: str
    target: str | uuid.UUID


@dataclass(frozen=True, slots=True)
class AnchorSpec:
    """Code that a memory is about. *code* is the text of the symbol, or of the file where none is named, from whoever
    sees it in a working tree that this server does not."""

    repository: str
    path: str
    symbol: str = ""
    code: str = ""


@dataclass(frozen=True, slots=True)
class Draft:
    """A memory as somebody asks for it; ``check_draft`` says whether it may be written. No ``confidence`` is inferred,
    a word that nobody knows unverified."""

    content: str
    kind: str = Kind.FACT
    entities: Sequence[EntitySpec] = ()
    links: Sequence[LinkSpec] = ()
    anchors: Sequence[AnchorSpec] = ()
    source: str = ""
    verbatim: str = ""
    pinned: bool = False
    session: str = ""
    created_at: datetime | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    newest_source_at: datetime | None = None
    idempotency_key: str = ""
    external_id: str = ""
    author_kind: str | None = None
    provenance: int | None = None
    confidence: str = ""


def check_draft(draft: Draft) -> None:
    check_content(draft.content)
    check_kind(draft.kind)
    check_size(draft.verbatim, "verbatim")
    for field in ("source", "session", "idempotency_key", "external_id"):
        check_line(getattr(draft, field), field)
    check_storable(draft.confidence, "confidence")
    check_entities(draft.entities)
    check_links(draft.links)
    _check_replaced(draft.links)
    check_learned(draft.created_at, "created_at")
    check_learned(draft.newest_source_at, "newest_source_at")
    check_validity(draft.valid_from, draft.valid_until)
    check_choice(draft.author_kind, AuthorKind.values, "author_kind")
    check_choice(draft.provenance, Provenance.values, "provenance")


def check_content(content: str) -> None:
    check_size(content, "content")
    if is_blank(content):
        raise ValidationFailed("Write something: the content is empty.", field="content")


def check_kind(kind: str) -> None:
    if kind not in Kind.values:
        raise ValidationFailed(f"The kind must be one of {', '.join(Kind.values)}.", field="kind")


def check_size(text: str, field: str) -> None:
    """Raises PayloadTooLarge above 4 MB of UTF-8."""
    check_storable(text, field)
    # Counting characters first spares encoding what cannot fit anyway.
    size = len(text) if len(text) > MOST_BYTES else len(text.encode())
    if size > MOST_BYTES:
        raise PayloadTooLarge(f"The {field} is larger than 4 MB. Split it, or store a reference to it.", field=field)


def check_line(text: str, field: str) -> None:
    check_storable(text, field)
    if len(text) > LENGTHS[field]:
        name = field.replace("_", " ")
        raise ValidationFailed(f"The {name} may have at most {LENGTHS[field]} characters.", field=field)


def check_storable(text: Any, field: str) -> None:
    """Every text that is stored passes here: one that is no text, cannot be stored or holds a secret is refused."""
    if not isinstance(text, str):
        raise ValidationFailed(f"The {field.replace('_', ' ')} must be text.", field=field)
    if UNSTORABLE.search(text):
        raise ValidationFailed(
            f"The {field.replace('_', ' ')} holds a NUL or half of a surrogate pair, which no text may. Remove it.",
            field=field,
        )
    guard.refuse_secrets(text, field)


def check_entities(entities: Sequence[EntitySpec]) -> None:
    check_entity_count(len(entities))
    for spec in entities:
        check_storable(spec.name, "entities")
        check_storable(spec.type, "entities")
        canonical = canonical_name(spec.name)
        # NFKC can make a name longer, so both spellings must fit.
        if is_blank(canonical) or max(len(spec.name), len(canonical)) > ENTITY_NAME_LENGTH:
            raise ValidationFailed(
                f"An entity's name must have from 1 to {ENTITY_NAME_LENGTH} characters, and one that can be seen.",
                field="entities",
            )
        if is_blank(spec.type) or len(spec.type) > ENTITY_TYPE_LENGTH:
            raise ValidationFailed(
                f"An entity's type must have from 1 to {ENTITY_TYPE_LENGTH} characters, and one that can be seen.",
                field="entities",
            )


def check_entity_count(number: int) -> None:
    if number > MOST_ENTITIES:
        raise ValidationFailed(f"A memory names at most {MOST_ENTITIES} entities.", field="entities")


def check_links(links: Sequence[LinkSpec]) -> None:
    if len(links) > MOST_LINKS:
        raise ValidationFailed(f"Give at most {MOST_LINKS} links.", field="links")
    for spec in links:
        check_link_type(spec.type)


def _check_replaced(links: Sequence[LinkSpec]) -> None:
    replaced = {str(spec.target) for spec in links if spec.type == Link.Type.SUPERSEDES}
    if len(replaced) > MOST_REPLACED:
        raise ValidationFailed(
            f"A memory supersedes at most {MOST_REPLACED} others when it is written. Link the rest afterwards, or "
            "forget them.",
            field="links",
        )


def check_link_type(type: str) -> None:
    if type not in Link.Type.values:
        raise ValidationFailed(f"The link type must be one of {', '.join(Link.Type.values)}.", field="links")


def check_learned(moment: datetime | None, field: str) -> None:
    """When something was learned: never later than now."""
    check_aware(moment, field)
    if moment and moment > timezone.now() + CLOCK_SKEW:
        raise ValidationFailed(f"{field} lies in the future. Send the time it was learned.", field=field)


def check_validity(valid_from: datetime | None, valid_until: datetime | None) -> None:
    check_aware(valid_from, "valid_from")
    check_aware(valid_until, "valid_until")
    if valid_from and valid_until and valid_until <= valid_from:
        raise ValidationFailed("valid_until must be later than valid_from.", field="valid_until")


def check_aware(moment: datetime | None, field: str) -> None:
    if moment is None:
        return
    if not isinstance(moment, datetime) or timezone.is_naive(moment):
        raise ValidationFailed(f"{field} must be a date and time with a time zone.", field=field)
    if not is_within_reach(moment):
        raise ValidationFailed(
            f"{field} lies outside the calendar. Send a date from year 1 to 9999 in a zone of this world.", field=field
        )


def check_choice(value: Any, choices: Sequence[Any], field: str) -> None:
    if value is not None and value not in choices:
        allowed = ", ".join(str(choice) for choice in choices)
        raise ValidationFailed(f"The {field.replace('_', ' ')} must be one of {allowed}.", field=field)
