"""Who may see or change what. The only door from a request to an object: a foreign row does not exist."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field

from django.db.models import Q
from django.http import HttpRequest

from memories.errors import Conflict, Forbidden, NotFound, ValidationFailed
from memories.guard import refuse_secrets
from memories.models import Membership, Memory, Role, Scope, Token, User
from memories.words import UNSTORABLE

_NO_SCOPE = "There is no such scope here. Check its name, or the scopes of the token."

type Roles = dict[int, str]  # of one person, by scope


@dataclass(frozen=True, slots=True)
class Actor:
    """Somebody acting: a person, or a token of theirs, with the scopes they may read, write and administer.

    ``checkouts`` are working trees beside whoever asks: folders by the name of the repository in lower case. They go
    before what is registered, for the answers to this actor alone.
    """

    user: User
    label: str
    token: Token | None = None
    agent: str = ""
    readable: frozenset[int] = field(default_factory=frozenset)
    writable: frozenset[int] = field(default_factory=frozenset)
    administered: frozenset[int] = field(default_factory=frozenset)
    checkouts: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def is_person(self) -> bool:
        """True in a browser session; only then may a distillate be approved."""
        return self.token is None and not self.agent

    @property
    def may_adjudicate(self) -> bool:
        """Whether disputes may be settled in this name: a person always, a token where it was made for that."""
        return self.is_person or (self.token is not None and self.token.can_adjudicate)


def actor_for_user(user: User) -> Actor:
    roles = _roles(user)
    rights = _rights(roles)
    return Actor(
        user=user,
        label=user.get_username(),
        readable=rights["readable"],
        writable=rights["writable"],
        administered=rights["administered"],
    )


def actor_for_token(token: Token, *, agent: str = "", roles: Roles | None = None) -> Actor:
    """*roles*: those of the token's person in the scopes it reaches, where they are known already.

    Raises ValidationFailed where the agent's name, which stands in everything it writes, holds a secret.
    """
    refuse_secrets(agent, "agent")
    rights = _rights(_roles_of_token(token) if roles is None else roles)
    writable = rights["writable"] if token.can_write else frozenset()
    return Actor(
        user=token.user,
        label=f"{agent or token.name} (token of {token.user.get_username()})",
        token=token,
        agent=agent or token.name,
        readable=rights["readable"],
        writable=writable,
    )


def actor_for_request(request: HttpRequest) -> Actor:
    """The signed-in person's rights, computed once a request."""
    actor = getattr(request, "_actor", None)
    if actor is None:
        actor = request._actor = actor_for_user(request.user)  # type: ignore[attr-defined,arg-type]  # cached on the request; LoginRequiredMiddleware ran
    return actor


def _roles(user: User) -> Roles:
    roles = dict(Membership.objects.filter(user=user).values_list("scope_id", "role"))
    owned = Scope.objects.filter(owner=user).values_list("pk", flat=True)
    return roles | dict.fromkeys(owned, Role.ADMIN)


def _roles_of_token(token: Token) -> Roles:
    allowed = set(token.scopes.values_list("pk", flat=True))
    return {scope: role for scope, role in _roles(token.user).items() if scope in allowed}


def _rights(roles: Roles) -> dict[str, frozenset[int]]:
    return {
        "readable": frozenset(roles),
        "writable": frozenset(scope for scope, role in roles.items() if role != Role.READER),
        "administered": frozenset(scope for scope, role in roles.items() if role == Role.ADMIN),
    }


def memory_for(actor: Actor, memory_id: str | uuid.UUID) -> Memory:
    """A memory the actor may read; raises NotFound for everything else, malformed ids included."""
    try:
        return (
            Memory.objects.visible_to(actor)
            .select_related("scope", "author", "invalidated_by")
            .get(pk=uuid.UUID(str(memory_id)))
        )
    except (ValueError, Memory.DoesNotExist) as error:
        raise NotFound("There is no such memory here. Check the id.") from error


def writable_memory_for(actor: Actor, memory_id: str | uuid.UUID) -> Memory:
    """A memory the actor may change; NotFound when it is foreign, Forbidden when it may only be read."""
    memory = memory_for(actor, memory_id)
    require_write(actor, memory.scope_id)
    return memory


def require_write(actor: Actor, scope_id: int) -> None:
    if scope_id not in actor.writable:
        raise Forbidden("You may read this scope, not write to it. Ask one of its admins for the writer role.")


def readable_scopes(actor: Actor) -> list[Scope]:
    return list(Scope.objects.filter(pk__in=actor.readable).select_related("owner").order_by("slug", "pk"))


def scope_for(actor: Actor, name: str) -> Scope:
    """The readable scope called *name*: a slug, or ``owner/slug`` where several people use one slug."""
    if UNSTORABLE.search(name):
        raise NotFound(_NO_SCOPE, field="scope")
    owner, _, slug = name.strip().rpartition("/")
    found = Scope.objects.filter(Q(slug__iexact=slug), pk__in=actor.readable).select_related("owner")
    matches = list(found.filter(owner__username=owner) if owner else found)
    if not matches:
        raise NotFound(_NO_SCOPE, field="scope")
    if len(matches) > 1:
        names = ", ".join(sorted(f"{scope.owner.get_username()}/{scope.slug}" for scope in matches))
        raise Conflict(f"Several scopes are called {slug!r}: name one of {names}.", field="scope")
    return matches[0]


def write_target(actor: Actor, name: str | None) -> Scope:
    """Where a write goes: the named scope, or the only one the actor may write to. Never a guess."""
    if name:
        scope = scope_for(actor, name)
        require_write(actor, scope.pk)
        return scope
    if len(actor.writable) == 1:
        return Scope.objects.select_related("owner").get(pk=next(iter(actor.writable)))
    if not actor.writable:
        raise Forbidden("You may not write to any scope. Ask an admin for the writer role, or use another token.")
    raise ValidationFailed("Name the scope: you may write to several.", field="scope")


def read_targets(actor: Actor, names: list[str] | None) -> frozenset[int]:
    """The scopes to read: those named, or all readable ones when *names* is None. An empty list is refused."""
    if names is None:
        return actor.readable
    if not names or not all(name.strip() for name in names):
        raise ValidationFailed("Name at least one scope, or leave scopes out to read all of yours.", field="scopes")
    return frozenset(scope_for(actor, name).pk for name in names)
