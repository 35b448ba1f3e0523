"""Settling a dispute: one decision, what it does to the memories, and what is needed to take it back."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from memories.access import Actor
from memories.entities import EntitySpec
from memories.errors import Conflict, ValidationFailed
from memories.looks import is_fast
from memories.models import Memory
from memories.services import lifecycle
from memories.services.anchors import Renewal, put_in_place, renewal_of
from memories.services.audit import record
from memories.services.edit import edit
from memories.services.reinforcement import withdraw_reports
from memories.services.remember import remember
from memories.services.validation import MOST_ENTITIES, check_line, check_size
from memories.services.verification import stamp
from memories.services.writing import locked, writing
from reflections.models import Dispute
from reflections.services.disputes.rows import decide, held_open
from zeromemory.lib.unseen import is_blank

Resolution, Status = Dispute.Resolution, Dispute.Status
# Whoever upholds a world fact against one of these has looked at it.
ABOUT_TRUTH: Final = (Dispute.Type.OUTDATED, Dispute.Type.CHALLENGED, Dispute.Type.STALE_SUSPECT)


@dataclass(frozen=True, slots=True)
class Decision:
    """What somebody asks for. Of a pair, ``winner`` is the side that stays."""

    actor: Actor
    row: Dispute
    winner: Memory | None
    text: str
    reason: str
    renewal: Renewal = field(default_factory=Renewal)  # of changed code, as it was read before anything was locked

    @property
    def loser(self) -> Memory:
        return next(side for side in self.row.sides if side != self.winner)


@dataclass(frozen=True, slots=True)
class Outcome:
    resolution: str
    status: str = Status.RESOLVED
    merged: Memory | None = None
    retired: list[dict[str, Any]] = field(default_factory=list)
    former_kind: str = ""
    reanchored: dict[str, list[str]] = field(default_factory=dict)
    upheld: dict[str, Any] = field(default_factory=dict)


def resolve(
    *,
    actor: Actor,
    dispute: Dispute,
    version: int | None,
    resolution: str,
    winner: str | uuid.UUID | None = None,
    text: str | None = None,
    reason: str = "",
) -> Dispute:
    """Settle *dispute* as one of RESOLUTIONS says; the row as it then is.

    ``forget`` and ``supersede`` take the *winner*, ``merge`` the *text* that both become. Raises NotFound, Forbidden,
    ValidationFailed for what does not fit the dispute, and Conflict when somebody decided meanwhile or a memory that
    the decision needs is retired.
    """
    _check(resolution, reason)
    renewal = _renewal(dispute, resolution)
    with writing():
        row = held_open(actor, dispute, version)
        _hold_sides(actor, row)
        decision = Decision(actor, row, _winner(row, resolution, winner), _text(resolution, text), reason, renewal)
        outcome = RESOLUTIONS[resolution](decision)
        decide(
            row,
            by=actor,
            status=outcome.status,
            resolution=outcome.resolution,
            winner=decision.winner,
            merged=outcome.merged,
            retired=outcome.retired,
            former_kind=outcome.former_kind,
            reanchored=outcome.reanchored,
            upheld=outcome.upheld,
            reason=reason,
        )
        record(
            actor=actor,
            action="settle_dispute",
            subject=row,
            scope=row.scope,
            reason=reason,
            resolution=row.resolution,
            winner=str(row.winner_id) if row.winner_id else None,
        )
    return row


def mark_of(memory: Memory, before: datetime) -> dict[str, str]:
    """What undoing the retirement needs: when it was, and the date of the last change before it."""
    at = memory.invalidated_at
    if at is None:
        raise ValueError("Only of a retired memory.")
    return {"memory": str(memory.pk), "at": at.isoformat(), "updated_at": before.isoformat()}


# What each resolution does -------------------------------------------------------------------


def _keep_both(decision: Decision) -> Outcome:
    return Outcome(Resolution.KEPT_BOTH)


def _forget(decision: Decision) -> Outcome:
    if decision.winner is None or decision.winner.invalidated_at:
        raise Conflict("The memory to keep is retired itself. Restore it first, or keep the other one.", field="winner")
    loser, before = decision.loser, decision.loser.updated_at
    gone = lifecycle.forget(actor=decision.actor, memory=loser, reason=_because(decision))
    return Outcome(Resolution.FORGOT, retired=[mark_of(gone, before)])


def _supersede(decision: Decision) -> Outcome:
    if decision.winner is None:
        raise ValidationFailed("Name the side that stays as the winner.", field="winner")
    loser, before = decision.loser, decision.loser.updated_at
    gone = lifecycle.supersede(
        actor=decision.actor, memory=loser, replacement=decision.winner, reason=_because(decision)
    )
    return Outcome(Resolution.SUPERSEDED, retired=[mark_of(gone, before)])


def _merge(decision: Decision) -> Outcome:
    sides = decision.row.sides
    merged = _written(decision, sides)
    marks = []
    for side in sides:
        before = side.updated_at
        gone = lifecycle.supersede(actor=decision.actor, memory=side, replacement=merged, reason=_because(decision))
        marks.append(mark_of(gone, before))
    return Outcome(Resolution.MERGED, merged=merged, retired=marks)


def _uphold(decision: Decision) -> Outcome:
    row = decision.row
    upheld: dict[str, Any] = {}
    if row.is_challenge or row.type == Dispute.Type.STALE_SUSPECT:
        withdrawn = withdraw_reports(memory=row.subject, user=decision.actor.user, only_of=_accused_at(row))
        upheld["reports"] = [moment.isoformat() for moment in withdrawn]
    if row.type in ABOUT_TRUTH and is_fast(row.subject):
        look = stamp(actor=decision.actor, memory=row.subject, note=f"Upheld: {row.get_type_display().lower()}")
        upheld["look"] = look.at.isoformat()
    return Outcome(Resolution.UPHELD, status=Status.DISMISSED, reanchored=_reanchored(decision), upheld=upheld)


def _accused_at(row: Dispute) -> datetime | None:
    """A challenge speaks for itself alone; a suspicion for all that was reported until it is settled."""
    return None if row.type == Dispute.Type.STALE_SUSPECT else row.opened_at


def _renewal(dispute: Dispute, resolution: str) -> Renewal:
    """Whoever upholds a memory against changed code says that it holds for the code as it is now."""
    is_asked = dispute.type == Dispute.Type.CODE_CHANGED and dispute.is_open and not dispute.subject.invalidated_at
    if resolution != "uphold" or not is_asked:
        return Renewal()
    return renewal_of(dispute.subject)


def _reanchored(decision: Decision) -> dict[str, list[str]]:
    former, anew = decision.renewal.former, decision.renewal.anew
    if not former:
        return {}
    put_in_place(
        actor=decision.actor, memory=decision.row.subject, former=former, anew=anew, reason=decision.reason[:1900]
    )
    return {"former": [str(anchor.pk) for anchor in former], "anew": [str(anchor.pk) for anchor in anew]}


def _retire(decision: Decision) -> Outcome:
    subject, before = decision.row.subject, decision.row.subject.updated_at
    # What is ready to be closed was not wrong, and its trail says so.
    retire = lifecycle.close if decision.row.type == Dispute.Type.LOOP_DONE else lifecycle.forget
    gone = retire(actor=decision.actor, memory=subject, reason=_because(decision))
    return Outcome(Resolution.RETIRED, retired=[mark_of(gone, before)])


def _refile(decision: Decision) -> Outcome:
    subject, kind = decision.row.subject, decision.row.proposed_kind
    if not kind:
        raise ValidationFailed("Nobody proposed another kind here. Use uphold or retire.", field="resolution")
    before: dict[str, Any] = {
        "memory": str(subject.pk),
        "version": subject.version,
        "updated_at": subject.updated_at.isoformat(),
    }
    former = subject.kind
    edited = edit(actor=decision.actor, memory=subject, expected_version=subject.version, kind=kind)
    return Outcome(
        Resolution.REFILED, former_kind=former, retired=[before] if edited.version > before["version"] else []
    )


RESOLUTIONS: Final[dict[str, Callable[[Decision], Outcome]]] = {
    "keep_both": _keep_both,
    "forget": _forget,
    "supersede": _supersede,
    "merge": _merge,
    "uphold": _uphold,
    "retire": _retire,
    "refile": _refile,
}
OF_PAIRS: Final = ("keep_both", "forget", "supersede", "merge")
OF_SINGLES: Final = ("uphold", "retire", "refile")
WITH_WINNER: Final = ("forget", "supersede")


def _because(decision: Decision) -> str:
    return decision.reason or f"{decision.row.get_type_display()}: settled in a dispute"


def _written(decision: Decision, sides: list[Memory]) -> Memory:
    """The new text: of the kind of the newer side, about what both are about."""
    named = {(entity.canonical, entity.type): entity for side in sides for entity in side.entities.all()}
    remembered = remember(
        compare=False,
        actor=decision.actor,
        scope=decision.row.scope,
        content=decision.text,
        kind=sides[-1].kind,
        entities=[EntitySpec(entity.name, entity.type) for entity in list(named.values())[:MOST_ENTITIES]],
        pinned=any(side.pinned for side in sides),
        source=f"dispute:{decision.row.pk}",
    )
    if remembered.deduplicated:
        raise Conflict(
            "A live memory says exactly this already. If it is one of the two, let it supersede the other.",
            field="text",
        )
    return remembered.memory


# What may be asked for -----------------------------------------------------------------------


def _check(resolution: str, reason: str) -> None:
    if resolution not in RESOLUTIONS:
        raise ValidationFailed(f"The resolution must be one of {', '.join(RESOLUTIONS)}.", field="resolution")
    check_line(reason, "reason")


def _hold_sides(actor: Actor, row: Dispute) -> None:
    """In the order of their ids, so that two decisions about the same memories cannot deadlock."""
    now = {side.pk: locked(actor, side) for side in sorted(row.sides, key=lambda side: side.pk)}
    row.subject = now[row.subject.pk]
    if row.other:
        row.other = now[row.other.pk]


def _winner(row: Dispute, resolution: str, winner: str | uuid.UUID | None) -> Memory | None:
    _check_fits(row, resolution)
    if resolution not in WITH_WINNER:
        if winner is not None:
            raise ValidationFailed(f"{resolution} takes no winner. Leave it out.", field="winner")
        return None
    if winner is None:
        raise ValidationFailed("Name the side that stays as the winner.", field="winner")
    found: dict[Any, Memory] = {str(side.pk): side for side in row.sides}
    if str(winner).lower() not in found:
        raise ValidationFailed("The winner must be one of the two memories in dispute.", field="winner")
    return found[str(winner).lower()]


def _check_fits(row: Dispute, resolution: str) -> None:
    if row.is_pair and resolution in OF_SINGLES:
        raise ValidationFailed(
            f"This dispute is about two memories: {resolution} is for one. Use one of {', '.join(OF_PAIRS)}.",
            field="resolution",
        )
    if not row.is_pair and resolution in OF_PAIRS:
        raise ValidationFailed(
            f"This dispute is about one memory: {resolution} is for two. Use one of {', '.join(OF_SINGLES)}.",
            field="resolution",
        )


def _text(resolution: str, text: str | None) -> str:
    if resolution != "merge":
        if text is not None:
            raise ValidationFailed(f"{resolution} takes no text. Leave it out.", field="text")
        return ""
    if text is None or not text.strip():
        raise ValidationFailed("Write the text that both become.", field="text")
    check_size(text, "text")
    if is_blank(text):
        raise ValidationFailed("Write the text that both become: nothing in it can be seen.", field="text")
    # Browsers send a textarea's lines with CRLF.
    return text.replace("\r\n", "\n").strip()
