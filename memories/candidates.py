"""The candidates of a recall: what each search leg finds, in one round trip."""

import re
from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from typing import Any, Final
from uuid import UUID

import numpy as np
from django.db import connection
from numpy.typing import NDArray

from memories.entities import canonical_name
from memories.fusion import Background
from memories.models import Memory, Scope
from memories.ranking import Candidate
from memories.sql import load
from memories.vocabulary import Widened
from memories.words import Word
from zeromemory.lib.partial import partial
from zeromemory.lib.prepared import prepared_cursor

NO_DIMENSIONS: Final = 384  # for the casts of a query that has no vector
# A memory of many windows may take several of the nearest places, so more windows are read than memories wanted.
WINDOWS_A_PLACE: Final = 2
MOST_FURTHER_TRIPS: Final = 3
EXACT_UP_TO: Final = 1000  # memories that pass the filters; measured, comparing so many takes a few milliseconds
CHOOSING_WINDOWS: Final = 600  # that the rarest words of a query may bring, by the planner's estimate
SAMPLE: Final = 128  # vectors that tell what similarity chance gives
LONGEST_LEAD: Final = 40
_PART: Final = re.compile(r"\{(\w+)\}")
_LEAD: Final = re.compile(rf"([^\n:]{{1,{LONGEST_LEAD}}}):\s")  # "Name: what was said"

_NOW: Final = {
    "live_window": "w.live",
    "live_embedding": "e.live",
    "live_memory": "m.invalidated_at IS NULL",
    "valid": "(m.valid_until IS NULL OR m.valid_until > now())",
}
_FILTERS: Final = {
    "kinds": "m.kind = ANY (%(kinds)s::text[])",
    "pinned": "m.pinned = %(pinned)s::boolean",
    "author_kind": "m.author_kind = %(author_kind)s::text",
    "confidences": "m.confidence = ANY (%(confidences)s::text[])",
    "created_from": "m.created_at >= %(created_from)s::timestamptz",
    "created_to": "m.created_at < %(created_to)s::timestamptz",
    "entity": (
        "EXISTS (SELECT FROM memories_memoryentity tie JOIN memories_entity entity ON entity.id = tie.entity_id "
        "WHERE tie.memory_id = m.id AND entity.canonical = %(entity)s::text)"
    ),
}
# Where only scopes are asked for, the index of vectors comes first and each memory it gives is looked up. Not knowing
# how large the scopes are, the planner would else begin with the memories and sort all their vectors.
_LOOKED_UP: Final = (
    "CROSS JOIN LATERAL (SELECT m.created_at FROM memories m WHERE m.id = e.memory_id AND {filters} OFFSET 0) AS m"
)
_JOINED: Final = "JOIN memories m ON m.id = e.memory_id AND {filters}"
# An edit and an import keep the date something was learned, so that date alone does not tell which version stood. A
# version that was written later, in place of one that still stood, did not.
_BACK_THEN: Final = {
    "live_window": "true",
    "live_embedding": "true",
    "live_memory": "true",
    "valid": (
        "(m.invalidated_at IS NULL OR m.invalidated_at > %(as_of)s) "
        "AND (m.valid_until IS NULL OR m.valid_until > %(as_of)s) AND m.created_at <= %(as_of)s "
        "AND (m.recorded_at <= %(as_of)s OR NOT EXISTS ("
        "SELECT FROM memories earlier WHERE earlier.superseded_by_id = m.id AND earlier.invalidated_at > %(as_of)s))"
    ),
}

_WIDENED: Final = ("or_alias", "or_alias_share")  # left out where no alias is asked for, and so free of cost there

_AND_ARCHIVED: Final = {
    "live_window": "(w.live OR w.memory_id = ANY (%(archived)s::uuid[]))",
    "live_embedding": "(e.live OR e.memory_id = ANY (%(archived)s::uuid[]))",
    "live_memory": "(m.invalidated_at IS NULL OR m.id = ANY (%(archived)s::uuid[]))",
    "valid": "(m.valid_until IS NULL OR m.valid_until > now())",
}
_MOMENTS: Final = {"now": _NOW, "back then": _BACK_THEN, "and archived": _AND_ARCHIVED}


@dataclass(frozen=True, slots=True)
class Meaning:
    """The query as a vector, with the stamp of the model that made it: only vectors of that model compare with it."""

    vector: Sequence[float] | NDArray[np.floating]
    model: str
    model_version: str


