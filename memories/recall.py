"""Recall: the one read by meaning and words. It writes nothing, so being shown never moves anything."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any, Final
from uuid import UUID

from django.db.models import Count, Q
from django.utils import timezone

from memories.access import Actor, read_targets
from memories.anchors import AnchorNow, Seen, Spot, looked_at, structural_factor, told_of
from memories.candidates import Filters, Found, Meaning, Search, candidates, memory_of
from memories.code.verdicts import Verdict
from memories.configuration import InForce, in_force
from memories.embedder_in_use import in_use_by
from memories.embedding_queue import not_embedded_with
from memories.errors import ValidationFailed
from memories.explanation import why
from memories.facets import Without, search_without_each
from memories.freshness import asked_of
from memories.fusion import Fused, FusionRule
from memories.looks import looks
from memories.models import EmbedderChange, Kind, Memory
from memories.models.memory import AuthorKind
from memories.querysets import OPENING, MemoryQuerySet
from memories.ranking import AGEING, IGNORABLE, Candidate, Factors, Scored, rank
from memories.retention import CONFIDENCES, at_least, confidence_factor
from memories.services.validation import CLOCK_SKEW, check_aware, check_choice, check_storable
from memories.vocabulary import Pair, spoken, widened
from memories.words import QUERY_LENGTH, memory_id_in, names_in, searchable, words_of
from zeromemory.embedding import EmbedderError

MOST_RESULTS: Final = 50
USUAL_RESULTS: Final = 10  # where nobody names a number, and scopes that decay are not all that is read
MIXED: Final = "mixed"
COUNTED: Final = 20  # what an empty answer would hold without a filter is counted up to here


@dataclass(frozen=True, slots=True)
class Ranks:
    """Places in the search legs, from 1; None where the leg did not find the memory."""

    vector: int | None
    text: int | None
    recency: int | None


@dataclass(frozen=True, slots=True)
class Result:
    """``excerpt`` is characters *start* to *stop* of the content; ``truncated`` when there is more of it.
    ``stale_days`` since the last check of a world fact that is past its budget; it moves no score."""

    memory: Memory
    excerpt: str
    truncated: bool
    start: int
    stop: int
    age_days: float
    score: float
    factors: Factors
    ranks: Ranks
    fused: Fused
    similarity: float | None
    text_matched: int
    policy: str
    why: str
    stale_days: int | None = None
    anchors: tuple[AnchorNow, ...] = ()


@dataclass(frozen=True, slots=True)
class Recall:
    """``without`` tells of an empty answer what each filter hides, counted up to COUNTED."""

    results: list[Result]
    notices: list[str]
    policy: str
    took_ms: float
    scopes: Collection[int]
    words_only: bool
    k: int
    archives: Collection[int] = ()
    without: tuple[Without, ...] = ()


def recall(
    *,
    actor: Actor,
    query: str,
    scopes: list[str] | None = None,
    kinds: Collection[str] | None = None,
    k: int | None = None,
    as_of: datetime | None = None,
    ignore: frozenset[str] = frozenset(),
    min_confidence: str | None = None,
    rows: MemoryQuerySet | None = None,
    code_seen: Mapping[Spot, Seen] | None = None,
    **narrower: Any,
) -> Recall:
    """The *k* best memories the actor may read. *narrower* holds further fields of ``Filters``.

    Where *k* is None, so many as the policies say of scopes that all decay, and else USUAL_RESULTS. What is less sure
    than *min_confidence* is no candidate.
    The memories of the results are taken from *rows*. Without, they hold what every answer needs, and load other fields
    one by one when asked for them. Never fails for lack of an embedder: it searches by words and says so in a notice.
    Raises ValidationFailed, and NotFound for a scope that is not there.
    """
    began = time.perf_counter()
    query = query.strip()
    _check(query, k, ignore)
    narrower["confidences"] = _confidences(min_confidence)
    filters = _checked(Filters(scopes=read_targets(actor, scopes), kinds=kinds, as_of=as_of, **narrower))
    by = in_force(filters.scopes, query)
    k = k or by.top_k(filters.scopes) or USUAL_RESULTS
    meaning, stamps, notices = _meaning(spoken(query, by.aliases), by.change)
    look = partial(
        find, query=query, meaning=meaning, ignore=ignore, by=by, code_seen=code_seen, code_beside=actor.checkouts
    )
    results = _with_asks(look(filters=filters, k=k, rows=rows), filters.as_of or timezone.now())
    return Recall(
        results=results,
        notices=notices + _more_notices(query, filters, stamps, by.stamps) + _code_notices(results),
        policy=_policy(results),
        took_ms=(time.perf_counter() - began) * 1000,
        scopes=filters.scopes,
        words_only=meaning is None,
        k=k,
        archives=by.archives,
        without=() if results else _without(actor, filters, look),
    )


def _with_asks(results: list[Result], now: datetime) -> list[Result]:
    """Whoever is given a world fact that nobody has looked at for long is asked to, in passing."""
    found = looks([result.memory for result in results], now)
    stale = {pk: look.stale_days for pk, look in found.items() if look.stale_days}
    return [
        replace(result, stale_days=days, why=f"{result.why.removesuffix('.')}; {asked_of(days)}.")
        if (days := stale.get(result.memory.pk))
        else result
        for result in results
    ]


def _without(actor: Actor, filters: Filters, look: Callable[..., list[Result]]) -> tuple[Without, ...]:
    def count(wider: Filters) -> int:
        return len(look(filters=wider, k=COUNTED))

    return search_without_each(filters, read_targets(actor, None), count)


def find(
    *,
    query: str,
    meaning: Meaning | None,
    filters: Filters,
    k: int = 10,
    ignore: frozenset[str] = frozenset(),
    by: InForce | None = None,
    rows: MemoryQuerySet | None = None,
    code_seen: Mapping[Spot, Seen] | None = None,
    code_beside: Mapping[str, str] | None = None,
) -> list[Result]:
    """Recall with the query's vector already made, *by* the configuration in force unless told otherwise.

    *code_seen* is what the caller sees in a working tree of its own, *code_beside* where such trees stand; they count
    for this answer alone.
    """
    direct, by = memory_id_in(query), by or in_force(filters.scopes, query)
    search = search_for(
        query, meaning=meaning, filters=filters, fusion=by.fusion, k=k, direct=direct, aliases=by.aliases
    )
    searched = candidates(search)
    found = {hit.candidate.id: hit for hit in searched.found}
    if direct in found:
        found = {direct: found[direct]}  # whoever pastes an id asks for that memory, not for those that mention it
    # What stood in the code on a past day nobody knows, so a recall as of that day leaves the code out.
    may_look = by.is_anchored and filters.as_of is None
    code = looked_at(found, seen=code_seen, beside=code_beside) if may_look else {}
    scored = rank(
        [_beside_its_code(_as_sure(hit, by), code, by.changed_factor) for hit in found.values()],
        now=filters.as_of or timezone.now(),
        rules=by.rules,
        fusion=by.fusion,
        background=searched.background,
        ignore=ignore,
    )
    results = _results(_each_text_once(scored, found)[:k], found, rows)
    return [_with_code(result, code.get(result.memory.pk)) for result in results] if code else results


def _as_sure(hit: Found, by: InForce) -> Candidate:
    rule = by.decaying.get(hit.scope[0])
    if rule is None or not rule.confidence_weight:
        return hit.candidate
    return replace(hit.candidate, confidence=confidence_factor(hit.confidence, rule.confidence_weight))


def _beside_its_code(candidate: Candidate, code: Mapping[Any, list[AnchorNow]], changed_factor: float) -> Candidate:
    anchors = code.get(candidate.id)
    return replace(candidate, structural=structural_factor(anchors, changed_factor)) if anchors else candidate


def _with_code(result: Result, anchors: list[AnchorNow] | None) -> Result:
    if not anchors:
        return result
    return replace(result, anchors=tuple(anchors), why=f"{result.why.removesuffix('.')}; {told_of(anchors)}.")


def _check(query: str, k: int | None, ignore: frozenset[str]) -> None:
    if not query:
        raise ValidationFailed("Say what to look for: the query is empty.", field="query")
    if k is not None and not 1 <= k <= MOST_RESULTS:
        raise ValidationFailed(f"k must be from 1 to {MOST_RESULTS}.", field="k")
    if not ignore <= IGNORABLE:
        raise ValidationFailed(f"Only {', '.join(sorted(IGNORABLE))} can be ignored.", field="ignore")


def _confidences(least: str | None) -> tuple[str, ...] | None:
    check_choice(least, CONFIDENCES, "min_confidence")
    return at_least(least) if least else None


def _checked(filters: Filters) -> Filters:
    if filters.kinds is not None and not filters.kinds:
        raise ValidationFailed("Name at least one kind, or leave kinds out to search all.", field="kinds")
    for kind in filters.kinds or ():
        check_choice(kind, Kind.values, "kinds")
    check_choice(filters.author_kind, AuthorKind.values, "author_kind")
    check_storable(filters.entity or "", "entity")
    for field in ("as_of", "created_from", "created_to"):
        check_aware(getattr(filters, field), field)
    if filters.as_of and filters.as_of > timezone.now() + CLOCK_SKEW:
        raise ValidationFailed("as_of lies in the future. Name a moment that has been.", field="as_of")
    return filters


def meaning_of(query: str, by: InForce) -> Meaning | None:
    """The query's vector; None where no embedder answers."""
    return _meaning(spoken(query, by.aliases), by.change)[0]


