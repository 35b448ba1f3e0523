"""From an address to a scope or a token. A foreign one does not exist."""

from __future__ import annotations

from memories.access import Actor
from memories.errors import NotFound
from memories.models import Repository, Scope, Token


def readable_scope(actor: Actor, scope_id: int) -> Scope:
    scope = Scope.objects.filter(pk=scope_id, pk__in=actor.readable).select_related("owner").first()
    if scope is None:
        raise NotFound("There is no such scope here. Check the address.")
    return scope


def own_token(actor: Actor, token_id: int) -> Token:
    token = Token.objects.filter(pk=token_id, user=actor.user).first()
    if token is None:
        raise NotFound("There is no such token here. Check the address.")
    return token


def visible_repository(actor: Actor, name: str) -> Repository:
    """With its scopes."""
    rows = Repository.objects.visible_to(actor).filter(name__iexact=name.replace("\0", ""))
    repository = rows.prefetch_related("scopes").first()
    if repository is None:
        raise NotFound("There is no such repository here. Check the address.")
    return repository