@dataclass(frozen=True, slots=True)
class Filters:
    """What a memory must be to be found at all; None does not filter. *archived* are found as if they were live."""

    scopes: Collection[int]
    kinds: Collection[str] | None = None
    entity: str | None = None
    pinned: bool | None = None
    author_kind: str | None = None
    confidences: Collection[str] | None = None
    created_from: datetime | None = None
    created_to: datetime | None = None
    as_of: datetime | None = None
    archived: Collection[UUID] = ()


@dataclass(frozen=True, slots=True)
class Search:
    filters: Filters
    words: Sequence[Word] = ()
    meaning: Meaning | None = None
    direct: UUID | None = None
    pool: int = 40
    by_recency: bool = False
    exact_up_to: int = EXACT_UP_TO
    choosing_windows: int = CHOOSING_WINDOWS
    passed_over: Collection[UUID | str | int] = field(default_factory=tuple)
    names: Collection[str] = ()
    widened: Sequence[Widened] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """A candidate and the stretch of its text that matched: characters *start* to *stop* of its content.
    ``content_sha256`` and ``length`` are those of the whole content."""

    candidate: Candidate
    start: int
    stop: int
    text: str
    content_sha256: str
    length: int
    scope: tuple[int, str]
    pinned: bool
    confidence: str
    superseded_by: UUID | None


@dataclass(frozen=True, slots=True)
class Searched:
    """What the legs brought, and what similarity chance gives; None where nothing was compared by meaning."""

    found: list[Found]
    background: Background | None = None

    @property
    def candidates(self) -> list[Candidate]:
        return [hit.candidate for hit in self.found]


def candidates(search: Search) -> Searched:
    """At most ``pool`` memories from each leg, in one round trip. In more only where a few long memories took all the
    places that the index gave, which are then passed over to let the others in."""
    rows = _round_trip(search)
    found, background = [_found(row, search) for row in rows], _background(rows)
    for _ in range(MOST_FURTHER_TRIPS):
        nearest = [hit.candidate.id for hit in found if hit.candidate.rank_vector]
        if _windows_read(rows) < search.pool * WINDOWS_A_PLACE or len(nearest) >= search.pool:
            break
        further = replace(search, words=(), direct=None, by_recency=False, passed_over=nearest)
        rows = _round_trip(further)
        more = [_found(row, further) for row in rows]
        found = _joined(found, more, places_taken=len(nearest), places=search.pool)
    return Searched(found, background)


def _joined(found: list[Found], more: list[Found], *, places_taken: int, places: int) -> list[Found]:
    """*found* with the places of the vector leg that come after those taken."""
    joined = {hit.candidate.id: hit for hit in found}
    for hit in more:
        place = places_taken + (hit.candidate.rank_vector or 0)
        if place > places:
            continue
        known = joined.get(hit.candidate.id, hit)
        ranked = replace(known.candidate, rank_vector=place, similarity=hit.candidate.similarity)
        joined[hit.candidate.id] = replace(known, candidate=ranked)
    return list(joined.values())