def _meaning(query: str, change: EmbedderChange | None) -> tuple[Meaning | None, tuple[str, ...], list[str]]:
    """The query's vector, the stamps of memories that compare with it, and what to say where there is none."""
    try:
        using = in_use_by(change)
        if using.answering is None:
            return None, (), ["Searching by words only: no embedder is configured."]
        vector = using.answering.encode_query(query[:QUERY_LENGTH])
        return Meaning(vector, using.answering.name, using.answering.version), using.stamps, []
    except EmbedderError as error:
        return None, (), [f"Searching by words only: {error}"]


def search_for(
    query: str,
    *,
    meaning: Meaning | None,
    filters: Filters,
    fusion: FusionRule,
    k: int,
    direct: UUID | None = None,
    aliases: Sequence[Pair] = (),
) -> Search:
    """What recall looks for when it is asked *query*; *direct* is the memory whose id was pasted."""
    text = searchable(query)
    words = words_of(text)
    return Search(
        filters=filters,
        words=words,
        widened=widened(words, text, aliases),
        names=names_in(text),
        meaning=meaning,
        direct=direct,
        pool=fusion.pool_multiplier * k,
        by_recency=fusion.recency_weight > 0,
    )


def _each_text_once(scored: list[Scored], found: dict[Any, Found]) -> list[Scored]:
    """The best of those that say exactly the same: another scope or kind may hold the text too, and so may imports."""
    best: dict[str, Scored] = {}
    for item in scored:
        best.setdefault(found[item.candidate.id].content_sha256, item)
    return list(best.values())


