"""Rows into answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.utils import timezone

from memories.access import Actor
from memories.anchors import AnchorNow, looked_at
from memories.doubts import open_disputes
from memories.embedding_queue import is_embedded, stamps_in_use
from memories.history import ties, versions
from memories.looks import ledger, looks
from memories.models import Memory
from memories.recall import COUNTED
from memories.recognised_entities import recognised_of

if TYPE_CHECKING:
    from memories.recall import Recall, Result
    from memories.services import Remembered


def listed_answers(memories: Sequence[Memory], actor: Actor) -> list[dict[str, Any]]:
    """Memories from ``for_list()``: of a long text the opening only."""
    stamps, successors = stamps_in_use(), _successors(memories, actor)
    return [_listed(memory, stamps) | {"superseded_by": successors.get(memory.pk)} for memory in memories]


def _successors(memories: Sequence[Memory], actor: Actor) -> dict[UUID, UUID]:
    """By the memory's id, as far as the actor may read them: a successor may stand in another scope."""
    named = {memory.pk: memory.superseded_by_id for memory in memories if memory.superseded_by_id}
    if not named:
        return {}
    readable = set(Memory.objects.visible_to(actor).filter(pk__in=named.values()).values_list("pk", flat=True))
    return {memory: successor for memory, successor in named.items() if successor in readable}


def _listed(memory: Memory, stamps: Sequence[str]) -> dict[str, Any]:
    opening, length = memory.opening, memory.length  # type: ignore[attr-defined]  # annotated by for_list()
    return _answer(memory, stamps) | {"content": opening, "truncated": len(opening) < length}


def _answer(memory: Memory, stamps: Sequence[str]) -> dict[str, Any]:
    return {
        "id": memory.pk,
        "scope": memory.scope.slug,
        "kind": memory.kind,
        "state": memory.state,
        "version": memory.version,
        "provenance": memory.provenance,
        "confidence": memory.confidence,
        "author_kind": memory.author_kind,
        "author": memory.author.get_username() if memory.author else None,
        "agent": memory.agent,
        "session": memory.session,
        "source": memory.source,
        "pinned": memory.pinned,
        "created_at": memory.created_at,
        "updated_at": memory.updated_at,
        "valid_from": memory.valid_from,
        "valid_until": memory.valid_until,
        "invalidated_at": memory.invalidated_at,
        "invalidated_by": memory.invalidated_actor,
        "invalidation_reason": memory.invalidation_reason,
        "embedded": is_embedded(memory, stamps),
        "entities": [{"name": entity.name, "type": entity.type} for entity in memory.entities.all()],
    }


def whole_answer(memory: Memory, actor: Actor) -> dict[str, Any]:
    reinforcement = getattr(memory, "reinforcement", None)
    return _answer(memory, stamps_in_use()) | {
        "superseded_by": _successors([memory], actor).get(memory.pk),
        "content": memory.content,
        "truncated": False,
        "verbatim": memory.verbatim,
        "accessed_at": memory.accessed_at,
        "access_count": memory.access_count,
        "weight": memory.weight,
        "newest_source_at": memory.newest_source_at,
        "reinforcement": reinforcement.multiplier if reinforcement else 1.0,
        **_doubt(open_disputes([memory.pk]).get(memory.pk)),
        "verification": verification_answer(memory),
        "links": [
            {
                "type": tie.type,
                "direction": tie.direction,
                "id": tie.memory.pk,
                "headline": tie.memory.headline,
                "state": tie.memory.state,
            }
            for tie in ties(memory, actor)
        ],
        "entities_recognised": recognised_of(memory),
        "versions": [version_answer(version) for version in versions(memory, actor)],
        "anchors": _anchors(memory, actor),
    }


def verification_answer(memory: Memory) -> dict[str, Any]:
    """When it was looked at, newest first; ``stale_days`` and ``budget_days`` only of a core fact or reference."""
    checks, look = ledger(memory), looks([memory], timezone.now()).get(memory.pk)
    return {
        "stale_days": look.stale_days if look else None,
        "budget_days": look.budget if look else None,
        "checked_at": checks[0].at if checks else None,
        "checks": [
            {
                "at": check.at,
                "verdict": check.verdict,
                "method": check.method,
                "by": check.actor,
                "source": check.source,
                "note": check.note,
                "confidence": check.confidence,
                "model": check.model,
            }
            for check in checks
        ],
    }


def version_answer(version: Memory) -> dict[str, Any]:
    return {
        "id": version.pk,
        "version": version.version,
        "state": version.state,
        "created_at": version.created_at,
        "invalidated_at": version.invalidated_at,
        "invalidated_by": version.invalidated_actor,
        "headline": version.headline,
    }


def remember_answer(remembered: Remembered, actor: Actor) -> dict[str, Any]:
    memory = remembered.memory
    return {
        "id": memory.pk,
        "scope": memory.scope.slug,
        "deduplicated": remembered.deduplicated,
        "entities_recognised": list(remembered.recognised),
        "similar_existing": [
            {"id": one.memory.pk, "headline": one.memory.headline, "likeness": round(one.likeness, 3)}
            for one in remembered.similar
        ],
        "anchors": _anchors(memory, actor) if remembered.anchored else [],
        "notices": list(remembered.notices),
    }


def _anchors(memory: Memory, actor: Actor) -> list[dict[str, Any]]:
    found = looked_at([memory.pk], beside=actor.checkouts)
    return [anchor_answer(now) for now in found.get(memory.pk, [])]


def anchor_answer(now: AnchorNow) -> dict[str, Any]:
    """``place`` is where the code stands now, where that is another place."""
    anchor, place = now.anchor, now.judged.place
    return {
        "id": anchor.pk,
        "repository": anchor.repository,
        "path": anchor.path,
        "symbol": anchor.symbol,
        "verdict": now.verdict.value,
        "detail": now.judged.detail,
        "place": {"path": place.path, "symbol": place.symbol} if place else None,
        "fingerprint": anchor.exact,
        "revision": anchor.revision,
        "since": anchor.created_at,
    }


def _doubt(dispute: UUID | None) -> dict[str, Any]:
    return {"disputed": dispute is not None, "dispute_id": dispute}


def result_answer(result: Result) -> dict[str, Any]:
    memory = result.memory
    return {
        "id": memory.pk,
        "content": result.excerpt,
        "truncated": result.truncated,
        "kind": memory.kind,
        "scope": memory.scope.slug,
        "created_at": memory.created_at,
        "age_days": result.age_days,
        "score": result.score,
        "factors": asdict(result.factors),
        "ranks": asdict(result.ranks),
        "fused": result.fused.value,
        "fusion": {
            "parts": dict(result.fused.parts),
            "total": result.fused.total,
            "best": result.fused.best,
        },
        "similarity": result.similarity,
        "text_matched": result.text_matched,
        "pinned": memory.pinned,
        "confidence": memory.confidence,
        "policy": memory.scope.retention,
        "stale_days": result.stale_days,
        "anchors": [anchor_answer(now) for now in result.anchors],
        "why": result.why,
    }


def recall_answer(found: Recall, actor: Actor) -> dict[str, Any]:
    memories = [result.memory for result in found.results]
    successors, doubts = _successors(memories, actor), open_disputes([memory.pk for memory in memories])
    return {
        "results": [
            result_answer(result)
            | {"superseded_by": successors.get(result.memory.pk)}
            | _doubt(doubts.get(result.memory.pk))
            for result in found.results
        ],
        "notices": [*found.notices, *(one.said(most=COUNTED) for one in found.without)],
        "policy": found.policy,
        "took_ms": found.took_ms,
    }
