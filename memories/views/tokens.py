"""Tokens for agents and programs. A secret is on one page, once."""

from __future__ import annotations

import json
import shlex
import uuid
from datetime import timedelta
from typing import Any, Final

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.templatetags.static import static
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from memories.access import Actor, actor_for_request, actor_for_token, readable_scopes
from memories.errors import ZeroMemoryError
from memories.forms import TokenForm
from memories.models import Scope, Token
from memories.presentation import scope_names
from memories.services import tokens as services
from memories.set_up import hooks, set_ups, without_token
from memories.views.access import own_token

# Longer than setting up an agent takes; a page left open does not ask for ever.
WATCHED_FOR: Final = timedelta(hours=1)
_FORMS: Final = "token_forms"  # in the session
_FORMS_KEPT: Final = 20
_MARK_LENGTH: Final = 40


@require_safe
@never_cache
def token_list(request: HttpRequest) -> HttpResponse:
    actor = actor_for_request(request)
    mine = Token.objects.filter(user=actor.user).select_related("grant__client").prefetch_related("scopes__owner")
    names = scope_names(readable_scopes(actor))
    rows = [_row(token, names) for token in mine.order_by("-created_at", "-pk")]
    context = {
        "in_force": [row for row in rows if row["in_force"]],
        "ended": [row for row in rows if not row["in_force"]],
        "may_create": bool(actor.readable),
        "without_token": without_token(request.build_absolute_uri("/mcp")),
    }
    return render(request, "memories/tokens.html", context)


def _row(token: Token, names: dict[int, str]) -> dict[str, Any]:
    in_force = token.is_in_force
    reached = [names[scope.pk] for scope in token.scopes.all() if scope.pk in names]
    return {
        "token": token,
        "grant": getattr(token, "grant", None),
        "in_force": in_force,
        "expired": token.is_expired,
        "scopes": ", ".join(sorted(reached)),
        "watched": in_force and _is_watched(token),
        "awaited": in_force and _is_awaited(token),
    }


def _is_watched(token: Token) -> bool:
    return token.can_write and token.first_write_at is None and timezone.now() - token.created_at < WATCHED_FOR


def _is_awaited(token: Token) -> bool:
    """Whether its first call may come at any moment."""
    return token.last_used_at is None and timezone.now() - token.created_at < WATCHED_FOR


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def token_new(request: HttpRequest) -> HttpResponse:
    actor = actor_for_request(request)
    form = TokenForm(request.POST or None, actor=actor)
    if request.method == "POST" and form.is_valid():
        sent_before = _names_by_form(request).get(request.POST.get("form", ""))
        return _sent_again(request, sent_before) if sent_before else _created(request, actor, form)
    return _form(request, form, may_create=bool(actor.readable))


def _form(request: HttpRequest, form: TokenForm, *, may_create: bool) -> HttpResponse:
    context = {"form": form, "may_create": may_create, "form_id": request.POST.get("form") or uuid.uuid4().hex}
    return render(request, "memories/token_new.html", context, status=422 if form.errors else 200)


def _names_by_form(request: HttpRequest) -> dict[str, str]:
    """The tokens of this session's last forms by the mark of each, so that a page that is reloaded makes no second."""
    found: dict[str, str] = request.session.get(_FORMS, {})
    return found


def _sent_again(request: HttpRequest, name: str) -> HttpResponse:
    messages.info(
        request,
        f"The token for {name} was created when this form was first sent, and its secret was shown once. If you have "
        "not copied it, revoke the token and create another.",
    )
    return redirect("token_list")


@sensitive_variables("secret", "context")
def _created(request: HttpRequest, actor: Actor, form: TokenForm) -> HttpResponse:
    """Answered at once and not after a redirect: between two requests the secret would have to be kept somewhere."""
    try:
        token, secret = services.create_token(actor=actor, **_wanted(form.cleaned_data))
    except ZeroMemoryError as error:
        form.add_error(error.field if error.field in form.fields else None, error.message)
        return _form(request, form, may_create=True)
    _note_form(request, token)
    context = {"token": token, "secret": secret, "watched": _is_watched(token), "awaited": True} | _examples(
        request, token, secret
    )
    context["set_ups"] = set_ups(request.build_absolute_uri("/mcp"), secret)
    script = request.build_absolute_uri(static("hooks/zero_memory_hook.py"))
    context["hooks"] = hooks(request.build_absolute_uri("/").rstrip("/"), script, secret)
    return render(request, "memories/token_created.html", context)


def _note_form(request: HttpRequest, token: Token) -> None:
    if mark := request.POST.get("form", "")[:_MARK_LENGTH]:
        newest = [*_names_by_form(request).items(), (mark, token.name)][-_FORMS_KEPT:]
        request.session[_FORMS] = dict(newest)


def _wanted(cleaned: dict[str, Any]) -> dict[str, Any]:
    days = cleaned["days"]
    return {
        "name": cleaned["name"],
        "scopes": list(cleaned["scopes"]),
        "can_write": cleaned["can_write"],
        "can_adjudicate": cleaned["can_adjudicate"],
        "expires_at": timezone.now() + timedelta(days=days) if days else None,
    }


@sensitive_variables("secret")
def _examples(request: HttpRequest, token: Token, secret: str) -> dict[str, Any]:
    """Commands to paste into a shell, with the address this page was reached at."""
    writable = actor_for_token(token).writable
    return {
        "remember": _curl(request, "memories", secret, {"content": "The build needs Python 3.13."} | _scope(writable)),
        "recall": _curl(request, "recall", secret, {"query": "Which Python does the build need?"}),
        "may_write": bool(writable),
    }


def _scope(writable: frozenset[int]) -> dict[str, str]:
    """Where a token may write to several scopes, a write has to name one."""
    if len(writable) < 2:
        return {}
    names = scope_names(Scope.objects.filter(pk__in=writable).select_related("owner"))
    return {"scope": min(names.values())}


@sensitive_variables("secret")
def _curl(request: HttpRequest, path: str, secret: str, body: dict[str, str]) -> str:
    address = request.build_absolute_uri(f"/api/v1/{path}")
    return " \\\n  ".join(
        [
            f"curl -sS {shlex.quote(address)}",
            f"-H 'Authorization: Bearer {secret}'",
            "-H 'Content-Type: application/json'",
            f"-d {shlex.quote(json.dumps(body))}",
        ]
    )


@require_safe
@never_cache
def token_first_write(request: HttpRequest, token_id: int) -> HttpResponse:
    """Whether the token has written yet: asked for by the page until it has."""
    token = own_token(actor_for_request(request), token_id)
    watched = token.revoked_at is None and _is_watched(token)
    return render(request, "memories/first_write.html", {"token": token, "watched": watched})


@require_safe
@never_cache
def token_first_call(request: HttpRequest, token_id: int) -> HttpResponse:
    """Whether the token was used yet: asked for by the page until it was, or nobody waits any more."""
    token = own_token(actor_for_request(request), token_id)
    awaited = token.is_in_force and _is_awaited(token)
    return render(request, "memories/first_call.html", {"token": token, "awaited": awaited})


@require_POST
def token_revoke(request: HttpRequest, token_id: int) -> HttpResponse:
    actor = actor_for_request(request)
    token = own_token(actor, token_id)
    services.revoke(actor=actor, token=token)
    messages.success(request, f"Revoked {token.name}. Whoever uses it is refused from now on.")
    return redirect("token_list")
