"""What an agent saves back of what it was given: known again when it is written, and tied to it when it is reworded.

Such a memory tells nothing new, so it is no further evidence for what it was made from.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db import connection
from django.db.models import Exists, OuterRef
from django.db.models.functions import Left
from django.utils import timezone

from memories.access import Actor
from memories.given import given_before
from memories.given_back import gives_back, unwrapped, worth_likening
from memories.models import Link, Memory, Scope
from memories.models.memory import AuthorKind, content_hash
from memories.services import audit
from memories.services.links import id_of
from memories.services.validation import Draft
from memories.services.writing import writing
from memories.similarity import ALIKE, COMPARED, ratio
from memories.sql import load

RECOGNISED: Final = "recognised as recalled"  # who made such a link
REWORDED: Final = 0.80  # cosine; measured in docs/explanation/writing-well.md
MOST_TIES: Final = 3
READ: Final = 8_000  # characters of what was given


@dataclass(frozen=True, slots=True)
class Known:
    """``memory`` says what was sent, and is to be returned for it; ``reworded`` are those that it nearly repeats."""

    memory: Memory | None = None
    reworded: Sequence[Memory] = ()


def known_again(actor: Actor, scope: Scope, draft: Draft) -> Known:
    """Inside the transaction of the write. Of a person nothing is sought: what a person types is meant."""
    if actor.is_person or draft.author_kind not in (None, AuthorKind.AGENT):
        return Known()
    named = {id_of(spec) for spec in draft.links}
    text = unwrapped(draft.content)
    given = _given_to(actor, draft, named)
    said = _said(text, given)
    here = [row.pk for row in said if row.scope_id == scope.pk]
    if found := _held(here) or _of_the_same_text(scope, draft, text, named):
        return Known(found)
    return Known(reworded=(said or _reworded(text, given))[:MOST_TIES])


def _said(text: str, given: Sequence[Memory]) -> list[Memory]:
    sha = content_hash(text)
    if equal := [row for row in given if row.content_sha256 == sha]:
        return equal
    is_said_in = gives_back(text) if len(text) <= READ else None
    return [row for row in given if is_said_in and is_said_in(vars(row)["said"])]


def _reworded(text: str, given: Sequence[Memory]) -> list[Memory]:
    said = [vars(row)["said"][:COMPARED] for row in given]
    places = worth_likening(text[:COMPARED], said)
    return [given[place] for place in sorted(places) if ratio(text, said[place]) >= ALIKE]


def _given_to(actor: Actor, draft: Draft, named: Collection[UUID]) -> list[Memory]:
    """But for those that the draft names itself: it says what it has to do with them."""
    ids = given_before(user_id=actor.user.pk, agent=actor.agent[:120], session=draft.session, at=timezone.now())
    if not ids:
        return []
    rows = Memory.objects.live().visible_to(actor).filter(pk__in=[id for id in ids if id not in named])
    found = {row.pk: row for row in rows.annotate(said=Left("content", READ)).only("pk", "scope_id", "content_sha256")}
    return [found[id] for id in ids if id in found]


def _held(ids: Sequence[UUID]) -> Memory | None:
    """Held, so that it stays live until the commit."""
    rows = Memory.objects.live().filter(pk__in=ids).select_related("scope")
    return rows.select_for_update(of=("self",)).order_by("pk").first() if ids else None


def _of_the_same_text(scope: Scope, draft: Draft, text: str, named: Collection[UUID]) -> Memory | None:
    """What stands in the quotation, if it is stored; whether or not anybody was given it."""
    if text == draft.content:
        return None
    alike = Memory.objects.live().filter(scope=scope, content_sha256=content_hash(text))
    return _held(list(alike.exclude(pk__in=named).values_list("pk", flat=True)))


def tie_to_given(memory: Memory, given: Sequence[Memory]) -> int:
    """Inside the caller's transaction; how many ties are new. No sign of use: repeating is no building upon."""
    if not given:
        return 0
    tied = set(memory.links_out.values_list("target_id", flat=True))
    new = [target for target in given if target.pk not in tied and target.pk != memory.pk]
    for target in new:
        Link.objects.get_or_create(
            source=memory, target=target, type=Link.Type.DERIVED_FROM, defaults={"created_by": RECOGNISED}
        )
        audit.record(
            actor=None,
            label=RECOGNISED,
            action="link",
            subject=memory,
            scope=memory.scope,
            type=Link.Type.DERIVED_FROM,
            target=str(target.pk),
        )
    return len(new)


def repeats_what_was_given() -> Exists:
    """Of memories: that they were recognised so."""
    return Exists(Link.objects.filter(source=OuterRef("pk"), type=Link.Type.DERIVED_FROM, created_by=RECOGNISED))


# Once there are vectors ----------------------------------------------------------------------


def on_first_embedded(*, memories: Sequence[UUID], **_: Any) -> None:
    """Tie what is reworded beyond its words. Done twice, it changes nothing the second time."""
    rows = Memory.objects.live().filter(pk__in=memories, author_kind=AuthorKind.AGENT, external_id="")
    for memory in rows.exclude(author=None).select_related("scope").order_by("pk"):
        _tie_by_meaning(memory)


def _tie_by_meaning(memory: Memory) -> None:
    given = given_before(
        user_id=memory.author_id or 0, agent=memory.agent, session=memory.session, at=memory.recorded_at
    )
    near = _nearest(memory, given) if given else []
    if near:
        with writing():
            tie_to_given(memory, list(Memory.objects.filter(pk__in=near).order_by("pk")))


def _nearest(memory: Memory, given: Sequence[UUID]) -> list[UUID]:
    with connection.cursor() as cursor:
        wanted: dict[str, Any] = {"memory": memory.pk, "others": list(given), "cosine": REWORDED, "most": MOST_TIES}
        cursor.execute(load("likeness"), wanted)
        return [id for id, _ in cursor.fetchall()]
