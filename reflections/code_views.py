"""Letting the memories into the inbox that were held because too much code changed at once."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from memories.access import actor_for_request
from memories.errors import Forbidden
from memories.models import CodeLook
from memories.views.access import visible_repository
from reflections.presentation import counted
from reflections.services.code_changes import ask_all


@require_POST
def code_ask(request: HttpRequest, repository: str) -> HttpResponse:
    actor = actor_for_request(request)
    found = visible_repository(actor, repository)
    looks = CodeLook.objects.visible_to(actor).asking().filter(repository__iexact=found.name).select_related("scope")
    mine = [look.scope for look in looks if look.scope_id in actor.writable]
    if looks and not mine:
        raise Forbidden("You may read this scope; its writers decide.")
    opened = sum(ask_all(actor=actor, scope=scope, repository=found.name) for scope in mine)
    messages.success(request, f"{counted(opened, 'item')} came to the inbox. What is back already did not.")
    return redirect(f"{reverse('inbox')}?type=code_changed")
