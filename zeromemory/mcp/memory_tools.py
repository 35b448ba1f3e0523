"""Tools that write, find and retire memories."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

from mcp.server import MCPServer
from pydantic import Field, StrictBool, StrictInt

from memories import services
from memories.access import Actor, memory_for, writable_memory_for, write_target
from memories.agent_recall import recall_for_agent
from memories.anchors import seen_as
from memories.api import answers
from memories.api import shapes as rest
from memories.models import Memory
from memories.services import AnchorSpec, EntitySpec, LinkSpec
from memories.services.signals import mark_used as report_use
from reflections.briefing import brief_agent
from reflections.briefing_api import BriefingOut, briefing_answer
from reflections.dispute_shapes import ChallengeOut
from reflections.services.disputes import challenge as challenge_memory
from zeromemory.lib.counting import counted
from zeromemory.mcp import wording
from zeromemory.mcp.calling import RETIRES, WRITES, WRITES_ONCE, Said, tool
from zeromemory.mcp.shapes import LinkMade, MemoryRead, Retired, Used

MOST_RESULTS = 25

Id = Annotated[str, Field(description="Id of a memory.")]
Scope = Annotated[str | None, Field(description="Name of a scope. May be left out where the token writes to one only.")]
Scopes = Annotated[list[str] | None, Field(description="Names of scopes to read; all that can be read if left out.")]
Session = Annotated[str, Field(max_length=120, description="A name of your session, the same in all of its calls.")]
Reason = Annotated[str, Field(max_length=2000)]


def register(server: MCPServer) -> None:
    tool(server, title="Remember", gives=rest.RememberOut, manners=WRITES)(remember)
    tool(server, title="Recall", gives=rest.RecallOut)(recall)
    tool(server, title="Read one memory", gives=MemoryRead)(get)
    tool(server, title="Brief me", gives=BriefingOut)(build_context)
    tool(server, title="Link two memories", gives=LinkMade, manners=WRITES_ONCE)(link)
    tool(server, title="Forget", gives=Retired, manners=RETIRES)(forget)
    tool(server, title="Bring back", gives=Retired, manners=WRITES_ONCE)(restore_memory)
    tool(server, title="Close a loop", gives=Retired, manners=RETIRES)(close_loop)
    tool(server, title="Still holds", gives=MemoryRead, manners=WRITES)(reanchor)
    tool(server, title="Challenge", gives=ChallengeOut, manners=WRITES_ONCE)(challenge)
    tool(server, title="Report use", gives=Used, manners=WRITES_ONCE)(mark_used)


def remember(
    actor: Actor,
    content: Annotated[str, Field(description="One statement that stands by itself.")],
    kind: Annotated[
        str,
        Field(
            description="decision, convention, preference, gotcha, fact or reference last; episode, task and "
            "open-question pass."
        ),
    ] = "fact",
    scope: Scope = None,
    entities: list[rest.EntityIn] | None = None,
    links: list[rest.LinkIn] | None = None,
    anchors: Annotated[
        list[rest.AnchorIn] | None, Field(description="The code that it is about.", max_length=20)
    ] = None,
    source: Annotated[str, Field(description="Where it is from: an address, a file, a person.")] = "",
    session: Session = "",
    pinned: StrictBool = False,
    confidence: Annotated[str, Field(description="verified, inferred (where nothing is said) or unverified.")] = "",
    idempotency_key: Annotated[str, Field(description="A retry with the same key and text writes nothing.")] = "",
) -> Said:
    """Store one memory. The same text again gives the memory there is. Declare what it replaces by a `supersedes` link,
    what it was made from by `derived_from`. Secrets are refused."""
    remembered = services.remember(
        actor=actor,
        scope=write_target(actor, scope),
        content=content,
        kind=kind,
        entities=[EntitySpec(one.name, one.type) for one in entities or ()],
        links=[LinkSpec(one.type, one.target) for one in links or ()],
        anchors=[AnchorSpec(**one.model_dump()) for one in anchors or ()],
        source=source,
        session=session,
        pinned=pinned,
        confidence=confidence,
        idempotency_key=idempotency_key,
    )
    answer = answers.remember_answer(remembered, actor)
    did = "It was there already" if remembered.deduplicated else "Remembered"
    alike = [({"id": one["id"], "likeness": one["likeness"]}, one["headline"]) for one in answer["similar_existing"]]
    said = f"{did}: {answer['id']} in {answer['scope']}.{wording.listed(answer['notices'])}"
    if found := len(answer["entities_recognised"]):
        said += f"\n{counted(found, 'known entity', 'known entities')} recognised in it."
    return Said(answer, wording.quoted(f"{said}\nThese say almost the same:" if alike else said, alike))


def recall(
    actor: Actor,
    query: Annotated[str, Field(description="A question or a few words; an id, a path or a quoted phrase is found.")],
    scopes: Scopes = None,
    kinds: list[str] | None = None,
    k: Annotated[
        StrictInt | None, Field(ge=1, le=MOST_RESULTS, description="10 if left out; of decaying scopes their own.")
    ] = None,
    min_confidence: Annotated[rest.Confidence | None, Field(description="Leave out what is less sure.")] = None,
    ignore: Annotated[list[rest.Ignored] | None, Field(description="Factors to leave out of the score.")] = None,
    session: Session = "",
    code_state: Annotated[
        list[rest.CodeSeenIn] | None, Field(description="Code as you see it, for this answer alone.", max_length=500)
    ] = None,
) -> Said:
    """Find memories by meaning and words, best first, with why each stands where it does. Report with mark_used what
    helped and what misled."""
    found = recall_for_agent(
        actor=actor,
        query=query,
        scopes=scopes,
        kinds=kinds,
        k=k,
        min_confidence=min_confidence,
        ignore=frozenset(ignore or ()),
        session=session,
        code_seen=dict(seen_as(**each.model_dump()) for each in code_state or ()),
    )
    answer = answers.recall_answer(found, actor)
    said = f"{counted(len(found.results), 'memory', 'memories')} found.{wording.listed(answer['notices'])}"
    return Said(answer, wording.memories(said, answer["results"]))


def get(
    actor: Actor,
    id: Id,
    start: Annotated[StrictInt, Field(ge=0, description="Character to begin at: next_start of the answer before.")] = 0,
) -> Said:
    """Read one memory whole, with its links, versions and checks. Of a very long one a stretch at a time."""
    answer = read_from(actor, id, start)
    stop = start + len(answer["content"])
    return Said(answer, wording.memories(f"Characters {start:,} to {stop:,} of {answer['length']:,}.", [answer]))


def read_from(actor: Actor, id: str, start: int = 0) -> dict[str, Any]:
    """As ``MemoryRead``: of a very long text a stretch."""
    answer = answers.whole_answer(memory_for(actor, id), actor)
    content = answer["content"]
    stop = min(len(content), start + wording.STRETCH)
    more = stop < len(content)
    return answer | {
        "content": content[start:stop],
        "verbatim": answer["verbatim"][: wording.STRETCH],
        "truncated": more or start > 0,
        "length": len(content),
        "next_start": stop if more else None,
    }


def build_context(
    actor: Actor,
    topic: Annotated[str, Field(max_length=8000, description="What the work is about; may be left out.")] = "",
    scopes: Scopes = None,
    max_tokens: Annotated[StrictInt | None, Field(ge=200, le=20_000, description="Of all texts together.")] = None,
    session: Session = "",
) -> Said:
    """Call this first. What to know before beginning: standing rules, what the topic brings up, what is still open,
    what hangs together with it and what is new."""
    found = brief_agent(actor=actor, topic=topic, scopes=scopes, max_tokens=max_tokens, session=session)
    answer = briefing_answer(found)
    rows: list[tuple[dict[str, Any], str]] = [
        ({"standing rule": rule["layer"], "id": rule["id"]}, rule["text"]) for rule in answer["rules"]
    ]
    for part in ("memories", "open_loops", "linked", "recent"):
        rows += [
            ({"part": part, "id": row["id"], "kind": row["kind"], "why": row["why"]}, row["content"])
            for row in answer[part]
        ]
    said = (
        f"{counted(len(answer['rules']), 'standing rule')}, "
        f"{counted(len(found.given), 'memory', 'memories')}; {counted(found.open_loops_total, 'open loop')} in all."
    )
    return Said(answer, wording.quoted(said + wording.listed(answer["notices"]), rows))


def link(
    actor: Actor, source: Id, target: Id, type: Literal["relates_to", "supersedes", "contradicts", "derived_from"]
) -> Said:
    """Tie a memory to another. `supersedes` retires the target, restorably."""
    made = services.link(
        actor=actor, source=writable_memory_for(actor, source), target=memory_for(actor, target), type=type
    )
    answer = {"source": made.source_id, "target": made.target_id, "type": made.type}
    return Said(answer, f"{made.source_id} {made.get_type_display()} {made.target_id}.")


def forget(actor: Actor, id: Id, reason: Reason = "") -> Said:
    """Retire a memory. It is not recalled any more; restore_memory brings it back."""
    services.forget(actor=actor, memory=writable_memory_for(actor, id), reason=reason)
    return _retired(actor, id, "Forgotten")


def restore_memory(actor: Actor, id: Id, reason: Reason = "") -> Said:
    """Bring a retired memory back to life, as it was."""
    services.restore(actor=actor, memory=writable_memory_for(actor, id), reason=reason)
    return _retired(actor, id, "Restored")


def close_loop(
    actor: Actor,
    id: Annotated[str, Field(description="Id of a task or an open question.")],
    reason: Reason = "",
    evidence: Annotated[str, Field(max_length=2000, description="What shows it: a memory's id, or a sentence.")] = "",
) -> Said:
    """Close a task that is done or a question that is answered. An outcome remembered with a `supersedes` link to the
    task does the same."""
    services.close(actor=actor, memory=writable_memory_for(actor, id), reason=reason, evidence=evidence)
    return _retired(actor, id, "Closed")


def reanchor(
    actor: Actor,
    id: Id,
    anchors: Annotated[list[UUID] | None, Field(description="Ids of anchors; all if left out.", max_length=20)] = None,
    reason: Reason = "",
) -> Said:
    """Say that a memory still holds for the code it names, as that code is now on the server. It ranks as before the
    change; the former anchors stay in its history."""
    services.reanchor(actor=actor, memory=writable_memory_for(actor, id), anchors=anchors, reason=reason)
    answer = read_from(actor, id)
    return Said(answer, wording.memories("Noted: it holds for the code as it is now.", [answer]))


def _retired(actor: Actor, id: str, did: str) -> Said:
    memory: Memory = memory_for(actor, id)
    answer = {
        "id": memory.pk,
        "state": memory.state,
        "kind": memory.kind,
        "scope": memory.scope.slug,
        "headline": memory.headline,
    }
    return Said(answer, wording.quoted(f"{did}.", [({"id": memory.pk, "kind": memory.kind}, memory.headline)]))


def challenge(
    actor: Actor,
    id: Id,
    reason: Annotated[str, Field(max_length=2000, description="What was wrong, in a sentence.")] = "",
    evidence: Annotated[str, Field(max_length=4000, description="What shows it.")] = "",
    session: Session = "",
) -> Said:
    """Say that a memory misled. It stays and ranks lower, flagged until a person settles it."""
    dispute, already = challenge_memory(
        actor=actor, memory=memory_for(actor, id), reason=reason, evidence=evidence, session=session
    )
    said = "It was challenged before; that dispute is still open" if already else "Challenged; a person will settle it"
    return Said({"dispute_id": dispute.pk, "already_pending": already}, f"{said}: {dispute.pk}.")


def mark_used(actor: Actor, id: Id, outcome: Literal["useful", "misled"], session: Session = "") -> Said:
    """Say that a memory you were given was of use, or that it misled. One session counts once; its last word holds."""
    found = report_use(
        actor=actor,
        memory=memory_for(actor, id),
        useful=outcome == "useful",
        misled=outcome == "misled",
        session=session,
    )
    answer = {"id": id, "multiplier": found.multiplier, "useful": found.useful, "misled": found.misled}
    return Said(answer, f"Noted as {outcome}. Its score is now multiplied by {found.multiplier:.2f}.")