def _results(scored: list[Scored], found: dict[Any, Found], rows: MemoryQuerySet | None) -> list[Result]:
    hits = [(item, found[item.candidate.id]) for item in scored]
    if rows is None:
        return [_result(item, hit, memory_of(hit)) for item, hit in hits]
    memories = rows.in_bulk([item.candidate.id for item in scored])
    return [_result(item, hit, memories[item.candidate.id]) for item, hit in hits if item.candidate.id in memories]


def _result(scored: Scored, hit: Found, memory: Memory) -> Result:
    candidate, excerpt = scored.candidate, hit.text[:OPENING]
    return Result(
        memory=memory,
        excerpt=excerpt,
        truncated=len(excerpt) < hit.length,
        start=hit.start,
        stop=hit.start + len(excerpt),
        age_days=scored.age_days,
        score=scored.score,
        factors=scored.factors,
        ranks=Ranks(candidate.rank_vector, candidate.rank_text, candidate.rank_recency),
        fused=scored.fused,
        similarity=candidate.similarity,
        text_matched=candidate.text_matched,
        policy=scored.policy,
        why=why(scored),
    )


def _more_notices(query: str, filters: Filters, stamps: tuple[str, ...], borne: frozenset[str]) -> list[str]:
    notices = []
    if len(query) > QUERY_LENGTH:
        notices.append(f"The query is long: its first {QUERY_LENGTH:,} characters were searched for.")
    all_bear_one = len(borne) < 2 and borne <= set(stamps)  # the count reads every scope
    return notices if all_bear_one or not stamps else notices + _waiting_notices(filters, stamps)


def _waiting_notices(filters: Filters, stamps: tuple[str, ...]) -> list[str]:
    lacking = not_embedded_with(*stamps)
    if not Memory.objects.live().filter(lacking).exists():
        return []
    waiting = Memory.objects.live().in_scopes(filters.scopes).filter(lacking)
    counts = waiting.aggregate(never=Count("pk", filter=Q(embedded_at=None)), all=Count("pk"))
    never, before = counts["never"], counts["all"] - counts["never"]
    notices = []
    if never == 1:
        notices.append("1 of these memories is not embedded yet: it is found by its words only.")
    elif never:
        notices.append(f"{never:,} of these memories are not embedded yet: they are found by their words only.")
    if before:
        notices.append(
            f"{before:,} of these memories {'is' if before == 1 else 'are'} embedded by another model: "
            "found by words only until embedded again."
        )
    return notices


def _code_notices(results: list[Result]) -> list[str]:
    lowered = sum(result.factors.structural < 1 for result in results)
    unsure = sum(any(now.verdict == Verdict.UNKNOWN for now in result.anchors) for result in results)
    notices = []
    if lowered:
        notices.append(
            f"{lowered} of these memories {'ranks' if lowered == 1 else 'rank'} lower because the code "
            f"{'it names' if lowered == 1 else 'they name'} has changed since."
        )
    if unsure:
        notices.append(f"Of {unsure} of these memories the code could not be checked.")
    return notices


def _policy(results: list[Result]) -> str:
    policies = {result.policy for result in results}
    return policies.pop() if len(policies) == 1 else MIXED if policies else AGEING
