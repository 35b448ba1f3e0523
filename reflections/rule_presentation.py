"""Standing rules as people see them: by the place where they are delivered, and what is left out there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.urls import reverse

from memories.access import Actor, readable_scopes
from memories.models import Memory, Scope
from memories.presentation import scope_names
from reflections.delivery import Ruling, has_changed, layer_of, wordings_now
from reflections.inbox.rule_evidence import place_of
from reflections.models import StandingRule
from reflections.presentation import counted
from reflections.querysets.rules import in_state
from reflections.rule_forms import RevokeForm, wording_form

MOST: Final = 100  # rows of what waits and of what was revoked; the inbox has all of them
TABS: Final = {"promoted": "Rules", "proposed": "Proposed", "revoked": "Revoked"}

type Bad = Mapping[UUID, Mapping[str, Any]]
"""Refused forms of a rule by their act."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Who looks, and the scopes they may read."""

    actor: Actor
    scopes: Sequence[Scope]

    @property
    def names(self) -> dict[int, str]:
        return scope_names(self.scopes)

    @property
    def writable(self) -> list[Scope]:
        return [scope for scope in self.scopes if scope.pk in self.actor.writable]

    def promoted(self) -> list[StandingRule]:
        return list(StandingRule.objects.promoted_for(self.actor, self.actor.readable).whole())


def reading_of(actor: Actor) -> Reading:
    return Reading(actor, readable_scopes(actor))


def tabs_of(reading: Reading, chosen: str) -> list[dict[str, Any]]:
    rows = StandingRule.objects.visible_to(reading.actor)
    counts = {
        "promoted": StandingRule.objects.promoted_for(reading.actor, reading.actor.readable).count(),
        "proposed": rows.filter(in_state("proposed") | in_state("snoozed")).count(),
        "revoked": rows.in_state("revoked").count(),
    }
    return [
        {
            "label": label,
            "href": reverse("rule_list") + (f"?state={tab}" if tab != "promoted" else ""),
            "count": counts[tab],
            "selected": tab == chosen,
        }
        for tab, label in TABS.items()
    ]


# Rules by place ------------------------------------------------------------------------------


def places_of(reading: Reading, bad: Bad) -> list[dict[str, Any]]:
    """Everywhere first, then each scope with what an agent that works in it is told there."""
    rules = reading.promoted()
    memories, left = wordings_now(rules), dict(bad)
    core = [rule for rule in rules if rule.layer == StandingRule.Layer.CORE]
    places = [_place(reading, "core", "Everywhere you work", core, memories, left)]
    for scope in reading.scopes:
        here = [rule for rule in rules if rule not in core and scope in rule.scopes.all()]
        places.append(_place(reading, str(scope.pk), f"In {reading.names[scope.pk]}", here, memories, left))
    return [place for place in places if place["rows"]]


def _place(
    reading: Reading,
    key: str,
    title: str,
    rules: Sequence[StandingRule],
    memories: Mapping[UUID, Memory],
    bad: dict[UUID, Mapping[str, Any]],
) -> dict[str, Any]:
    layer = layer_of(title, [rules], memories)
    return {
        "title": title,
        "key": key,
        "said": f"Delivered {len(layer.delivered)} of {counted(len(layer.rulings), 'rule')}",
        "rows": [_promoted(reading, key, ruling, bad) for ruling in layer.rulings],
    }


def _promoted(reading: Reading, key: str, ruling: Ruling, bad: dict[UUID, Mapping[str, Any]]) -> dict[str, Any]:
    rule, may_decide = ruling.rule, ruling.rule.scope_id in reading.actor.writable
    # A rule of several scopes stands in each; what was refused is shown once.
    forms = _forms(reading, key, rule) | dict(bad.pop(rule.pk, {})) if may_decide else {}
    return _row(reading, rule, ruling.memory) | {
        "id": f"rule-{key}-{rule.pk}",
        "why": ruling.why,
        "has_changed": ruling.has_changed,
        "may_decide": may_decide,
        "forms": forms,
    }


def _forms(reading: Reading, key: str, rule: StandingRule) -> dict[str, Any]:
    row = f"{key}-{rule.pk}"
    scopes = [scope.pk for scope in rule.scopes.all()] or [rule.scope_id]
    given = {"text": rule.text, "layer": rule.layer, "scopes": scopes}
    return {
        "reword": wording_form(reading.actor, rule.scope, reading.writable, row=row, initial=given),
        "revoke": RevokeForm(row=row),
    }


def _row(reading: Reading, rule: StandingRule, memory: Memory) -> dict[str, Any]:
    """The memory behind a rule is shown to whoever may read its scope; what is delivered, to whoever it reaches."""
    is_readable = rule.scope_id in reading.actor.readable
    return {
        "rule": rule,
        "place": place_of(rule, reading.actor) if is_readable else "",
        "memory_url": reverse("memory_detail", args=[memory.pk]) if is_readable else "",
        "useful": _useful(memory) if is_readable else "",
        "by": rule.promoted_by.get_username() if rule.promoted_by and is_readable else "",
    }


def _useful(memory: Memory) -> str:
    """The evidence of its use, a judge's word counted as sure as it is; nothing where there is none."""
    reinforcement = getattr(memory, "reinforcement", None)
    useful = round(reinforcement.useful, 1) if reinforcement else 0
    return f"{useful:g} time{'' if useful == 1 else 's'}" if useful else ""


# What waits, and what was revoked ------------------------------------------------------------


def waiting_of(reading: Reading) -> list[dict[str, Any]]:
    rows = StandingRule.objects.visible_to(reading.actor).filter(in_state("proposed") | in_state("snoozed"))
    return _listed(reading, list(rows.whole().order_by("proposed_at", "pk")[:MOST]))


def revoked_of(reading: Reading) -> list[dict[str, Any]]:
    rows = StandingRule.objects.visible_to(reading.actor).in_state("revoked")
    return _listed(reading, list(rows.whole().order_by("-decided_at", "pk")[:MOST]))


def _listed(reading: Reading, rules: Sequence[StandingRule]) -> list[dict[str, Any]]:
    memories = wordings_now(rules)
    return [
        _row(reading, rule, memories[rule.pk])
        | {
            "has_changed": has_changed(rule, memories[rule.pk]),
            "inbox_url": f"{reverse('inbox')}?item=rule.{rule.pk}",
            "may_decide": rule.scope_id in reading.actor.writable,
        }
        for rule in rules
    ]
