"""Who belongs to a scope, and how much it holds."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from django.db.models import Count

from memories.access import Actor
from memories.models import Membership, Memory, Role, Scope


@dataclass(frozen=True, slots=True)
class Size:
    """``people`` counts the owner and the members who can still sign in."""

    live: int
    people: int


def sizes(scopes: Collection[Scope]) -> dict[int, Size]:
    """By the key of the scope; two queries, however many scopes."""
    keys = [scope.pk for scope in scopes]
    live = Memory.objects.live().in_scopes(keys).order_by().values_list("scope_id").annotate(n=Count("pk"))
    members = Membership.objects.filter(scope__in=keys, user__is_active=True).order_by().values_list("scope_id")
    by_live, by_members = dict(live), dict(members.annotate(n=Count("pk")))
    return {key: Size(by_live.get(key, 0), by_members.get(key, 0) + 1) for key in keys}


def role_words(actor: Actor, scope: Scope) -> str:
    if scope.owner_id == actor.user.pk:
        return "Owner"
    if scope.pk in actor.administered:
        return str(Role.ADMIN.label)
    return str(Role.WRITER.label if scope.pk in actor.writable else Role.READER.label)
