"""From a code to a token, from a token to its successor. A grant is a token that its client may renew.

A secret that was spent before and comes again was copied: nobody can tell who holds it rightly, so the grant ends.
"""

from __future__ import annotations

import secrets
import uuid
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from memories.access import actor_for_user
from memories.errors import ZeroMemoryError
from memories.models import OAuthCode, OAuthGrant, Token
from memories.services import audit
from memories.services.oauth_asking import rights_of, token_name
from memories.services.oauth_clients import host_of
from memories.services.tokens import create_token, digest, hint_of, new_secret

ACCESS_LIFETIME: Final = timedelta(hours=1)
REFRESH_LIFETIME: Final = timedelta(days=30)  # without a renewal
USED_TWICE: Final = "A code or a refresh token came a second time: somebody has a copy."
ASKED_BY_CLIENT: Final = "The client gave it back."
_HOST_LENGTH: Final = 300


@dataclass(frozen=True, slots=True)
class Issued:
    """Two secrets, which nothing keeps, and what the first is good for."""

    access: str
    refresh: str
    rights: list[str]


# Codes ---------------------------------------------------------------------------------------


def code_with(client_id: uuid.UUID, secret: str) -> OAuthCode | None:
    """The client's code with this secret. One that was used before ends what came of it."""
    code = _codes().filter(client_id=client_id, secret_sha256=digest(secret)).first()
    if code is None or code.used_at is None:
        return code
    _end_all_of(code)
    return None


def redeem(code: OAuthCode) -> Issued | None:
    """A token of what the person allowed; None where that cannot be had any more. The code is spent either way."""
    issued = _redeemed(code)
    if issued is None:
        _end_all_of(_codes().get(pk=code.pk))  # another request was faster with the same code
    return issued


@transaction.atomic
def _redeemed(code: OAuthCode) -> Issued | None:
    """The claim and what it gives in one transaction: whoever comes second waits, and finds the grant to end."""
    if not OAuthCode.objects.filter(pk=code.pk, used_at=None).update(used_at=timezone.now()):
        return None
    if not code.user.is_active or code.expires_at <= timezone.now():
        return None
    try:
        return _granted(code)
    except ZeroMemoryError:  # a scope was lost between the page and here
        return None


@transaction.atomic
def _granted(code: OAuthCode) -> Issued:
    now = timezone.now()
    token, access = create_token(
        actor=actor_for_user(code.user),
        name=token_name(code.client, code.redirect_uri),
        scopes=list(code.scopes.all()),
        can_write=code.can_write,
        can_adjudicate=code.can_adjudicate,
        expires_at=now + ACCESS_LIFETIME,
    )
    Token.objects.filter(pk=token.pk).update(renewable_until=now + REFRESH_LIFETIME)
    lineage, turn = new_secret(), secrets.token_urlsafe(32)
    OAuthGrant.objects.create(
        token=token,
        client=code.client,
        lineage_sha256=digest(lineage),
        turn_sha256=digest(turn),
        can_write=code.can_write,
        can_adjudicate=code.can_adjudicate,
        returns_to=host_of(code.redirect_uri)[:_HOST_LENGTH],
        resource=code.resource,
    )
    OAuthCode.objects.filter(pk=code.pk).update(token=token)
    return Issued(access, f"{lineage}.{turn}", _rights(token))


def _codes() -> QuerySet[OAuthCode]:
    return OAuthCode.objects.select_related("client", "user", "token__grant__client", "token__user")


def _end_all_of(code: OAuthCode) -> None:
    if code.token is not None:
        end(code.token.grant, reason=USED_TWICE)


# Renewals ------------------------------------------------------------------------------------


def grant_with(client_id: uuid.UUID, refresh: str) -> OAuthGrant | None:
    """The client's grant that this refresh token renews. One that was used before ends it."""
    lineage, _, turn = refresh.partition(".")
    grant = _grants().filter(client_id=client_id, lineage_sha256=digest(lineage)).first()
    if grant is None or not grant.token.is_renewable or not grant.token.user.is_active:
        return None
    if grant.turn_sha256 != digest(turn):
        end(grant, reason=USED_TWICE)
        return None
    return grant


def renew(grant: OAuthGrant, refresh: str, *, can_write: bool, can_adjudicate: bool) -> Issued | None:
    """The grant's token with a new secret, its refresh token with a new turn; None where another request was faster
    with the same one, which ends the grant, or the grant ended meanwhile."""
    issued = _renewed(grant, refresh, can_write, can_adjudicate)
    if issued is None:
        end(grant, reason=USED_TWICE)
    return issued


@transaction.atomic
def _renewed(grant: OAuthGrant, refresh: str, can_write: bool, can_adjudicate: bool) -> Issued | None:
    now = timezone.now()
    lineage, _, turn = refresh.partition(".")
    access, following = new_secret(), secrets.token_urlsafe(32)
    current = OAuthGrant.objects.filter(pk=grant.pk, turn_sha256=digest(turn))
    if not current.update(turn_sha256=digest(following), renewed_at=now):
        return None
    token = Token.objects.select_for_update().get(pk=grant.pk)
    if token.revoked_at is not None:
        return None
    token.secret_sha256, token.hint = digest(access), hint_of(access)
    token.can_write = can_write and grant.can_write
    token.can_adjudicate = can_adjudicate and grant.can_adjudicate and token.can_write
    token.expires_at, token.renewable_until = now + ACCESS_LIFETIME, now + REFRESH_LIFETIME
    token.save(update_fields=["secret_sha256", "hint", "can_write", "can_adjudicate", "expires_at", "renewable_until"])
    audit.record(actor=None, label=_label(grant), action="renew_token", subject=token, rights=_rights(token))
    return Issued(access, f"{lineage}.{following}", _rights(token))


def grant_of_access(secret: str) -> OAuthGrant | None:
    return _grants().filter(token__secret_sha256=digest(secret), token__revoked_at=None).first()


@transaction.atomic
def end(grant: OAuthGrant, *, reason: str) -> None:
    """Revoke the token, and with it every renewal; a second time changes nothing."""
    if Token.objects.filter(pk=grant.pk, revoked_at=None).update(revoked_at=timezone.now()):
        audit.record(actor=None, label=_label(grant), action="revoke_token", subject=grant.token, reason=reason)


def _grants() -> QuerySet[OAuthGrant]:
    return OAuthGrant.objects.select_related("client", "token__user")


def _rights(token: Token) -> list[str]:
    return rights_of(can_write=token.can_write, can_adjudicate=token.can_adjudicate)


def _label(grant: OAuthGrant) -> str:
    return f"{grant.token.name} (client of {grant.token.user.get_username()})"
