"""Choosing how a scope keeps its memories: look at what a change would do, then make it."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from memories.access import Actor, actor_for_request, readable_scopes
from memories.errors import ZeroMemoryError
from memories.models import RetentionPolicy, Scope
from memories.presentation import scope_names
from memories.retention_forms import PolicyForm
from memories.services.policies import checked_values, set_policy
from memories.services.scopes import require_admin
from memories.switching import preview_of
from memories.views.access import readable_scope


@require_http_methods(["GET", "HEAD", "POST"])
def scope_retention(request: HttpRequest, scope_id: int) -> HttpResponse:
    actor = actor_for_request(request)
    scope = readable_scope(actor, scope_id)
    if request.method == "POST":
        return _act(request, actor, scope)
    form = PolicyForm(request.GET) if "retention" in request.GET else PolicyForm.of(scope)
    return _page(request, actor, scope, form)


def _page(request: HttpRequest, actor: Actor, scope: Scope, form: PolicyForm, *, status: int = 200) -> HttpResponse:
    policy = RetentionPolicy.of(scope)
    rule = policy.rule
    context: dict[str, Any] = {
        "scope": scope,
        "name": scope_names(readable_scopes(actor))[scope.pk],
        "policy": policy,
        "rule": rule,
        "half_life": f"{rule.half_life_hours:,g}",
        "floor": f"{rule.floor:g}",
        "administered": scope.pk in actor.administered,
    }
    if form.is_bound and scope.pk in actor.administered:
        context |= _previewed(scope, form)
    return render(request, "memories/retention.html", context | {"form": form}, status=status)


def _previewed(scope: Scope, form: PolicyForm) -> dict[str, Any]:
    """Nothing where the form says no policy that could be."""
    if not form.is_valid():
        return {}
    retention = form.cleaned_data["retention"]
    try:
        values = checked_values(form.values())
    except ZeroMemoryError as error:
        form.add_error(error.field if error.field in form.fields else None, error.message)
        return {}
    wanted = RetentionPolicy(scope=scope, **values)
    return {
        "preview": preview_of(scope, retention=retention, rule=wanted.rule, now=timezone.now()),
        "wanted": wanted,
        "retention": retention,
        "switches": retention != scope.retention,
        "kept": [(field, form[field].data or "") for field in form.fields],
    }


def _act(request: HttpRequest, actor: Actor, scope: Scope) -> HttpResponse:
    require_admin(actor, scope)
    form = PolicyForm(request.POST)
    if not form.is_valid():
        return _page(request, actor, scope, form, status=422)
    retention, version = form.cleaned_data["retention"], form.cleaned_data["version"]
    try:
        set_policy(actor=actor, scope=scope, retention=retention, expected_version=version, **form.values())
    except ZeroMemoryError as error:
        form.add_error(error.field if error.field in form.fields else None, error.message)
        scope.refresh_from_db(fields=["retention"])  # whoever was quicker may have switched it
        return _page(request, actor, scope, form, status=422)
    messages.success(request, f"{scope.slug} is {retention}. No memory was changed by that.")
    return redirect("scope_keeping" if retention == Scope.Retention.DECAYING else "scope_detail", scope_id=scope.pk)
