"""Asking a person about memories whose code changed, and closing by itself what was asked once the code is back."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import batched
from typing import Final
from uuid import UUID

from memories.access import Actor
from memories.anchors import AnchorNow, Looking, anchors_of, told_of
from memories.code.verdicts import DEMOTING, Place
from memories.commits import differs_at
from memories.models import CodeLook, Memory, Scope
from memories.services.audit import record
from memories.services.code_looks import note_asked
from memories.services.writing import require_scope, writing
from memories.then_and_now import difference_of, in_plain_text
from reflections import code_reading
from reflections.models import Dispute
from reflections.services.disputes import open_single
from reflections.services.disputes.rows import decide, held_open

SCANNER: Final = "code changes"
NAMED: Final = 3  # places that a reason names
ASKING_SECONDS: Final = 15.0  # a person waits for it
Type, Status, Resolution = Dispute.Type, Dispute.Status, Dispute.Resolution


def ask_about(memories: Sequence[UUID]) -> Iterator[Dispute | None]:
    """One row for each whose code is still changed or gone; None where one waits already, or nothing is to be asked.

    A person may have pinned the memory, or its kind be protected: nothing is done to it.
    """
    for piece in batched(memories, code_reading.AT_ONCE):
        by_memory, looking = anchors_of(piece), Looking(search_seconds=code_reading.SEARCH_SECONDS)
        rows = Memory.objects.live().select_related("scope").defer("content", "verbatim").in_bulk(piece)
        for memory in piece:
            nows = looking.at(by_memory.get(memory, []))
            yield _asked(rows.get(memory), nows, looking)


def _asked(memory: Memory | None, nows: Sequence[AnchorNow], looking: Looking) -> Dispute | None:
    stale = [now for now in nows if now.verdict in DEMOTING]
    if memory is None or not stale:
        return None
    return open_single(
        memory=memory,
        type=Type.CODE_CHANGED,
        scanner=SCANNER,
        rationale=_reason(stale, looking),
        evidence="\n\n".join(_then_and_now(now, looking) for now in stale[:NAMED]),
    )


def _reason(stale: Sequence[AnchorNow], looking: Looking) -> str:
    more = len(stale) - NAMED
    said = [_told(now, looking) for now in stale[:NAMED]]
    return " ".join([*said, *([f"So has other code, in {more} more places."] if more > 0 else [])])


def _told(now: AnchorNow, looking: Looking) -> str:
    tree = looking.tree_of(now.anchor)
    commit = f" {differs_at(now.anchor, tree)}" if tree else ""
    return f"{told_of([now])}.{commit}"


def _then_and_now(now: AnchorNow, looking: Looking) -> str:
    lines = in_plain_text(difference_of(now, looking.tree_of(now.anchor)))
    return f"{Place(now.anchor.path, now.anchor.symbol)}\n{lines}"


def close_passed(dispute: UUID, why: str) -> bool:
    """By itself, without anybody; False where somebody decided meanwhile."""
    with writing():
        rows = Dispute.objects.unsettled().filter(pk=dispute, type=Type.CODE_CHANGED).select_related("scope")
        row = rows.select_for_update(of=("self",)).first()
        if row is None:
            return False
        _close(row, None, why)
    return True


def close_back(*, actor: Actor, dispute: Dispute, version: int | None) -> Dispute | None:
    """What the next cycle would do, now, because *actor* looked at it; None where the code is not back."""
    nows = Looking(search_seconds=code_reading.SEARCH_SECONDS).at(
        anchors_of([dispute.subject_id]).get(dispute.subject_id, [])
    )
    why = code_reading.why_back(nows, dispute.opened_at)
    if not why:
        return None
    with writing():
        row = held_open(actor, dispute, version)
        _close(row, actor, why)
    return row


def _close(row: Dispute, by: Actor | None, why: str) -> None:
    decide(row, by=by, label=SCANNER, status=Status.DISMISSED, resolution=Resolution.PASSED, reason=why[:2000])
    record(
        actor=by,
        label="" if by else SCANNER,
        action="settle_dispute",
        subject=row,
        scope=row.scope,
        reason=why[:2000],
        resolution=row.resolution,
        scanner=SCANNER,
    )


def ask_all(*, actor: Actor, scope: Scope, repository: str) -> int:
    """A person says that the memories which were held are to be asked about; how many items came of it."""
    require_scope(actor, scope)
    reading = code_reading.Reading(scope, repository=repository, seconds=ASKING_SECONDS)
    for _ in reading.pieces():
        pass
    until, stale, asked, opened = time.monotonic() + ASKING_SECONDS, list(reading.stale), 0, 0
    for row in ask_about(stale):
        asked, opened = asked + 1, opened + (row is not None)
        if time.monotonic() > until:
            break
    with writing():
        look = CodeLook.objects.select_for_update().filter(scope=scope, repository__iexact=repository).first()
        if look:
            note_asked(look, left=len(stale) - asked + reading.unread)
        record(actor=actor, action="ask_about_code", subject=scope, scope=scope, repository=repository, items=opened)
    return opened
