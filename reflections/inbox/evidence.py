"""What stands beside an item of the inbox: the memories, what differs, why it is here, and what may be done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from django.urls import reverse
from django.utils import timezone

from memories.access import Actor
from memories.configuration import ranking_rules
from memories.differences import Part, difference
from memories.history import ties
from memories.models import AuditEntry, Memory
from memories.presentation import PROVENANCE_WORDS, STATE_BADGES, action_words, author_of, freshness
from memories.views.detail import TIE_WORDS
from memories.views.verifying import address_in
from reflections import configuration
from reflections.forms import SnoozeForm
from reflections.inbox.code_evidence import code_beside
from reflections.inbox.forms import CorrectForm, MergeForm, SettleForm
from reflections.inbox.wording import (
    DONE,
    QUESTIONS,
    REASONS,
    found_by,
    other_side,
    proposal,
    settles,
    side_word,
    upholds,
    will,
)
from reflections.models import Candidate, Dispute
from reflections.presentation import counted_memories, row_of
from reflections.suspects import in_words
from reflections.wording import day

SHOWN: Final = 6000  # characters of a text before it is cut; the memory's own page has all of it
ALIKE_AT_LEAST: Final = 0.3  # share of the longer text that both have; below it marks would be all there is to see
MOST_TIES: Final = 6
LONGEST_TYPED: Final = 20_000  # characters of a text that a form is filled with; longer ones would come with each line

type Bad = Mapping[str, Any]


def of_draft(actor: Actor, row: Candidate, query: str, bad: Bad) -> dict[str, Any]:
    refused = {"edit": "edit", "dismiss": "dismissal", "snooze": "snoozing"}
    forms = {refused[act]: form for act, form in bad.items() if act in refused}
    shown = row_of(row, actor, snooze_days=configuration.current().snooze_days, bad=forms)
    return {
        "row": shown,
        "undo_label": undo_label(row.state),
        "found": [
            {"label": "Drafted by", "text": row.origin},
            {"label": "Confidence", "text": shown["confidence"]},
            {"label": "Mean similarity", "text": shown["similarity"]},
            {"label": "Since", "when": row.created_at},
            {"label": "Scope", "text": row.scope.slug},
        ],
        "question": _asks(row, len(shown["sources"])),
        "does": {
            "approve": f"Approve and {shown['words']['does']}",
            "edit": f"Approve this text and {shown['words']['does']}",
        },
        "state": state_of(row.state, row.is_open, row.snoozed_until),
        "decider": shown["decided_by"] or "by itself",
        "refused": [form for act, form in bad.items() if act in ("approve", "dismiss")],
        "decided_at": row.decided_at,
        "outcome": DONE.get(row.state, ""),
        "may_decide": shown["may_decide"],
        "urls": urls_of("draft", row, query, ("approve", "edit", "dismiss", "snooze", "undo")),
        "history": history_of("candidate", row),
    }


def _asks(row: Candidate, sources: int) -> str:
    if row.is_summary:
        return f"May this stand in for {counted_memories(sources)} that {'is' if sources == 1 else 'are'} fading?"
    return f"Do these {sources} episodes say this?"


def of_dispute(actor: Actor, row: Dispute, query: str, bad: Bad) -> dict[str, Any]:
    sides = [_side(actor, row, side) for side in row.sides]
    _compare(sides)
    source, code = _page_of(row), code_beside(row)
    return {
        "row": row,
        "question": QUESTIONS[row.type],
        "reason": row.rationale or f"{REASONS[row.type]}.",
        "reports": in_words(row.reports),
        "quoted": "" if source or code.get("anchors") else row.evidence if row.is_challenge or not row.reports else "",
        "code": code,
        "source": source,
        "undo_label": undo_label(row.status),
        "found": _found(row),
        "sides": sides,
        "is_moot": any(side["memory"].invalidated_at for side in sides),
        "state": state_of(row.status, row.is_open, row.snoozed_until),
        "decider": row.decided_actor,
        "decided_at": row.decided_at,
        "outcome": DONE[row.resolution],
        "may_decide": row.scope_id in actor.writable,
        "urls": urls_of("dispute", row, query, ("keep_both", "uphold", "merge", "correct", "snooze", "undo")),
        "settles": None if row.is_pair else _settles(row, query, is_back=bool(code.get("is_back"))),
        "corrects": "Rewrite it" if row.type == Dispute.Type.CODE_CHANGED else "Correct it",
        "upholds": upholds(row, is_gone=bool(code.get("is_gone"))),
        "proposed": _proposed(row, query),
        "snooze_day": day(timezone.now() + timedelta(days=configuration.current().snooze_days)),
        "forms": _forms(row, bad),
        "is_too_long": _both(row) is None,
        "refused": [form for act, form in bad.items() if isinstance(form, SettleForm)],
        "history": history_of("dispute", row),
        "choices": [choice for side in row.sides for choice in _choices(row, side, query)] if row.is_pair else [],
    }


def _page_of(row: Dispute) -> str:
    """Of what the web says is outdated, the address of the page that says so."""
    return address_in(row.evidence) if row.type == Dispute.Type.OUTDATED else ""


def state_of(state: str, is_open: bool, until: datetime | None) -> dict[str, str]:
    if is_open:
        return {"name": "waiting"}
    if state == "snoozed" and until:
        return {"name": "snoozed", "until": day(until)}
    return {"name": "decided"}


def undo_label(state: str) -> str:
    return "Bring it back now" if state == "snoozed" else "Undo this decision and ask again"


def urls_of(source: str, row: Any, query: str, acts: Sequence[str]) -> dict[str, str]:
    return {act: _url(source, row, act, query) for act in acts}


def _url(source: str, row: Any, act: str, query: str) -> str:
    return reverse("inbox_act", args=[source, row.pk, act]) + (f"?{query}" if query else "")


# Why it is here ------------------------------------------------------------------------------


def _found(row: Dispute) -> list[dict[str, Any]]:
    proposed = proposal(row)
    return [
        {"label": "Found by", "text": found_by(row)},
        {"label": "Confidence", "text": None if row.confidence is None else f"{row.confidence:.2f}"},
        *([{"label": "Proposed", "text": will(row, *proposed)}] if proposed else []),
        {"label": "Since", "when": row.opened_at},
        {"label": "Scope", "text": row.scope.slug},
    ]


def history_of(type: str, row: Any) -> list[dict[str, Any]]:
    """Everything that was done to the item, newest first."""
    entries = AuditEntry.objects.filter(object_type=type, object_id=str(row.pk)).order_by("-at", "-pk")[:30]
    return [
        {
            "title": action_words(entry.action).capitalize(),
            "when": entry.at,
            "by": entry.actor,
            "text": ". ".join(filter(None, [DONE.get(entry.detail.get("resolution") or "-", ""), entry.reason])),
        }
        for entry in entries
    ]


# The memories --------------------------------------------------------------------------------


def _side(actor: Actor, row: Dispute, memory: Memory) -> dict[str, Any]:
    factor, faded = freshness(memory, ranking_rules(), timezone.now())
    links = [tie for tie in ties(memory, actor) if tie.type != "supersedes"]
    opening = _opening(row, memory)
    text = opening[:SHOWN]
    return {
        "memory": memory,
        "word": side_word(row, memory).capitalize(),
        "is_proposed": row.is_pair and row.proposed_winner_id == memory.pk,
        "url": reverse("memory_detail", args=[memory.pk]),
        "text": text,
        "parts": [{"op": "same", "text": text}],
        "is_cut": len(opening) > SHOWN,
        "badge": STATE_BADGES.get(memory.state),
        "factor": factor,
        "faded": faded,
        "facts": _facts(memory) + (_looked_at(memory) if row.type == Dispute.Type.OUTDATED else []),
        "ties": [
            {"words": TIE_WORDS[tie.type, tie.direction], "memory": tie.memory, "url": _memory_url(tie.memory)}
            for tie in links[:MOST_TIES]
        ],
        "more_ties": max(0, len(links) - MOST_TIES),
    }


def _opening(row: Dispute, side: Memory) -> str:
    """The text of *side* up to one character more than LONGEST_TYPED."""
    name = "subject_opening" if side.pk == row.subject_id else "other_opening"
    return str(getattr(row, name))


def _memory_url(memory: Memory) -> str:
    return reverse("memory_detail", args=[memory.pk])


def _facts(memory: Memory) -> list[dict[str, Any]]:
    reinforcement = getattr(memory, "reinforcement", None)
    facts: list[dict[str, Any]] = [
        {"label": "Learned", "when": memory.created_at},
        {"label": "Changed", "when": memory.updated_at if memory.updated_at != memory.created_at else None},
        {"label": "Valid until", "when": memory.valid_until},
        {"label": "By", "text": author_of(memory)},
        {"label": "Provenance", "text": PROVENANCE_WORDS[memory.provenance]},
        {"label": "Source", "text": memory.source},
        {"label": "Use", "text": f"× {reinforcement.multiplier:.2f}" if reinforcement else "no feedback yet"},
    ]
    return [fact for fact in facts if fact.get("text") or fact.get("when")]


def _looked_at(memory: Memory) -> list[dict[str, Any]]:
    check = memory.verifications.standing().order_by("-at").first()
    if check is None:
        return [{"label": "Last looked at", "text": "never, since it was learned"}]
    return [{"label": "Last looked at", "when": check.at}, {"label": "Looked at by", "text": check.actor}]


def _compare(sides: list[dict[str, Any]]) -> None:
    """Mark in each of two texts what the other has not; nothing where they share too little to compare."""
    if len(sides) < 2:
        return
    older, newer = sides
    parts = difference(older["text"], newer["text"])
    shared = sum(len(part["text"]) for part in parts if part["op"] == "same")
    if shared < ALIKE_AT_LEAST * max(len(older["text"]), len(newer["text"])):
        older["apart"] = newer["apart"] = True
        return
    older["parts"], newer["parts"] = _without(parts, "add"), _without(parts, "remove")


def _without(parts: Sequence[Part], op: str) -> list[Part]:
    return [part for part in parts if part["op"] != op]


# What may be done ----------------------------------------------------------------------------


def _proposed(row: Dispute, query: str) -> dict[str, Any] | None:
    proposed = proposal(row)
    return _choice(row, *proposed, query) if proposed else None


def _settles(row: Dispute, query: str, *, is_back: bool) -> dict[str, str]:
    resolution, label = ("passed", "Close it: the code is back") if is_back else settles(row)
    return {"url": _url("dispute", row, resolution, query), "label": label}


def _choices(row: Dispute, side: Memory, query: str) -> list[dict[str, Any]]:
    """What ends with *side* gone, but for what is proposed."""
    stays = other_side(row, side)
    proposed = proposal(row)
    return [
        _choice(row, resolution, stays, query)
        for resolution in ("forget", "supersede")
        if (resolution, stays) != proposed
    ]


def _choice(row: Dispute, resolution: str, winner: Memory, query: str) -> dict[str, Any]:
    return {
        "url": _url("dispute", row, resolution, query),
        "label": will(row, resolution, winner),
        "winner": winner.pk,
        "goes": other_side(row, winner).pk,
    }


def _forms(row: Dispute, bad: Bad) -> dict[str, Any]:
    text = _both(row)
    fresh: dict[str, Any] = {
        "snooze": SnoozeForm(row=row.pk),
        "merge": MergeForm(row=row.pk, initial={"text": text}) if row.is_pair else None,
        "correct": None
        if row.is_pair or text is None
        else CorrectForm(row=row.pk, initial={"text": text, "seen": row.subject.version}),
    }
    return fresh | {act: form for act, form in bad.items() if act in fresh}


def _both(row: Dispute) -> str | None:
    """To start from: the text, of two the newer below the older one; None above LONGEST_TYPED."""
    text = "\n".join(_opening(row, side) for side in row.sides)
    return text if len(text) <= LONGEST_TYPED else None
