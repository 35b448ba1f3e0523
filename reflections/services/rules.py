"""What a signed-in person decides about standing rules. Each verb is one transaction with its audit entry."""

from collections.abc import Collection
from datetime import datetime

from django.utils import timezone

from memories.access import Actor, require_write
from memories.errors import Conflict, Forbidden, NotFound, ValidationFailed
from memories.models import Memory, Reinforcement, Scope
from memories.services.audit import record
from memories.services.reinforcement import set_promoted
from memories.services.validation import check_line, check_storable
from memories.services.writing import locked, writing
from reflections.access import NO_RULE
from reflections.delivery import hindrance, is_edited, wordings_now, wordings_of
from reflections.models import StandingRule
from reflections.models.rules import LONGEST
from reflections.rule_wording import decided_already
from reflections.services.decisions import wake_date
from zeromemory.lib.unseen import is_blank

State, Layer = StandingRule.State, StandingRule.Layer


# Deciding about a proposal -------------------------------------------------------------------


def promote(
    *,
    actor: Actor,
    rule: StandingRule,
    version: int,
    text: str | None = None,
    layer: str | None = None,
    scopes: Collection[int] | None = None,
) -> StandingRule:
    """Deliver the proposed text, or the one a person typed, from now on; its memory ranks at the multiplier of rules.

    Raises Forbidden for whoever is no signed-in person, ValidationFailed, or Conflict when somebody decided already or
    the memory is not live.
    """
    with writing():
        memory = _locked_memory(actor, rule)  # always before the rule, so that two verbs cannot wait for each other
        row = _open_row(actor, rule, version)
        _refuse_retired(memory)
        edited = _write_text(row, text)
        _write_target(actor, row, layer, scopes)
        row.promoted_at, row.promoted_by, row.worded_at = timezone.now(), actor.user, timezone.now()
        _decide(row, State.PROMOTED, actor)
        set_promoted(memory=memory, promoted=True, now=timezone.now())
        _record(actor, "promote_rule", row, memory=str(memory.pk), layer=row.layer, edited=edited)
    return row


def make_rule(
    *, actor: Actor, memory: Memory, text: str, layer: str | None = None, scopes: Collection[int] | None = None
) -> StandingRule:
    """Promote a memory by hand, proposed or not. Raises like ``promote``, and Conflict for a rule that there was."""
    _refuse_machines(actor)
    with writing():
        memory = locked(actor, memory)
        _refuse_retired(memory)
        row = rule_of(memory) or _created(memory, _checked(text), "Asked for from the page of the memory.")
        if row.state in (State.PROMOTED, State.DISMISSED, State.REVOKED):
            raise Conflict(f"This memory has been proposed before. {decided_already(row)}")
        if row.state == State.SNOOZED:
            _reopen(row, actor)
        return promote(actor=actor, rule=row, version=row.version, text=text, layer=layer, scopes=scopes)


def dismiss(*, actor: Actor, rule: StandingRule, version: int, reason: str = "") -> StandingRule:
    """Never to be proposed again, in whatever wording."""
    reason = reason.strip()
    check_line(reason, "reason")
    with writing():
        row = _open_row(actor, rule, version)
        _decide(row, State.DISMISSED, actor, reason=reason)
        _record(actor, "dismiss_rule", row, reason=reason)
    return row


def snooze(*, actor: Actor, rule: StandingRule, version: int, until: datetime | None = None) -> StandingRule:
    """Out of the queue until *until*, by default for the configured number of days; then proposed again."""
    until = wake_date(until)
    with writing():
        row = _open_row(actor, rule, version)
        _decide(row, State.SNOOZED, actor, snoozed_until=until)
        _record(actor, "snooze_rule", row, until=until.isoformat())
    return row


# Deciding about a rule -----------------------------------------------------------------------


def revoke(*, actor: Actor, rule: StandingRule, version: int, reason: str) -> StandingRule:
    """No rule any more, for a *reason*; the multiplier of its memory is again what its signals amount to."""
    reason = reason.strip()
    check_line(reason, "reason")
    if is_blank(reason):
        raise ValidationFailed("Say why this is no rule any more: those who relied on it will ask.", field="reason")
    with writing():
        memory = _locked_memory(actor, rule)
        row = _promoted_row(actor, rule, version)
        _decide(row, State.REVOKED, actor, reason=reason)
        _demote(memory)
        _record(actor, "revoke_rule", row, reason=reason)
    return row


