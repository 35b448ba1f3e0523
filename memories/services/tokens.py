"""Bearer tokens: made, recognised, revoked. A secret is shown once; the database knows its SHA-256."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import urlsplit

from django.db import connection, transaction
from django.utils import timezone

from memories.access import Actor, Roles, actor_for_token
from memories.errors import NotFound, ValidationFailed
from memories.guard import refuse_secrets
from memories.models import Scope, Token, User
from memories.read_only import is_read_only
from memories.services import audit
from memories.sql import load
from zeromemory.lib.partial import partial

PREFIX: Final = "zm_"
NAME_LENGTH: Final = 80
# Every request would otherwise be a write.
USE_NOTED_EVERY: Final = timedelta(minutes=1)
NONE_VALID: Final = "Send a valid token: Authorization: Bearer <token>. Create one on the Tokens page."


@transaction.atomic
def create_token(
    *,
    actor: Actor,
    name: str,
    scopes: Collection[Scope],
    can_write: bool = True,
    can_adjudicate: bool = False,
    expires_at: datetime | None = None,
) -> tuple[Token, str]:
    """The token of *actor*'s person and its secret. Raises ValidationFailed, and NotFound for a foreign scope."""
    name = name.strip()
    check_token(
        actor=actor,
        name=name,
        scopes=scopes,
        can_write=can_write,
        can_adjudicate=can_adjudicate,
        expires_at=expires_at,
    )
    secret = new_secret()
    token = Token.objects.create(
        user=actor.user,
        name=name,
        secret_sha256=digest(secret),
        hint=hint_of(secret),
        can_write=can_write,
        can_adjudicate=can_adjudicate,
        expires_at=expires_at,
    )
    token.scopes.set(scopes)
    slugs = sorted(scope.slug for scope in scopes)
    audit.record(
        actor=actor,
        action="create_token",
        subject=token,
        scopes=slugs,
        can_write=can_write,
        can_adjudicate=can_adjudicate,
    )
    return token, secret


def check_token(
    *,
    actor: Actor,
    name: str,
    scopes: Collection[Scope],
    can_write: bool,
    can_adjudicate: bool,
    expires_at: datetime | None = None,
) -> None:
    """What ``create_token`` would refuse, before there is anything to create."""
    if not name or len(name) > NAME_LENGTH or "\x00" in name:
        raise ValidationFailed(f"Give the token a name of 1 to {NAME_LENGTH} characters.", field="name")
    refuse_secrets(name, "name")
    if not scopes:
        raise ValidationFailed("Choose at least one scope: a token reaches nothing beyond them.", field="scopes")
    if expires_at and expires_at <= timezone.now():
        raise ValidationFailed("The token would have expired already. Choose a later date.", field="expires_at")
    if can_adjudicate and not can_write:
        raise ValidationFailed(
            "A token that settles disputes has to write. Allow both or neither.", field="can_adjudicate"
        )
    if any(scope.pk not in actor.readable for scope in scopes):
        raise NotFound("There is no such scope here. Check its name.", field="scopes")


def new_secret() -> str:
    return PREFIX + secrets.token_urlsafe(32)


def hint_of(secret: str) -> str:
    return secret[: len(PREFIX) + 5]


def authenticate(secret: str, *, at: str = "") -> tuple[Token, Roles] | None:
    """The token with this secret if it is in force: not revoked, not expired, of somebody who is still active. With it
    that person's role in each scope the token reaches. In one round trip, because every call begins with it.

    *at* is the address the call came to, ``https://host``: a client that was let in for another one (RFC 8707) has no
    token here. Empty where the call came by no address.
    """
    now = timezone.now()
    with connection.cursor() as cursor:
        cursor.execute(load("authenticate"), {"digest": digest(secret), "now": now})
        row = cursor.fetchone()
        names = [column.name for column in cursor.description]
    if row is None:
        return None
    known = dict(zip(names, row, strict=True))
    if at and known["resource"] and _origin(known["resource"]) != _origin(at):
        return None
    token = partial(Token, known)
    token.user = partial(User, {"id": token.user_id, "username": known["username"], "is_active": True})
    is_due = token.last_used_at is None or now - token.last_used_at >= USE_NOTED_EVERY
    if is_due and not is_read_only():
        Token.objects.filter(pk=token.pk).update(last_used_at=now)
    return token, {int(scope): role for scope, role in json.loads(known["roles"]).items()}


def _origin(address: str) -> tuple[str, str]:
    parts = urlsplit(address)
    return parts.scheme.lower(), parts.netloc.lower()


def actor_with(secret: str, *, agent: str = "", at: str = "") -> Actor | None:
    """Who acts with this secret, called *agent*; None where it is no token in force at this address."""
    found = authenticate(secret, at=at)
    if found is None:
        return None
    holder, roles = found
    return actor_for_token(holder, agent=agent, roles=roles)


def agent_called(header: str) -> str:
    """The name that a request gives its agent, as far as it can be shown."""
    return "".join(letter for letter in header if letter.isprintable()).strip()[:120]


@transaction.atomic
def revoke(*, actor: Actor, token: Token) -> None:
    """End a token of the actor's own; a second time changes nothing. NotFound for somebody else's."""
    if token.user_id != actor.user.pk:
        raise NotFound("There is no such token here.")
    if Token.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=timezone.now()):
        audit.record(actor=actor, action="revoke_token", subject=token)


def digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
