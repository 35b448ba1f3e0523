"""Tools that look after the store: disputes, hygiene, scopes, rules, figures, imports and receipts."""

from __future__ import annotations

import io
from dataclasses import asdict
from typing import Annotated, Any, Literal
from uuid import UUID

from django.db.models import Count
from django.utils import timezone
from mcp.server import MCPServer
from pydantic import Field, StrictBool, StrictInt

from insights import queries, recall_quality
from insights.receipts import receipt
from memories.access import Actor, memory_for, readable_scopes, scope_for, write_target
from memories.briefing import open_loops_in
from memories.errors import ValidationFailed
from memories.guard import refuse_secrets
from memories.models import Memory
from memories.models import Scope as ScopeRow
from memories.presentation import scope_names
from memories.services import aliases
from memories.transfer.importing import import_from
from memories.transfer.registry import format_called
from memories.vocabulary import LONGEST
from reflections import dispute_shapes, hygiene
from reflections.access import dispute_for
from reflections.delivery import deliverable
from reflections.dispute_api import page_of_disputes
from reflections.hygiene_api import RunOut, busy_with, run_answer, scopes_to_look_after
from reflections.models import Dispute
from reflections.services import disputes
from reflections.services.rules import suggest
from zeromemory.lib.counting import counted
from zeromemory.mcp import wording
from zeromemory.mcp.calling import READS, WRITES, WRITES_ONCE, Said, tool
from zeromemory.mcp.memory_tools import Id, Reason, Scope
from zeromemory.mcp.retention_tools import retention_of
from zeromemory.mcp.shapes import AliasTold, Imported, Metrics, Proposed, Receipt, ScopeTold, Written

DISPUTES_A_PAGE = 20
LONGEST_IMPORT = 1_000_000  # characters


def register(server: MCPServer) -> None:
    tool(server, title="Doubts that wait", gives=dispute_shapes.DisputePage)(list_conflicts)
    tool(server, title="Read one doubt", gives=dispute_shapes.DisputeWhole)(get_conflict)
    tool(server, title="Settle a doubt", gives=dispute_shapes.DisputeWhole, manners=WRITES)(resolve_conflict)
    tool(server, title="Look for what drifted", gives=RunOut, manners=WRITES)(scan_hygiene)
    tool(server, title="Describe a scope", gives=ScopeTold)(describe_scope)
    tool(server, title="Words that mean the same", gives=AliasTold, manners=WRITES_ONCE)(alias)
    tool(server, title="Suggest a standing rule", gives=Proposed, manners=WRITES)(promote_rule)
    tool(server, title="Figures", gives=Metrics)(export_metrics)
    tool(server, title="Import memories", gives=Imported, manners=WRITES_ONCE)(import_memory)
    tool(server, title="Receipt of a session", gives=Receipt, manners=READS)(session_receipt)


def list_conflicts(
    actor: Actor,
    status: dispute_shapes.Status = "pending",
    type: dispute_shapes.Type | None = None,
    scope: Scope = None,
    cursor: Annotated[str | None, Field(description="next_cursor of the page before.")] = None,
) -> Said:
    """Doubts about memories, oldest first: duplicates, contradictions, challenges and others that a person settles."""
    page = page_of_disputes(actor, status=status, type=type, scope=scope, cursor=cursor, size=DISPUTES_A_PAGE)
    rows = [({"dispute": row["id"], "type": row["type"]}, row["subject"]["headline"]) for row in page["disputes"]]
    more = " There are more: ask with next_cursor." if page["next_cursor"] else ""
    return Said(page, wording.quoted(f"{counted(len(rows), 'doubt')}.{more}", rows))


def get_conflict(actor: Actor, id: Annotated[str, Field(description="Id of a dispute.")]) -> Said:
    """One doubt with both sides, why it was raised, and what shows it."""
    return _dispute(actor, id, "")


def resolve_conflict(
    actor: Actor,
    id: Annotated[str, Field(description="Id of a dispute.")],
    version: Annotated[StrictInt, Field(ge=1, le=2_000_000_000, description="The version you read.")],
    resolution: dispute_shapes.Resolution,
    winner: Annotated[UUID | None, Field(description="Of a pair the side that stays.")] = None,
    text: Annotated[str | None, Field(description="What both become: merge.")] = None,
    reason: Reason = "",
) -> Said:
    """Settle a doubt. Only with a token that was created for it. Everything can be undone by a person."""
    dispute = dispute_for(actor, id)
    disputes.resolve(
        actor=actor, dispute=dispute, version=version, resolution=resolution, winner=winner, text=text, reason=reason
    )
    return _dispute(actor, id, "Settled. ")


