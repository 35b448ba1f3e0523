"""The page on which a person lets an agent in that asked for it by OAuth, or refuses."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods

from memories.access import Actor, actor_for_request
from memories.errors import ZeroMemoryError
from memories.forms import TokenForm
from memories.models import OAuthClient
from memories.services import oauth_asking
from memories.services.oauth_asking import Asked
from memories.services.oauth_clients import host_of, is_on_this_computer


class ConnectForm(TokenForm):
    """What a new token asks for, without what the agent brings along: its name, and an end that is renewed."""

    name = None  # type: ignore[assignment]  # how Django takes a field away
    days = None  # type: ignore[assignment]  # how Django takes a field away


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def connect(request: HttpRequest) -> HttpResponse:
    actor = actor_for_request(request)
    packed = request.GET.get("request", "")
    if not packed:
        return _nothing_asked(request)
    asked, client = oauth_asking.unpack(packed)
    if request.POST.get("answer") == "refuse":
        return _sent_back(request, asked, oauth_asking.refuse(actor=actor, packed=packed))
    form = ConnectForm(request.POST or None, actor=actor, initial=_initial(actor, asked))
    if request.method == "POST" and form.is_valid():
        return _answered(request, actor, form, packed)
    return _question(request, actor, form, asked, client)


def _nothing_asked(request: HttpRequest) -> HttpResponse:
    address = request.build_absolute_uri("/mcp")
    may_ask = request.is_secure() or is_on_this_computer(address)
    return render(request, "memories/connect.html", {"address": address, "may_ask": may_ask})


@sensitive_variables("address")
def _answered(request: HttpRequest, actor: Actor, form: ConnectForm, packed: str) -> HttpResponse:
    asked, client = oauth_asking.unpack(packed)
    try:
        address = oauth_asking.allow(actor=actor, packed=packed, **form.cleaned_data)
    except ZeroMemoryError as error:
        form.add_error(error.field if error.field in form.fields else None, error.message)
        return _question(request, actor, form, asked, client)
    return _sent_back(request, asked, address)


def _initial(actor: Actor, asked: Asked) -> dict[str, Any]:
    """Settling disputes is never ticked beforehand, whatever the agent asks for."""
    only = list(actor.readable) if len(actor.readable) == 1 else []
    return {"scopes": only, "can_write": not asked.rights or oauth_asking.WRITE in asked.rights}


def _question(request: HttpRequest, actor: Actor, form: ConnectForm, asked: Asked, client: OAuthClient) -> HttpResponse:
    context = {
        "client": client,
        "form": form,
        "host": host_of(asked.redirect_uri),
        "on_this_computer": is_on_this_computer(asked.redirect_uri),
        "may_allow": bool(actor.readable),
    }
    return render(request, "memories/connect.html", context, status=422 if form.errors else 200)


@sensitive_variables("address")
def _sent_back(request: HttpRequest, asked: Asked, address: str) -> HttpResponse:
    """By a page and not by a redirect: browsers hold every hop that follows a form to ``form-action``, those of the
    agent's own pages too, and that stays 'self'."""
    return render(request, "memories/connected.html", {"address": address, "host": host_of(asked.redirect_uri)})
