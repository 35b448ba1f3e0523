"""Disputes in the inbox: pairs and single memories in doubt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final
from uuid import UUID

from django.db.models import F, Q
from django.db.models.functions import Coalesce, Left

from memories.access import Actor
from memories.errors import Conflict
from reflections.access import dispute_for
from reflections.forms import SnoozeForm
from reflections.inbox import correcting, evidence
from reflections.inbox.bulk import each, in_chunks
from reflections.inbox.forms import CorrectForm, MergeForm, SettleForm
from reflections.inbox.registry import DECIDED, SNOOZED, WAITING, Act, BulkAct, Item, Source, Tally
from reflections.inbox.wording import DONE, TYPES
from reflections.models import Dispute
from reflections.querysets import DisputeQuerySet
from reflections.querysets.disputes import in_status
from reflections.services import disputes as services
from reflections.services.code_changes import close_back
from reflections.wording import day

TITLE, REASON = 240, 200  # characters a line of the list may need


def _settle(resolution: str) -> Act:
    def act(actor: Actor, row: Dispute, version: int, asked: Mapping[str, Any]) -> str:
        settled = services.resolve(
            actor=actor,
            dispute=row,
            version=version,
            resolution=resolution,
            winner=asked.get("winner") or None,
            text=asked.get("text"),
            reason=asked.get("reason", ""),
        )
        return f"{DONE[settled.resolution]}."

    return act


def _correct(actor: Actor, row: Dispute, version: int, asked: Mapping[str, Any]) -> str:
    correcting.correct(actor=actor, dispute=row, version=version, text=asked["text"], seen=asked["seen"])
    return "Corrected: a new version is written, and the doubt is settled."


def _passed(actor: Actor, row: Dispute, version: int, _asked: Mapping[str, Any]) -> str:
    if close_back(actor=actor, dispute=row, version=version) is None:
        raise Conflict("The code is not back, so this waits. Look at what it says now.")
    return "Closed: the code is back."


def _snooze(actor: Actor, row: Dispute, version: int, asked: Mapping[str, Any]) -> str:
    snoozed = services.snooze(actor=actor, dispute=row, version=version, until=asked.get("until"))
    assert snoozed.snoozed_until  # the service has just set it
    return f"Snoozed until {day(snoozed.snoozed_until)}."


def _undo(actor: Actor, row: Dispute, version: int, _asked: Mapping[str, Any]) -> str:
    services.undo(actor=actor, dispute=row, version=version)
    return "Undone. It waits again, and the memories are as they were."


# Many at once --------------------------------------------------------------------------------


def _by_policy(policy: str) -> BulkAct:
    def act(actor: Actor, items: Sequence[Item], dry_run: bool) -> Tally:
        return in_chunks(actor, items, policy, dry_run)

    return act


def _each(act: Act) -> BulkAct:
    def many(actor: Actor, items: Sequence[Item], dry_run: bool) -> Tally:
        return each(actor, items, dry_run, partial(dispute_for, characters=TITLE), act)

    return many


_FORMS: Final = {
    "keep_both": SettleForm,
    "forget": SettleForm,
    "supersede": SettleForm,
    "uphold": SettleForm,
    "retire": SettleForm,
    "refile": SettleForm,
    "merge": MergeForm,
    "correct": CorrectForm,
    "snooze": SnoozeForm,
}


class DisputeSource(Source):
    name = "dispute"
    types = TYPES
    template = "inbox/dispute.html"
    acts = {
        **{name: _settle(name) for name in services.RESOLUTIONS},
        "correct": _correct,
        "passed": _passed,
        "snooze": _snooze,
        "undo": _undo,
    }
    bulk = {
        "proposed": _by_policy("proposed"),
        "keep_both": _by_policy("keep_both"),
        "newer": _by_policy("newer"),
        "uphold": _by_policy("uphold"),
        "snooze": _each(_snooze),
        "undo": _each(_undo),
    }

    def visible(self, actor: Actor) -> DisputeQuerySet:
        return Dispute.objects.visible_to(actor)

    def tabs(self) -> Mapping[str, Q]:
        return {
            WAITING: in_status("pending"),
            SNOOZED: in_status("snoozed"),
            DECIDED: Q(status__in=["resolved", "dismissed"]),
        }

    def columns(self) -> Mapping[str, Any]:
        return {
            "e_type": F("type"),
            "e_kind": Coalesce("other__kind", "subject__kind"),  # of the one whose text stands in the row
            "e_since": F("opened_at"),
            "e_confidence": F("confidence"),
            "e_title": Left(Coalesce("other__content", "subject__content"), TITLE),
            "e_reason": Left("rationale", REASON),
            "e_until": F("snoozed_until"),
            "e_decided": F("decided_at"),
            "e_outcome": F("resolution"),
            "e_decider": F("decided_actor"),
        }

    def load(self, actor: Actor, row_id: UUID) -> Dispute:
        return dispute_for(actor, row_id, characters=evidence.LONGEST_TYPED + 1)

    def is_open(self, row: Dispute) -> bool:
        return row.is_open

    def evidence(self, actor: Actor, row: Dispute, query: str, bad: Mapping[str, Any]) -> dict[str, Any]:
        return evidence.of_dispute(actor, row, query, bad)

    def draws(self, act: str, row: Dispute) -> bool:
        return row.is_open and act in ("snooze", "merge" if row.is_pair else "correct")

    def form(self, act: str, row: Dispute, sent: Mapping[str, Any]) -> Any:
        return _FORMS[act](sent, row=row.pk) if act in _FORMS else None