def pin(*, actor: Actor, rule: StandingRule, version: int) -> StandingRule:
    """Delivered before the others, and whatever their number."""
    return _set_pin(actor, rule, version, pinned=True)


def unpin(*, actor: Actor, rule: StandingRule, version: int) -> StandingRule:
    return _set_pin(actor, rule, version, pinned=False)


def reword(
    *,
    actor: Actor,
    rule: StandingRule,
    version: int,
    text: str,
    layer: str | None = None,
    scopes: Collection[int] | None = None,
) -> StandingRule:
    """Another text for a rule, or another place; its memory stays as it is."""
    with writing():
        row = _promoted_row(actor, rule, version)
        edited = _write_text(row, text)
        _write_target(actor, row, layer, scopes)
        row.worded_at = timezone.now()
        _save(row)
        _record(actor, "reword_rule", row, layer=row.layer, edited=edited)
    return row


def undo(*, actor: Actor, rule: StandingRule, version: int) -> StandingRule:
    """The state before the last decision: what was revoked is a rule again, everything else a proposal."""
    with writing():
        memory = _locked_memory(actor, rule)
        row = _held(actor, rule, version)
        if row.is_open:
            raise Conflict("There is nothing to undo: this rule is waiting for a decision.")
        if row.state == State.REVOKED:
            return _reinstated(actor, row, memory)
        undone = row.state
        if undone == State.PROMOTED:
            _demote(memory)
        _reopen(row, actor)
        _record(actor, "reopen_rule", row, undone=undone)
    return row


def _reinstated(actor: Actor, row: StandingRule, memory: Memory) -> StandingRule:
    _decide(row, State.PROMOTED, actor)
    set_promoted(memory=memory, promoted=True, now=timezone.now())
    _record(actor, "reinstate_rule", row)
    return row


def _set_pin(actor: Actor, rule: StandingRule, version: int, *, pinned: bool) -> StandingRule:
    with writing():
        row = _promoted_row(actor, rule, version)
        if row.pinned == pinned:
            return row
        row.pinned = pinned
        _save(row)
        _record(actor, "pin_rule" if pinned else "unpin_rule", row)
    return row


# Proposing -----------------------------------------------------------------------------------


def rule_of(memory: Memory) -> StandingRule | None:
    """The rule of the memory, proposed for whichever wording of it."""
    return StandingRule.objects.whole().filter(memory__in=wordings_of(memory)).first()


def propose(*, memory: Memory, sessions: int, rationale: str, label: str, settled: datetime) -> StandingRule | None:
    """Put a live memory up as a rule; None when it was retired, changed after *settled* or proposed meanwhile."""
    with writing():
        row = Memory.objects.live().select_for_update(of=("self",)).select_related("scope").filter(pk=memory.pk).first()
        if row is None or row.updated_at > settled or rule_of(row):
            return None
        rule = _created(row, row.content.strip(), rationale, sessions=sessions)
        record(actor=None, label=label, action="propose_rule", subject=rule, scope=rule.scope, scanner=label)
    return rule


def _created(memory: Memory, text: str, rationale: str, *, sessions: int = 0) -> StandingRule:
    """Of a core scope for everywhere its owner works, of another for this one."""
    is_core = memory.scope.is_core
    rule = StandingRule.objects.create(
        memory=memory,
        scope=memory.scope,
        text=text,
        layer=Layer.CORE if is_core else Layer.SCOPE,
        rationale=rationale,
        sessions=sessions,
    )
    if not is_core:
        rule.scopes.set([memory.scope])
    return rule


def suggest(*, actor: Actor, memory: Memory, text: str, reason: str = "") -> StandingRule:
    """Put a memory up as a rule in the name of an agent, for a person to decide about.

    Raises Forbidden for whoever may not write to its scope, ValidationFailed, and Conflict where the memory is retired
    or was proposed before.
    """
    reason = reason.strip()
    check_line(reason, "reason")
    with writing():
        memory = locked(actor, memory)
        _refuse_retired(memory)
        if row := rule_of(memory):
            so_far = "It waits in the inbox." if row.is_open else decided_already(row)
            raise Conflict(f"This memory has been proposed before. {so_far}")
        rule = _created(memory, _checked(text or memory.content), reason or f"Suggested by {actor.label}.")
        record(actor=actor, action="propose_rule", subject=rule, scope=rule.scope, reason=reason)
    return rule


# The row -------------------------------------------------------------------------------------


def _refuse_machines(actor: Actor) -> None:
    if not actor.is_person:
        raise Forbidden("Only a signed-in person decides about standing rules. Open them in a browser.")