def _dispute(actor: Actor, id: str, did: str) -> Said:
    answer = dispute_shapes.answer(dispute_for(actor, id))
    sides = [side for side in (answer["subject"], answer["other"]) if side]
    for side in sides:
        side["content"] = side["content"][: wording.STRETCH]
    rows = [({"side": side["id"], "kind": side["kind"]}, side["content"]) for side in sides]
    if answer["evidence"]:
        rows.append(({"what": "evidence"}, answer["evidence"]))
    said = f"{did}{answer['type']}, {answer['status']}, version {answer['version']}."
    return Said(answer, wording.quoted(said, rows))


def scan_hygiene(
    actor: Actor,
    kind: Annotated[Literal["quick", "full"], Field(description="quick asks no model.")] = "quick",
    scopes: list[str] | None = None,
) -> Said:
    """Look for what drifted in the scopes you may write to. Runs in the background; what is beyond doubt is done,
    restorably, and the rest waits for a person. Where a run is under way its report is given."""
    chosen = scopes_to_look_after(actor, scopes)
    started = hygiene.start_cycle(actor=actor, scopes=chosen, kind=kind)
    answer = run_answer(started.run)
    said = f"Started: run {started.run.pk}." if started.is_new else busy_with(started.run)
    return Said(answer, said)


def describe_scope(actor: Actor, scope: Scope = None) -> Said:
    """What a scope holds and what you may do in it. Without a name, the only one the token writes to or reads; where
    there are several, what they hold together."""
    chosen = _described(actor, scope)
    names = scope_names(readable_scopes(actor))
    here = [chosen.pk] if chosen else sorted(names)
    answer = _holdings(actor, here) | {
        "scope": names[chosen.pk] if chosen else None,
        "name": chosen.name if chosen else None,
        "policy": chosen.retention if chosen else None,
        "retention": retention_of(chosen),
        "writes_here": chosen is not None and chosen.pk in actor.writable,
        "scopes": sorted(names.values()),
        "aliases": [{"term": one.term, "alias": one.alias} for one in aliases.standing(chosen)] if chosen else [],
        "writable": sorted(names[pk] for pk in actor.writable if pk in names),
    }
    live_now = counted(answer["live"], "live memory", "live memories")
    if chosen is None:
        return Said(answer, f"{counted(len(here), 'scope')} to read: {live_now}. Name one for more.")
    may = "You may write to it." if answer["writes_here"] else "You may only read it."
    return Said(answer, f"{answer['scope']}: {live_now}. {may}")


def _described(actor: Actor, name: str | None) -> ScopeRow | None:
    if name is not None:
        return scope_for(actor, name)
    meant = actor.writable or actor.readable
    return ScopeRow.objects.get(pk__in=meant) if len(meant) == 1 else None


def _holdings(actor: Actor, scopes: list[int]) -> dict[str, Any]:
    live = Memory.objects.live().in_scopes(scopes)
    by_kind = dict(live.values_list("kind").annotate(n=Count("pk")).order_by("kind"))
    return {
        "live": sum(by_kind.values()),
        "by_kind": by_kind,
        "open_loops": open_loops_in(live, timezone.now()).count(),
        "waiting_disputes": Dispute.objects.filter(scope__in=scopes).in_status("pending").count(),
        "rules_delivered": sum(len(layer.delivered) for layer in deliverable(actor, scopes)),
    }


def alias(
    actor: Actor,
    term: Annotated[str, Field(max_length=LONGEST)],
    alias: Annotated[str, Field(max_length=LONGEST, description="What is as good as the term, in either direction.")],
    scope: Scope = None,
    retire: Annotated[StrictBool, Field(description="Let it widen nothing any more.")] = False,
) -> Said:
    """Let two words stand for each other in a scope: who asks for one is also searched the other, such as a code name
    and what it is. They are not memories and are never recalled; describe_scope lists them."""
    chosen = write_target(actor, scope)
    if retire:
        tied = aliases.retire_alias(actor=actor, alias=aliases.alias_between(actor, chosen, term, alias))
    else:
        tied = aliases.add_alias(actor=actor, scope=chosen, term=term, alias=alias)
    answer = {"id": tied.pk, "scope": chosen.slug, "term": tied.term, "alias": tied.alias, "retired": retire}
    did = "Retired" if retire else "From now on searches take either for the other"
    return Said(answer, wording.quoted(f"{did}.", [({"alias": tied.pk}, f"{tied.term} = {tied.alias}")]))


