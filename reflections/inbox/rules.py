"""Proposals of standing rules in the inbox."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from django.db.models import CharField, F, FloatField, Q, Value
from django.db.models.functions import Coalesce, Left

from memories.access import Actor
from reflections.access import rule_for
from reflections.forms import DismissForm, SnoozeForm
from reflections.inbox import rule_evidence
from reflections.inbox.bulk import each_loaded_by
from reflections.inbox.registry import DECIDED, SNOOZED, WAITING, Source
from reflections.models import StandingRule
from reflections.querysets import StandingRuleQuerySet
from reflections.querysets.rules import in_state
from reflections.rule_forms import TextForm
from reflections.rule_wording import undone_in_words
from reflections.services import rules as services
from reflections.wording import day

TITLE: Final = 240  # characters a line of the list may need


def _promote(actor: Actor, row: StandingRule, version: int, asked: Mapping[str, Any]) -> str:
    services.promote(actor=actor, rule=row, version=version, text=asked.get("text"))
    return "Promoted: agents are told this from now on."


def _dismiss(actor: Actor, row: StandingRule, version: int, asked: Mapping[str, Any]) -> str:
    services.dismiss(actor=actor, rule=row, version=version, reason=asked.get("reason", ""))
    return "Dismissed. This memory will not be proposed again."


def _snooze(actor: Actor, row: StandingRule, version: int, asked: Mapping[str, Any]) -> str:
    snoozed = services.snooze(actor=actor, rule=row, version=version, until=asked.get("until"))
    assert snoozed.snoozed_until  # the service has just set it
    return f"Snoozed until {day(snoozed.snoozed_until)}."


def _undo(actor: Actor, row: StandingRule, version: int, _asked: Mapping[str, Any]) -> str:
    return undone_in_words(services.undo(actor=actor, rule=row, version=version))


_each = each_loaded_by(rule_for)


_FORMS: Final = {"edit": TextForm, "dismiss": DismissForm, "snooze": SnoozeForm}


class RuleSource(Source):
    name = "rule"
    types = {"rule": "Rule"}
    template = "inbox/rule.html"
    acts = {"promote": _promote, "edit": _promote, "dismiss": _dismiss, "snooze": _snooze, "undo": _undo}
    bulk = {"promote": _each(_promote), "decline": _each(_dismiss), "snooze": _each(_snooze), "undo": _each(_undo)}

    def visible(self, actor: Actor) -> StandingRuleQuerySet:
        return StandingRule.objects.visible_to(actor)

    def tabs(self) -> Mapping[str, Q]:
        return {
            WAITING: in_state("proposed"),
            SNOOZED: in_state("snoozed"),
            DECIDED: Q(state__in=["promoted", "dismissed", "revoked"]),
        }

    def columns(self) -> Mapping[str, Any]:
        return {
            "e_type": Value("rule", output_field=CharField()),
            "e_kind": F("memory__kind"),
            "e_since": F("proposed_at"),
            "e_confidence": Value(None, output_field=FloatField()),
            "e_title": Left("text", TITLE),
            "e_reason": F("rationale"),
            "e_until": F("snoozed_until"),
            "e_decided": F("decided_at"),
            "e_outcome": F("state"),
            "e_decider": Coalesce("decided_by__username", Value("")),
        }

    def load(self, actor: Actor, row_id: UUID) -> StandingRule:
        return rule_for(actor, row_id)

    def is_open(self, row: StandingRule) -> bool:
        return row.is_open

    def evidence(self, actor: Actor, row: StandingRule, query: str, bad: Mapping[str, Any]) -> dict[str, Any]:
        return rule_evidence.of_rule(actor, row, query, bad)

    def form(self, act: str, row: StandingRule, sent: Mapping[str, Any]) -> Any:
        return _FORMS[act](sent, row=row.pk) if act in _FORMS else None

    def draws(self, act: str, row: StandingRule) -> bool:
        return row.is_open and act in ("snooze", "edit")