def _held(actor: Actor, rule: StandingRule, version: int) -> StandingRule:
    """The row as it stands now, held until the end of the transaction."""
    _refuse_machines(actor)
    row = StandingRule.objects.visible_to(actor).select_for_update(of=("self",)).whole().filter(pk=rule.pk).first()
    if row is None:
        raise NotFound(NO_RULE)
    require_write(actor, row.scope_id)
    if row.version != version:
        raise Conflict(decided_already(row))
    return row


def _open_row(actor: Actor, rule: StandingRule, version: int) -> StandingRule:
    row = _held(actor, rule, version)
    if not row.is_open:
        raise Conflict(decided_already(row))
    return row


def _promoted_row(actor: Actor, rule: StandingRule, version: int) -> StandingRule:
    row = _held(actor, rule, version)
    if row.state != State.PROMOTED:
        raise Conflict(decided_already(row))
    return row


def _locked_memory(actor: Actor, rule: StandingRule) -> Memory:
    """Its memory as it is worded now, held until the end of the transaction."""
    _refuse_machines(actor)
    memory = locked(actor, wordings_now([rule])[rule.pk])
    while is_edited(memory) and memory.superseded_by:
        memory = locked(actor, memory.superseded_by)
    return memory


def _refuse_retired(memory: Memory) -> None:
    if hindrance(memory):
        raise Conflict("The memory behind this is retired or no longer valid. Restore it first, or dismiss the rule.")


def _demote(memory: Memory) -> None:
    rows = Reinforcement.objects.filter(memory__in=wordings_of(memory), promoted=True)
    for row in rows.select_related("memory"):
        set_promoted(memory=row.memory, promoted=False, now=timezone.now())


def _decide(
    row: StandingRule, state: str, actor: Actor, *, reason: str = "", snoozed_until: datetime | None = None
) -> None:
    row.state, row.reason, row.snoozed_until = state, reason, snoozed_until
    row.decided_by, row.decided_at = actor.user, timezone.now()
    _save(row)


def _reopen(row: StandingRule, actor: Actor) -> None:
    row.promoted_at = row.promoted_by = None
    row.pinned = False
    _decide(row, State.PROPOSED, actor)


def _save(row: StandingRule) -> None:
    row.version += 1
    row.save()


def _record(actor: Actor, action: str, row: StandingRule, **said: object) -> None:
    record(actor=actor, action=action, subject=row, scope=row.scope, **said)  # type: ignore[arg-type]  # reason is text


# What is written -----------------------------------------------------------------------------


def _write_text(row: StandingRule, text: str | None) -> bool:
    """Whether it is another text than before."""
    if text is None:
        return False
    text = _checked(text)
    edited, row.text = text != row.text, text
    return edited


def _checked(text: str) -> str:
    # Browsers send a textarea's lines with CRLF.
    text = text.replace("\r\n", "\n").strip()
    check_storable(text, "text")
    if is_blank(text):
        raise ValidationFailed("Write the rule: its text is empty.", field="text")
    if len(text) > LONGEST:
        raise ValidationFailed(f"A rule has at most {LONGEST:,} characters: agents read it every time.", field="text")
    return text


def _write_target(actor: Actor, row: StandingRule, layer: str | None, scopes: Collection[int] | None) -> None:
    layer = layer or row.layer
    if layer not in Layer.values:
        raise ValidationFailed(f"The layer must be one of {', '.join(Layer.values)}.", field="layer")
    if layer == Layer.CORE and not (row.scope.is_core or row.scope.owner_id == actor.user.pk):
        raise ValidationFailed("Only the owner of the scope may deliver its rules everywhere.", field="layer")
    row.layer = layer
    if layer == Layer.CORE:
        row.scopes.clear()
    elif scopes is not None or not row.scopes.exists():
        row.scopes.set(_targets(actor, row, scopes))


def _targets(actor: Actor, row: StandingRule, scopes: Collection[int] | None) -> list[Scope]:
    """Those chosen, and where others deliver it: nobody takes a rule out of a scope that they may not write to."""
    chosen = {row.scope_id} if scopes is None else set(scopes)
    kept = {scope.pk for scope in row.scopes.all() if scope.pk not in actor.writable}
    if not chosen | kept:
        raise ValidationFailed("Choose at least one scope to deliver it in.", field="scopes")
    if not chosen <= actor.writable:
        raise ValidationFailed(
            "A rule is delivered in scopes that you may write to. Choose among those.", field="scopes"
        )
    return list(Scope.objects.filter(pk__in=chosen | kept))
