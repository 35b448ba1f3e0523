"""A person's own settings."""

from __future__ import annotations

import shlex
from typing import Any

from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from memories import condition
from memories.access import actor_for_request, readable_scopes
from memories.forms import ProfileForm
from memories.password_forms import ChangePasswordForm
from memories.presentation import scope_names
from memories.services import people
from memories.services.profile import change_profile


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def settings_page(request: HttpRequest) -> HttpResponse:
    actor = actor_for_request(request)
    form = ProfileForm(request.POST or None, instance=actor.user)
    if request.method == "POST" and form.is_valid():
        change_profile(actor=actor, **form.cleaned_data)
        messages.success(request, "Saved.")
        return redirect("settings_page")
    return _page(request, profile=form)


@require_POST
@never_cache
@sensitive_post_parameters()
def settings_password(request: HttpRequest) -> HttpResponse:
    user = actor_for_request(request).user
    form = ChangePasswordForm(user, request.POST)
    if not form.is_valid():
        return _page(request, password=form)
    people.choose_password(user, form.cleaned_data["new_password1"])
    update_session_auth_hash(request, user)
    messages.success(request, "Your password is changed. Other browsers are signed out.")
    return redirect("settings_page")


def _page(request: HttpRequest, *, profile: Any = None, password: Any = None) -> HttpResponse:
    actor = actor_for_request(request)
    password = password or ChangePasswordForm(actor.user)
    password.fields["old_password"].widget.attrs.pop("autofocus", None)  # it is not the first field of this page
    names = sorted(scope_names(readable_scopes(actor)).values())
    context = {
        "profile": profile or ProfileForm(instance=actor.user),
        "password": password,
        "embedder": condition.embedder(),
        "worker": condition.worker(),
        "commands": _commands(shlex.quote(actor.user.get_username()), shlex.quote(names[0] if names else "SCOPE")),
    }
    refused = any(form is not None and form.errors for form in (profile, password))
    return render(request, "memories/settings.html", context, status=422 if refused else 200)


def _commands(person: str, scope: str) -> dict[str, str]:
    """For the shell of the machine the server runs on."""
    return {
        "history": f".venv/bin/python manage.py import_memories --repo PATH --scope {scope} --user {person}",
    }
