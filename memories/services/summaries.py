"""A memory that the product writes by itself from others, marked as such. It stands in for them, and they can be
restored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from memories import entities, windows
from memories.entities import EntitySpec
from memories.errors import Conflict
from memories.models import Kind, Link, Memory, Provenance, Scope
from memories.models.memory import AuthorKind, content_hash
from memories.services import audit
from memories.services.lifecycle import retire_by_scanner
from memories.services.writing import take_turns, writing
from memories.tasks import ring_for

TWIN: Final = "A live memory says exactly this already, so no summary was stored."


def replace_by_summary(
    *,
    scope: Scope,
    content: str,
    sources: Sequence[Memory],
    confidence: str,
    source: str,
    agent: str,
    label: str,
    named: Sequence[EntitySpec] = (),
) -> Memory:
    """Store *content*, then retire *sources* in its favour, all in one transaction: they keep their weights.

    *agent* is what the memory names as its author, *label* who acted. Raises Conflict, with nothing changed, where one
    of them is retired or pinned by now or changed since it was read, or where a live memory says exactly this.
    """
    with writing():
        held = _held(sources)
        _refuse_twin(scope, content)
        summary = _stored(scope, content, held, confidence, source, agent)
        entities.attach(summary, named)
        windows.write_windows(summary)
        audit.record(actor=None, label=label, action="remember", subject=summary, scope=scope, sources=len(held))
        for memory in held:
            Link.objects.create(source=summary, target=memory, type=Link.Type.DERIVED_FROM, created_by=label[:200])
            retire_by_scanner(memory=memory, label=label, reason=REASON, replacement=summary)
        ring_for(summary)
    return summary


REASON: Final = "Summarised with others that were hardly used."


def _held(sources: Sequence[Memory]) -> list[Memory]:
    rows = Memory.objects.live().filter(pk__in=[memory.pk for memory in sources], pinned=False)
    held = {row.pk: row for row in rows.order_by("pk").select_for_update(of=("self",)).select_related("scope")}
    read = {memory.pk: (memory.version, memory.kind, memory.content_sha256) for memory in sources}
    if read != {pk: (row.version, row.kind, row.content_sha256) for pk, row in held.items()}:
        raise Conflict("What was to be summarised was changed meanwhile, so nothing was.")
    return [held[memory.pk] for memory in sources]


def _refuse_twin(scope: Scope, content: str) -> None:
    sha = content_hash(content)
    take_turns(scope.pk, "content", sha)
    if Memory.objects.live().filter(scope=scope, kind=Kind.FACT, content_sha256=sha).exists():
        raise Conflict(TWIN)


def _stored(scope: Scope, content: str, sources: Sequence[Memory], confidence: str, source: str, agent: str) -> Memory:
    return Memory.objects.create(
        scope=scope,
        kind=Kind.FACT,
        content=content,
        content_sha256=content_hash(content),
        confidence=confidence,
        provenance=Provenance.AGENT,
        author_kind=AuthorKind.AGENT,
        agent=agent,
        source=source,
        newest_source_at=max(memory.created_at for memory in sources),
    )
