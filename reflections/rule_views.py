"""Standing rules: what agents are told at the start of a session, where, and by whose decision."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from memories.access import Actor, actor_for_request, memory_for, scope_for
from memories.errors import Conflict, ValidationFailed
from memories.models import Memory
from memories.views.sent import whole_number
from reflections.access import rule_for
from reflections.delivery import hindrance
from reflections.inbox.rule_evidence import sessions_of
from reflections.models import StandingRule
from reflections.rule_blocks import FORMATS
from reflections.rule_files import file_of
from reflections.rule_forms import RevokeForm, WordingForm, wording_form
from reflections.rule_presentation import TABS, Bad, places_of, reading_of, revoked_of, tabs_of, waiting_of
from reflections.rule_wording import undone_in_words
from reflections.services import rules as services


@require_safe
def rule_list(request: HttpRequest) -> HttpResponse:
    return _page(request, request.GET.get("state", ""))


def _page(request: HttpRequest, state: str, bad: Bad | None = None, status: int = 200) -> HttpResponse:
    reading, tab = reading_of(actor_for_request(request)), state if state in TABS else "promoted"
    context: dict[str, Any] = {"tab": tab, "tabs": tabs_of(reading, tab), "scopes": sorted(reading.names.values())}
    if tab == "promoted":
        context["places"] = places_of(reading, bad or {})
    else:
        context["rows"] = waiting_of(reading) if tab == "proposed" else revoked_of(reading)
    return render(request, "reflections/rules.html", context, status=status)


@require_safe
def rule_download(request: HttpRequest) -> HttpResponse:
    """What is delivered in a scope, or in all of one's own, as a file for agents."""
    actor, format = actor_for_request(request), request.GET.get("format", "claude")
    if format not in FORMATS:
        raise Http404
    name = request.GET.get("scope", "")
    return file_of(actor, frozenset({scope_for(actor, name).pk}) if name else actor.readable, format)


# Deciding ------------------------------------------------------------------------------------


@require_POST
def rule_pin(request: HttpRequest, rule_id: uuid.UUID) -> HttpResponse:
    return _do(request, rule_id, services.pin, "Pinned: it is delivered first.")


@require_POST
def rule_unpin(request: HttpRequest, rule_id: uuid.UUID) -> HttpResponse:
    return _do(request, rule_id, services.unpin, "Unpinned.")


@require_POST
def rule_undo(request: HttpRequest, rule_id: uuid.UUID) -> HttpResponse:
    return _do(request, rule_id, services.undo, undone_in_words)


@require_POST
def rule_reword(request: HttpRequest, rule_id: uuid.UUID) -> HttpResponse:
    actor = actor_for_request(request)
    rule = rule_for(actor, rule_id)
    form = _wording(actor, rule, request.POST)
    return _do(request, rule_id, services.reword, "Saved: agents are told this from now on.", reword=form)


@require_POST
def rule_revoke(request: HttpRequest, rule_id: uuid.UUID) -> HttpResponse:
    form = RevokeForm(request.POST, row=f"sent-{rule_id}")
    return _do(request, rule_id, services.revoke, "Revoked: it is no rule any more.", revoke=form)


def _wording(actor: Actor, rule: StandingRule, sent: Mapping[str, Any]) -> WordingForm:
    return wording_form(actor, rule.scope, reading_of(actor).writable, sent, row=f"sent-{rule.pk}")


type Said = str | Callable[[StandingRule], str]
"""What is said when it is done, or how the rule as it is then is put into words."""


def _do(request: HttpRequest, rule_id: uuid.UUID, act: Callable[..., Any], done: Said, **forms: Any) -> HttpResponse:
    """Do it and say so; a refusal keeps what was typed, and whoever comes second is told who was first."""
    actor = actor_for_request(request)
    rule, form = rule_for(actor, rule_id), next(iter(forms.values()), None)
    if form is not None and not form.is_valid():
        return _page(request, rule.state, {rule.pk: forms}, 422)
    try:
        now = act(actor=actor, rule=rule, version=_version(request), **(form.cleaned_data if form else {}))
    except ValidationFailed as error:
        if form is None:
            raise
        form.add_error(error.field if error.field in form.fields else None, error.message)
        return _page(request, rule.state, {rule.pk: forms}, 422)
    except Conflict as error:
        messages.warning(request, error.message)
        return redirect("rule_list")
    messages.success(request, done if isinstance(done, str) else done(now))
    return redirect("rule_list")


def _version(request: HttpRequest) -> int:
    """The version on the screen; 0, which is never current, where none was sent."""
    return whole_number(request.POST.get("version", ""), otherwise=0)


# By hand -------------------------------------------------------------------------------------


@require_http_methods(["GET", "HEAD", "POST"])
def rule_of_memory(request: HttpRequest, memory_id: uuid.UUID) -> HttpResponse:
    """What a memory is as a rule, and the form that makes it one."""
    actor = actor_for_request(request)
    memory = memory_for(actor, memory_id)
    if request.method != "POST":
        return _by_hand(request, memory, _new_wording(actor, memory))
    form = _new_wording(actor, memory, request.POST)
    if not form.is_valid():
        return _by_hand(request, memory, form, 422)
    try:
        services.make_rule(actor=actor, memory=memory, **form.cleaned_data)
    except (ValidationFailed, Conflict) as error:
        form.add_error(error.field if error.field in form.fields else None, error.message)
        return _by_hand(request, memory, form, 422)
    messages.success(request, "Made a standing rule: agents are told this from now on.")
    return redirect("rule_list")


def _new_wording(actor: Actor, memory: Memory, sent: Mapping[str, Any] | None = None) -> WordingForm:
    layer = StandingRule.Layer.CORE if memory.scope.is_core else StandingRule.Layer.SCOPE
    given = {"text": memory.content, "layer": layer, "scopes": [memory.scope_id]}
    return wording_form(actor, memory.scope, reading_of(actor).writable, sent, row=memory.pk, initial=given)


def _by_hand(request: HttpRequest, memory: Memory, form: WordingForm, status: int = 200) -> HttpResponse:
    rule = services.rule_of(memory)
    context = {
        "memory": memory,
        "form": form,
        "rule": rule,
        "may_make": memory.scope_id in actor_for_request(request).writable and not hindrance(memory),
        "is_decided": rule is not None and rule.state in ("promoted", "dismissed", "revoked"),
        "sessions": sessions_of(memory),
    }
    return render(request, "reflections/rule_of_memory.html", context, status=status)