def promote_rule(
    actor: Actor,
    id: Id,
    text: Annotated[str, Field(description="What agents should be told; the memory's own words if left out.")] = "",
    reason: Reason = "",
) -> Said:
    """Suggest a memory as a standing rule, told to every agent at the start of a session. A person decides about it in
    the inbox; no agent can."""
    rule = suggest(actor=actor, memory=memory_for(actor, id), text=text, reason=reason)
    answer = {"rule_id": rule.pk, "state": rule.state, "text": rule.text}
    return Said(answer, "Suggested. It waits in the inbox until a person decides; nothing is delivered before that.")


def export_metrics(
    actor: Actor,
    scope: Scope = None,
    days: Annotated[StrictInt, Field(ge=1, le=recall_quality.LONGEST)] = recall_quality.DAYS,
) -> Said:
    """How the corpus ages and whether recall is useful, as the page of insights shows it."""
    chosen, now = scope_for(actor, scope) if scope else None, timezone.now()
    ageing = queries.ageing(actor=actor, scope=chosen, now=now)
    quality = recall_quality.recall_quality(actor=actor, scope=chosen, days=days, now=now)
    faded = "unknown" if ageing.faded_share is None else f"{ageing.faded_share:.0%}"
    said = f"{counted(ageing.live, 'live memory', 'live memories')}, faded: {faded}."
    return Said({"ageing": asdict(ageing), "recall": asdict(quality)}, said)


def import_memory(
    actor: Actor,
    lines: Annotated[
        str, Field(max_length=LONGEST_IMPORT, description='JSON, one a line: {"content": "…", "kind": "fact"}')
    ],
    scope: Scope = None,
    dry_run: Annotated[StrictBool, Field(description="Count what would be written, and write nothing.")] = True,
) -> Said:
    """Import memories in the native JSON lines: all of them or none. Call it with dry_run first. The same lines again
    add nothing."""
    refuse_secrets(lines, "lines")
    if not lines.strip():
        raise ValidationFailed("There are no lines to import.", field="lines")
    report = import_from(
        format_called("jsonl")(),
        io.BytesIO(lines.encode()),
        actor=actor,
        scope=write_target(actor, scope),
        dry_run=dry_run,
    )
    answer: dict[str, Any] = {
        "read": report.read,
        "written": report.written,
        "existing": report.existing,
        "links": report.links,
        "differing": list(report.differing)[:100],
        "notes": dict(report.notes) | dict(report.skipped),
        "scopes": list(report.scopes),
        "dry_run": report.dry_run,
    }
    did = "would be written" if dry_run else "written"
    return Said(answer, f"{counted(report.written, 'memory', 'memories')} {did}, {report.existing:,} there already.")


def session_receipt(
    actor: Actor, session: Annotated[str, Field(max_length=120, description="The name you gave in every call.")]
) -> Said:
    """What your session was given, wrote and reported, and what it said nothing of. Call it at the end, then report
    with mark_used what helped and what misled."""
    found = receipt(actor=actor, session=session)
    answer = {
        "session": found.session,
        "recalls": found.recalls,
        "briefings": found.briefings,
        "written": [_written(memory) for memory in found.written],
        "given": [memory.pk for memory in found.given],
        "useful": found.useful,
        "misled": found.misled,
        "unreported": [memory.pk for memory in found.unreported],
    }
    said = (
        f"{counted(found.recalls, 'recall')}, {counted(found.briefings, 'briefing')}; "
        f"{counted(len(found.given), 'memory', 'memories')} given, {len(found.unreported)} of them without a "
        f"word of yours; {len(found.written)} written."
    )
    rows = [({"written": memory.pk}, memory.headline) for memory in found.written]
    rows += [({"given, unreported": memory.pk}, memory.headline) for memory in found.unreported]
    return Said(answer, wording.quoted(said, rows))


def _written(memory: Memory) -> dict[str, Any]:
    told = {name: getattr(memory, name) for name in ("kind", "state", "headline", "created_at")}
    return Written(id=memory.pk, scope=memory.scope.slug, **told).model_dump()
