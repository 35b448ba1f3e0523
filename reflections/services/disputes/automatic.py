"""What happens without anybody asking: the ladder's decisions carried out, and the sweep of what is moot."""

from collections.abc import Sequence
from typing import Any, Final

from django.utils import timezone

from memories.models import Memory, Scope
from memories.services import lifecycle
from memories.services.audit import record
from memories.services.writing import writing
from reflections import ladder
from reflections.ladder import Action, Decision
from reflections.models import Dispute
from reflections.services.disputes.opening import label_of, open_pair, opened, take_turns_over
from reflections.services.disputes.pairs import in_order, side_of
from reflections.services.disputes.rows import decide
from reflections.services.disputes.settling import mark_of

SWEEP: Final = "stale sweep"
BATCH: Final = 200


def carry_out(
    *, one: Memory, another: Memory, decision: Decision, scanner: str, model: str = "", **judged: Any
) -> Dispute | None:
    """Do what the ladder decided about two memories; the dispute that came of it, None where nothing did.

    A decision to ask a judge parks the pair as ``unjudged``: call this where there is none. *judged* are the judge's
    ``confidence``, ``rationale`` and ``evidence``.
    """
    if decision.action == Action.NOTHING:
        return None
    if decision.action in (Action.FORGET, Action.SUPERSEDE):
        return act_automatically(one=one, another=another, decision=decision, scanner=scanner, model=model, **judged)
    return _queued(one, another, decision, scanner, model, judged)


def act_automatically(
    *, one: Memory, another: Memory, decision: Decision, scanner: str, model: str = "", **judged: Any
) -> Dispute | None:
    """Forget or supersede the loser, naming scanner and model; the settled dispute, by which it can be undone.

    None when one of the two is gone by now or the pair is known. What was pinned or made a protected kind meanwhile is
    queued for a person instead.
    """
    with writing():
        take_turns_over(one, another)
        rows = _held(one, another)
        if len(rows) < 2 or Dispute.objects.of_pair(one, another).exists():
            return None
        winner, loser = (_row_of(rows, decision.winner), _row_of(rows, decision.loser))
        if loser.pinned or side_of(loser).is_protected or side_of(loser).outlasts(side_of(winner)):
            return _queued(one, another, decision, scanner, model, judged)
        return _settled(winner, loser, decision, scanner, model, judged)


def _held(one: Memory, another: Memory) -> dict[Any, Memory]:
    """The live ones of the two, by id, held until the end of the transaction."""
    rows = Memory.objects.live().filter(pk__in=[one.pk, another.pk]).select_related("scope")
    return {row.pk: row for row in rows.order_by("pk").select_for_update(of=("self",))}


def _row_of(rows: dict[Any, Memory], side: ladder.Side | None) -> Memory:
    if side is None:
        raise ValueError("An automatic act has a winner and a loser.")
    return rows[side.id]


def _settled(
    winner: Memory, loser: Memory, decision: Decision, scanner: str, model: str, judged: dict[str, Any]
) -> Dispute:
    older, newer = in_order(winner, loser)
    before, label = loser.updated_at, label_of(scanner, model)
    supersedes = decision.action == Action.SUPERSEDE
    dispute = opened(scanner, model, type=decision.type, subject=older, other=newer, proposed_winner=winner, **judged)
    lifecycle.retire_by_scanner(
        memory=loser,
        label=label,
        reason=f"{scanner}: {decision.reason}",
        replacement=winner if supersedes else None,
        scanner=scanner,
        model=model,
        dispute=str(dispute.pk),
    )
    resolution = Dispute.Resolution.SUPERSEDED if supersedes else Dispute.Resolution.FORGOT
    decide(
        dispute,
        by=None,
        label=label,
        status=Dispute.Status.RESOLVED,
        resolution=resolution,
        winner=winner,
        retired=[mark_of(loser, before)],
        reason=str(decision.reason),
    )
    record(
        actor=None,
        label=label,
        action="settle_dispute",
        subject=dispute,
        scope=dispute.scope,
        reason=str(decision.reason),
        resolution=resolution,
        winner=str(winner.pk),
        scanner=scanner,
        model=model,
    )
    return dispute


def _queued(
    one: Memory, another: Memory, decision: Decision, scanner: str, model: str, judged: dict[str, Any]
) -> Dispute | None:
    sides: dict[Any, Memory] = {memory.pk: memory for memory in (one, another)}
    winner = sides.get(decision.winner.id) if decision.winner else None
    return open_pair(
        one=one,
        another=another,
        type=decision.type,
        scanner=scanner,
        model=model,
        proposed_winner=winner,
        **judged,
    )


def sweep_stale(scopes: Sequence[Scope]) -> int:
    """Dismiss what is open about memories that were retired meanwhile; how many there were. No memory is touched.

    Each BATCH is a transaction of its own, so that nobody waits for the whole.
    """
    total = 0
    while swept := _sweep_batch(scopes):
        total += swept
    return total


def _sweep_batch(scopes: Sequence[Scope]) -> int:
    with writing():
        stale = Dispute.objects.unsettled().with_dead_side().filter(scope__in=scopes).select_related("scope")
        rows = list(stale.select_for_update(of=("self",), skip_locked=True).order_by("pk")[:BATCH])
        now = timezone.now()
        for row in rows:
            decide(
                row,
                by=None,
                label=SWEEP,
                status=Dispute.Status.DISMISSED,
                resolution=Dispute.Resolution.SWEPT,
                reason=f"A side was gone on {now:%Y-%m-%d}",
            )
            record(
                actor=None,
                label=SWEEP,
                action="settle_dispute",
                subject=row,
                scope=row.scope,
                resolution=row.resolution,
                scanner=SWEEP,
            )
    return len(rows)
