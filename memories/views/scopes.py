"""Scopes and who belongs to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from memories.access import Actor, actor_for_request, readable_scopes
from memories.belonging import role_words, sizes
from memories.errors import ZeroMemoryError
from memories.forms import MemberForm, RenameForm, ScopeForm
from memories.models import Role, Scope
from memories.presentation import scope_names
from memories.services import scopes as services
from memories.views.access import readable_scope
from memories.views.aliases import aliases_of
from memories.views.verifying import world_facts

RETENTION_WORDS: Final = {
    "ageing": "Ageing: nothing is ever removed by age. Older memories count for less in search.",
    "decaying": "Decaying: what nobody asks for loses weight by last access. Search does not weigh age.",
}


@require_http_methods(["GET", "HEAD", "POST"])
def scope_list(request: HttpRequest) -> HttpResponse:
    actor = actor_for_request(request)
    form = ScopeForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        wanted = form.cleaned_data
        try:
            scope = services.create_scope(actor=actor, slug=wanted["slug"] or wanted["name"], name=wanted["name"])
        except ZeroMemoryError as error:
            form.add_error(error.field if error.field in form.fields else None, error.message)
        else:
            messages.success(request, f"Created the scope {scope.slug}.")
            return redirect("scope_detail", scope_id=scope.pk)
    status = 422 if form.errors else 200
    return render(request, "memories/scopes.html", {"form": form, "rows": _rows(actor)}, status=status)


def _rows(actor: Actor) -> list[dict[str, Any]]:
    scopes = readable_scopes(actor)
    names, size = scope_names(scopes), sizes(scopes)
    return [
        {
            "scope": scope,
            "name": names[scope.pk],
            "role": role_words(actor, scope),
            "size": size[scope.pk],
            "retention": RETENTION_WORDS[scope.retention],
        }
        for scope in scopes
    ]


@require_safe
def scope_detail(request: HttpRequest, scope_id: int) -> HttpResponse:
    actor = actor_for_request(request)
    return _page(request, actor, readable_scope(actor, scope_id))


def _page(
    request: HttpRequest,
    actor: Actor,
    scope: Scope,
    *,
    rename: RenameForm | None = None,
    member: MemberForm | None = None,
) -> HttpResponse:
    memberships = scope.memberships.select_related("user").order_by("user__username")
    context = {
        "scope": scope,
        "name": scope_names(readable_scopes(actor))[scope.pk],
        "role": role_words(actor, scope),
        "retention": RETENTION_WORDS[scope.retention],
        "size": sizes([scope])[scope.pk],
        "world_facts": world_facts(scope, timezone.now()),
        "aliases": aliases_of(actor, scope),
        "memberships": memberships,
        "roles": Role.choices,
        "administered": scope.pk in actor.administered,
        "owned": scope.owner_id == actor.user.pk,
        "rename": rename or RenameForm(initial={"name": scope.name}),
        "member": member or MemberForm(),
    }
    return render(request, "memories/scope.html", context, status=422 if rename or member else 200)


@require_POST
def scope_rename(request: HttpRequest, scope_id: int) -> HttpResponse:
    def rename(actor: Actor, scope: Scope, wanted: dict[str, Any]) -> str:
        services.rename_scope(actor=actor, scope=scope, name=wanted["name"])
        return "Renamed. The short name stays as it is."

    return _change(request, scope_id, "rename", RenameForm(request.POST), rename)


@require_POST
def scope_set_member(request: HttpRequest, scope_id: int) -> HttpResponse:
    def let_in(actor: Actor, scope: Scope, wanted: dict[str, Any]) -> str:
        membership = services.set_member(actor=actor, scope=scope, **wanted)
        return f"{membership.user.get_username()} is {membership.get_role_display().lower()} here."

    return _change(request, scope_id, "member", MemberForm(request.POST), let_in)


def _change(
    request: HttpRequest, scope_id: int, name: str, form: Any, act: Callable[[Actor, Scope, dict[str, Any]], str]
) -> HttpResponse:
    """Do it and say so; a refusal keeps what was typed."""
    actor = actor_for_request(request)
    scope = readable_scope(actor, scope_id)
    services.require_admin(actor, scope)
    if form.is_valid():
        try:
            messages.success(request, act(actor, scope, form.cleaned_data))
        except ZeroMemoryError as error:
            form.add_error(error.field if error.field in form.fields else None, error.message)
        else:
            return redirect("scope_detail", scope_id=scope.pk)
    return _page(request, actor, scope, **{name: form})


@require_POST
def scope_remove_member(request: HttpRequest, scope_id: int, user_id: int) -> HttpResponse:
    actor = actor_for_request(request)
    scope = readable_scope(actor, scope_id)
    if services.remove_member(actor=actor, scope=scope, user_id=user_id):
        messages.success(request, "Removed. What they wrote stays.")
    else:
        messages.warning(request, "They were no member any more.")
    return redirect("scope_detail", scope_id=scope.pk)


@require_POST
def scope_leave(request: HttpRequest, scope_id: int) -> HttpResponse:
    actor = actor_for_request(request)
    scope = readable_scope(actor, scope_id)
    if not services.remove_member(actor=actor, scope=scope, user_id=actor.user.pk):
        messages.warning(request, "The owner cannot leave a scope.")
        return redirect("scope_detail", scope_id=scope.pk)
    messages.success(request, f"You have left {scope.slug}. An admin can let you in again.")
    return redirect("scope_list")
