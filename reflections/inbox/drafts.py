"""Drafts in the inbox: memories with the one statement drafted from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from django.db.models import F, Q, Value
from django.db.models.functions import Coalesce, Left

from memories.access import Actor
from reflections import services
from reflections.access import candidate_for
from reflections.forms import DismissForm, EditForm, SnoozeForm
from reflections.inbox import evidence
from reflections.inbox.bulk import each_loaded_by
from reflections.inbox.forms import ApproveForm
from reflections.inbox.registry import DECIDED, SNOOZED, WAITING, Source
from reflections.models import Candidate
from reflections.presentation import WORDS, approved, undone
from reflections.querysets import CandidateQuerySet
from reflections.querysets.candidates import in_tab
from reflections.wording import day

TITLE, REASON = 240, 200  # characters a line of the list may need


def _approve(actor: Actor, row: Candidate, version: int, asked: Mapping[str, Any]) -> str:
    memory = services.approve(
        actor=actor,
        candidate=row,
        version=version,
        content=asked.get("content"),
        kind=asked.get("kind"),
        shown=asked.get("shown") or None,
    )
    return approved(row, memory)


def _dismiss(actor: Actor, row: Candidate, version: int, asked: Mapping[str, Any]) -> str:
    services.dismiss(actor=actor, candidate=row, version=version, reason=asked.get("reason", ""))
    return WORDS[row.purpose]["dismissed"]


def _snooze(actor: Actor, row: Candidate, version: int, asked: Mapping[str, Any]) -> str:
    snoozed = services.snooze(actor=actor, candidate=row, version=version, until=asked.get("until"))
    assert snoozed.snoozed_until  # the service has just set it
    return f"Snoozed until {day(snoozed.snoozed_until)}."


def _undo(actor: Actor, row: Candidate, version: int, _asked: Mapping[str, Any]) -> str:
    services.undo(actor=actor, candidate=row, version=version)
    return undone(row, was_approved=row.memory_id is not None)


_each = each_loaded_by(candidate_for)


_FORMS: Final = {"approve": ApproveForm, "edit": EditForm, "dismiss": DismissForm, "snooze": SnoozeForm}


class DraftSource(Source):
    name = "draft"
    types = {purpose: words["what"] for purpose, words in WORDS.items()}
    template = "inbox/draft.html"
    acts = {"approve": _approve, "edit": _approve, "dismiss": _dismiss, "snooze": _snooze, "undo": _undo}
    bulk = {"dismiss": _each(_dismiss), "snooze": _each(_snooze), "undo": _each(_undo)}

    def visible(self, actor: Actor) -> CandidateQuerySet:
        return Candidate.objects.visible_to(actor)

    def tabs(self) -> Mapping[str, Q]:
        return {
            WAITING: in_tab("pending"),
            SNOOZED: in_tab("snoozed"),
            DECIDED: Q(state__in=["approved", "dismissed"]),
        }

    def columns(self) -> Mapping[str, Any]:
        return {
            "e_type": F("purpose"),
            "e_kind": F("kind"),
            "e_since": F("created_at"),
            "e_confidence": F("confidence"),
            "e_title": Left("draft", TITLE),
            "e_reason": Left("rationale", REASON),
            "e_until": F("snoozed_until"),
            "e_decided": F("decided_at"),
            "e_outcome": F("state"),
            "e_decider": Coalesce("decided_by__username", Value("")),
        }

    def load(self, actor: Actor, row_id: UUID) -> Candidate:
        return candidate_for(actor, row_id)

    def is_open(self, row: Candidate) -> bool:
        return row.is_open

    def evidence(self, actor: Actor, row: Candidate, query: str, bad: Mapping[str, Any]) -> dict[str, Any]:
        return evidence.of_draft(actor, row, query, bad)

    def draws(self, act: str, row: Candidate) -> bool:
        return row.is_open and act in ("snooze", "edit")

    def form(self, act: str, row: Candidate, sent: Mapping[str, Any]) -> Any:
        return _FORMS[act](sent, row=row.pk) if act in _FORMS else None
