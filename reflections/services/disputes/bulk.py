"""Many disputes in one act: each settles or fails on its own."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from django.db import transaction

from memories.access import Actor
from memories.errors import ValidationFailed, ZeroMemoryError
from memories.models import Memory
from memories.querysets import OPENING
from reflections.access import dispute_for
from reflections.models import Dispute
from reflections.services.disputes.settling import resolve

MOST: Final = 100


@dataclass(frozen=True, slots=True)
class Ask:
    """One decision about one dispute; without a version it is taken as it stands."""

    dispute: str | uuid.UUID
    resolution: str
    version: int | None = None
    winner: str | uuid.UUID | None = None
    text: str | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Failure:
    dispute: str
    code: str
    message: str


@dataclass(slots=True)
class Settled:
    """``resolved`` come as from ``opening()``. ``skipped``: the policy says nothing about them. ``failed``: refused,
    each with its reason."""

    resolved: list[Dispute] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    failed: list[Failure] = field(default_factory=list)


def resolve_many(
    *,
    actor: Actor,
    policy: str | None = None,
    disputes: Sequence[str | uuid.UUID] = (),
    resolutions: Sequence[Ask] = (),
    reason: str = "",
    dry_run: bool = False,
) -> Settled:
    """Settle *disputes* by one of POLICIES, or each of *resolutions* as it says. At most MOST, and never "all".

    With *dry_run* everything is tried and nothing kept.
    """
    _check(policy, disputes, resolutions)
    settled = Settled()
    if not dry_run:
        _each(actor, policy, disputes, resolutions, reason, settled)
        return settled
    with transaction.atomic():
        _each(actor, policy, disputes, resolutions, reason, settled)
        transaction.set_rollback(True)
    return settled


def _check(policy: str | None, disputes: Sequence[Any], resolutions: Sequence[Ask]) -> None:
    if policy is not None and resolutions:
        raise ValidationFailed("Send a policy with disputes, or resolutions; not both.", field="policy")
    if policy is not None and policy not in POLICIES:
        raise ValidationFailed(f"The policy must be one of {', '.join(POLICIES)}.", field="policy")
    if policy is None and disputes:
        raise ValidationFailed("Say by which policy these disputes are settled.", field="policy")
    name, named = ("disputes", disputes) if policy is not None else ("resolutions", resolutions)
    if not 1 <= len(named) <= MOST:
        raise ValidationFailed(f"Name from 1 to {MOST} {name}.", field=name)


def _each(
    actor: Actor,
    policy: str | None,
    disputes: Sequence[str | uuid.UUID],
    resolutions: Sequence[Ask],
    reason: str,
    settled: Settled,
) -> None:
    for ask in resolutions:
        _one(actor, ask.dispute, partial(_as_asked, ask), settled)
    for dispute in disputes:
        _one(actor, dispute, lambda row: _by_policy(row, policy or "", reason), settled)


def _as_asked(ask: Ask, row: Dispute) -> Ask:
    return ask


def _one(actor: Actor, dispute: str | uuid.UUID, asked: Callable[[Dispute], Ask | None], settled: Settled) -> None:
    try:
        row = dispute_for(actor, dispute, characters=OPENING)
        ask = asked(row)
        if ask is None:
            settled.skipped.append(str(row.pk))
            return
        resolve(
            actor=actor,
            dispute=row,
            version=ask.version,
            resolution=ask.resolution,
            winner=ask.winner,
            text=ask.text,
            reason=ask.reason,
        )
        # Read anew, for the rows that were decided about hold whole texts.
        settled.resolved.append(dispute_for(actor, row.pk, characters=OPENING))
    except ZeroMemoryError as error:
        settled.failed.append(Failure(str(dispute), error.code, error.message))


# Policies ------------------------------------------------------------------------------------


def _newer(row: Dispute) -> Memory | None:
    return row.other


def _older(row: Dispute) -> Memory | None:
    return row.subject if row.is_pair else None


def _proposed(row: Dispute) -> Memory | None:
    return next((side for side in row.sides if row.is_pair and side.pk == row.proposed_winner_id), None)


_WINNERS: Final[dict[str, Callable[[Dispute], Memory | None]]] = {
    "newer": _newer,
    "older": _older,
    "proposed": _proposed,
}
POLICIES: Final = (*_WINNERS, "keep_both", "uphold")


def _by_policy(row: Dispute, policy: str, reason: str) -> Ask | None:
    """What the policy asks for; None where it says nothing: about a single memory which of two stays, for instance."""
    if policy in _WINNERS:
        return _with_winner(row, _WINNERS[policy](row), reason)
    fits = row.is_pair == (policy == "keep_both")
    return Ask(row.pk, policy, version=row.version, reason=reason) if fits else None


def _with_winner(row: Dispute, winner: Memory | None, reason: str) -> Ask | None:
    # A pin is a person's word that this one stays: a policy does not overrule it.
    if winner is None or any(side.pinned for side in row.sides if side != winner):
        return None
    resolution = "forget" if row.type == Dispute.Type.DUPLICATE else "supersede"
    return Ask(row.pk, resolution, version=row.version, winner=winner.pk, reason=reason)
