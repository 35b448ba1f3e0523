"""Words that stand for each other, on the page of their scope."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from memories.access import Actor, actor_for_request
from memories.errors import ValidationFailed
from memories.models import Scope
from memories.services import aliases
from memories.views.access import readable_scope


def aliases_of(actor: Actor, scope: Scope) -> dict[str, Any]:
    return {"rows": list(aliases.standing(scope)), "may_write": scope.pk in actor.writable}


@require_POST
def scope_alias_add(request: HttpRequest, scope_id: int) -> HttpResponse:
    actor = actor_for_request(request)
    scope = readable_scope(actor, scope_id)
    term, alias = (request.POST.get(name, "").replace("\x00", "") for name in ("term", "alias"))
    try:
        made = aliases.add_alias(actor=actor, scope=scope, term=term, alias=alias)
    except ValidationFailed as error:
        messages.error(request, error.message)
    else:
        messages.success(request, f"{made.term} and {made.alias} stand for each other in searches.")
    return redirect("scope_detail", scope_id=scope.pk)


@require_POST
def scope_alias_retire(request: HttpRequest, scope_id: int, alias_id: uuid.UUID) -> HttpResponse:
    actor = actor_for_request(request)
    scope = readable_scope(actor, scope_id)
    aliases.retire_alias(actor=actor, alias=aliases.alias_for(actor, scope, alias_id))
    messages.success(request, "Retired. It widens no search any more.")
    return redirect("scope_detail", scope_id=scope.pk)