def _round_trip(search: Search) -> list[dict[str, Any]]:
    with _cursor_for(search.filters) as cursor:
        cursor.execute(_statement(search), _parameters(search))
        names = [column.name for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def _cursor_for(filters: Filters) -> AbstractContextManager[Any]:
    """Without filters one plan serves all. How selective filters are the planner must see in their values."""
    return connection.cursor() if _asked(filters) or filters.as_of or filters.archived else prepared_cursor()


def _moment(filters: Filters) -> str:
    return "back then" if filters.as_of else "and archived" if filters.archived else "now"


def _asked(filters: Filters) -> list[str]:
    return [name for name in _FILTERS if getattr(filters, name) is not None]


def _windows_read(rows: Sequence[dict[str, Any]]) -> int:
    return rows[0]["windows_read"] if rows else 0


def _background(rows: Sequence[dict[str, Any]]) -> Background | None:
    if not rows or rows[0]["chance_deviation"] is None:
        return None
    return Background(rows[0]["chance_mean"], rows[0]["chance_deviation"], int(rows[0]["chance_count"]))


def _statement(search: Search) -> str:
    """Composed of constants and checked numbers, never of anything a caller typed."""
    return _composed(
        tuple(_asked(search.filters)),
        _moment(search.filters),
        bool(search.widened),
        dimensions=len(search.meaning.vector) if search.meaning else NO_DIMENSIONS,
        pool=search.pool,
        windows=search.pool * WINDOWS_A_PLACE,
        exact_up_to=search.exact_up_to,
        budget=search.choosing_windows,
        sample=SAMPLE,
        by_recency=search.by_recency,
    )


@lru_cache(maxsize=64)
def _composed(filters: tuple[str, ...], moment_name: str, widened: bool, **numbers: int) -> str:
    moment = _MOMENTS[moment_name]
    conditions = ["m.scope_id = ANY (%(scopes)s::bigint[])", moment["valid"], *(_FILTERS[name] for name in filters)]
    filters_text = " AND ".join(conditions)
    joined = _LOOKED_UP if moment is _NOW and not filters else _JOINED
    parts = (
        moment
        | {name: load(name) if widened else "" for name in _WIDENED}
        | {"filters": filters_text, "found_by_index": joined.replace("{filters}", filters_text)}
        | {name: str(int(it)) for name, it in numbers.items()}
    )
    parts["by_recency"] = str(bool(numbers["by_recency"]))
    return _PART.sub(lambda part: parts[part[1]], load("recall"))


def _parameters(search: Search) -> dict[str, Any]:
    filters, meaning = search.filters, search.meaning
    return {
        "scopes": sorted(filters.scopes),
        "kinds": None if filters.kinds is None else sorted(filters.kinds),
        "entity": None if filters.entity is None else canonical_name(filters.entity),
        "pinned": filters.pinned,
        "author_kind": filters.author_kind,
        "confidences": None if filters.confidences is None else sorted(filters.confidences),
        "created_from": filters.created_from,
        "created_to": filters.created_to,
        "as_of": filters.as_of,
        "archived": list(filters.archived),
        "words": [word.text for word in search.words],
        "identifiers": [word.identifier for word in search.words],
        "vector": str([float(value) for value in meaning.vector]) if meaning else None,
        "model": meaning.model if meaning else "",
        "model_version": meaning.model_version if meaning else "",
        "direct": search.direct,
        "passed_over": list(search.passed_over),
        "names": sorted(search.names),
        "alias_places": [place for place, _ in search.widened],
        "aliases": [text for _, text in search.widened],
    }


def _found(row: dict[str, Any], search: Search) -> Found:
    candidate = Candidate(
        id=row["id"],
        kind=row["kind"],
        created_at=row["created_at"],
        provenance_rank=row["provenance"],
        rank_vector=row["rank_vector"],
        rank_text=row["rank_text"],
        rank_recency=row["rank_recency"],
        similarity=row["similarity"],
        coverage=row["coverage"],
        phrase=row["phrase"],
        identifier=row["identifier"],
        named=row["named"] or _speaks(row, search.names),
        session=row["session"],
        text_matched=row["text_matched"],
        reinforcement=row["reinforcement"],
        policy=row["retention"],
    )
    return Found(
        candidate,
        start=row["start"],
        stop=row["stop"],
        text=row["text"],
        content_sha256=row["content_sha256"],
        length=row["length"],
        scope=(row["scope_id"], row["slug"]),
        pinned=row["pinned"],
        confidence=row["confidence"],
        superseded_by=row["superseded_by_id"],
    )


def memory_of(hit: Found) -> Memory:
    """The memory with what the search brought of it and of its scope; other fields are loaded when asked for."""
    candidate, (scope_id, slug) = hit.candidate, hit.scope
    known = {
        "id": candidate.id,
        "scope_id": scope_id,
        "kind": candidate.kind,
        "content_sha256": hit.content_sha256,
        "created_at": candidate.created_at,
        "provenance": candidate.provenance_rank,
        "pinned": hit.pinned,
        "confidence": hit.confidence,
        "superseded_by_id": hit.superseded_by,
    }
    memory = partial(Memory, known)
    memory.scope = partial(Scope, {"id": scope_id, "slug": slug, "retention": candidate.policy})
    return memory


def _speaks(row: dict[str, Any], names: Collection[str]) -> bool:
    """Whether the query names who wrote the memory, or whom its text quotes from its first word on."""
    lead = _LEAD.match(row["opening"])
    speakers = {canonical_name(row["agent"])} | ({canonical_name(lead[1])} if lead else set())
    return not speakers.isdisjoint(names)
