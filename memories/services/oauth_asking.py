"""What a client asks of a person, and the person's answer. Until there is one, nothing is stored: the question
travels, signed, in the address of the consent page."""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from django.core import signing
from django.db import transaction
from django.utils import timezone

from memories.access import Actor
from memories.errors import Conflict, Forbidden, NotFound, ValidationFailed
from memories.models import OAuthClient, OAuthCode, Scope
from memories.services import audit
from memories.services.oauth_clients import ANSWERED_WITHIN, client_with, host_of
from memories.services.tokens import check_token, digest

READ, WRITE, ADJUDICATE = "read", "write", "adjudicate"
RIGHTS: Final = (READ, WRITE, ADJUDICATE)
STATE_LENGTH: Final = 4000
CODE_LIFETIME: Final = timedelta(minutes=5)
CODES_KEPT: Final = timedelta(days=1)  # those that nobody fetched
_SALT: Final = "memories.oauth.asked"
_START_AGAIN: Final = "Start again from the agent that sent you here."
_TAKE_BACK: Final = "Revoke what it was given on the Tokens page."
_FORGOTTEN: Final = f"The program that asks is not known here any more. {_START_AGAIN}"


@dataclass(frozen=True, slots=True)
class Asked:
    """*rights* are those of RIGHTS the client names, none where it names none. *issuer* is our own address."""

    client_id: str
    redirect_uri: str
    redirect_uri_was_sent: bool
    challenge: str
    issuer: str
    rights: tuple[str, ...] = ()
    state: str | None = None
    resource: str = ""
    nonce: str = ""


def pack(asked: Asked) -> str:
    question = asdict(asked) | {"nonce": uuid.uuid4().hex}
    return signing.dumps(question, salt=_SALT, compress=True)


def unpack(packed: str) -> tuple[Asked, OAuthClient]:
    """Raises ValidationFailed for what we did not sign or signed too long ago, NotFound for a client that is gone."""
    try:
        question: dict[str, Any] = signing.loads(packed, salt=_SALT, max_age=ANSWERED_WITHIN)
    except signing.SignatureExpired as error:
        minutes = ANSWERED_WITHIN.seconds // 60
        raise ValidationFailed(f"The request is older than {minutes} minutes. {_START_AGAIN}") from error
    except signing.BadSignature as error:
        raise ValidationFailed(f"The request is damaged or not of this server. {_START_AGAIN}") from error
    asked = Asked(**question | {"rights": tuple(question["rights"])})
    client = client_with(asked.client_id)
    if client is None:
        raise NotFound(_FORGOTTEN)
    return asked, client


def rights_of(*, can_write: bool, can_adjudicate: bool) -> list[str]:
    return [READ, *([WRITE] if can_write else []), *([ADJUDICATE] if can_adjudicate else [])]


def known_rights(names: Iterable[str]) -> tuple[str, ...]:
    """Those of *names* that mean something here, in our order; whatever else a client asks for it does not get."""
    named = set(names)
    return tuple(right for right in RIGHTS if right in named)


def token_name(client: OAuthClient, redirect_uri: str) -> str:
    return client.name or host_of(redirect_uri)[:80]


# Answers -------------------------------------------------------------------------------------


@transaction.atomic
def allow(*, actor: Actor, packed: str, scopes: Collection[Scope], can_write: bool, can_adjudicate: bool) -> str:
    """Where the person goes now, with a code in the address. Raises as ``unpack`` and ``check_token`` do, and Conflict
    for a request that was allowed before."""
    if not actor.is_person:
        raise Forbidden("Only a person can let an agent in.")
    asked, found = unpack(packed)
    client = _held(found)
    name = token_name(client, asked.redirect_uri)
    check_token(actor=actor, name=name, scopes=scopes, can_write=can_write, can_adjudicate=can_adjudicate)
    code, secret = _code(actor, asked, can_write, can_adjudicate)
    code.scopes.set(scopes)
    OAuthClient.objects.filter(pk=client.pk, allowed_at=None).update(allowed_at=timezone.now())
    OAuthCode.objects.filter(token=None, expires_at__lt=timezone.now() - CODES_KEPT).delete()
    slugs = sorted(scope.slug for scope in scopes)
    rights = rights_of(can_write=can_write, can_adjudicate=can_adjudicate)
    audit.record(actor=actor, action="allow_client", subject=client, scopes=slugs, rights=rights)
    return _back(asked, code=secret)


def _held(client: OAuthClient) -> OAuthClient:
    """As it stands now, until the end of the transaction: a registration elsewhere may be about to forget it."""
    held = OAuthClient.objects.select_for_update(no_key=True).filter(pk=client.pk).first()
    if held is None:
        raise NotFound(_FORGOTTEN)
    return held


def _code(actor: Actor, asked: Asked, can_write: bool, can_adjudicate: bool) -> tuple[OAuthCode, str]:
    secret = secrets.token_urlsafe(32)
    code, is_new = OAuthCode.objects.get_or_create(
        asked=uuid.UUID(asked.nonce),
        defaults={
            "client_id": uuid.UUID(asked.client_id),
            "user": actor.user,
            "secret_sha256": digest(secret),
            "can_write": can_write,
            "can_adjudicate": can_adjudicate,
            "challenge": asked.challenge,
            "redirect_uri": asked.redirect_uri,
            "redirect_uri_was_sent": asked.redirect_uri_was_sent,
            "resource": asked.resource,
            "expires_at": timezone.now() + CODE_LIFETIME,
        },
    )
    if not is_new:
        raise Conflict(f"This request was answered already. {_START_AGAIN}")
    return code, secret


@transaction.atomic
def refuse(*, actor: Actor, packed: str) -> str:
    """Where the person goes now, with the refusal in the address. The request is answered with that; raises Conflict
    for one that was allowed before."""
    asked, client = unpack(packed)
    _refused(actor, asked, _held(client))
    audit.record(actor=actor, action="refuse_client", subject=client)
    return _back(asked, error="access_denied", error_description="The person refused.")


def _refused(actor: Actor, asked: Asked, client: OAuthClient) -> None:
    """The place of a code, spent and good for nothing: whoever refused twice has still refused."""
    now, spent = timezone.now(), digest(secrets.token_urlsafe(32))
    code, _ = OAuthCode.objects.get_or_create(
        asked=uuid.UUID(asked.nonce),
        defaults={
            "client": client, "user": actor.user, "secret_sha256": spent, "can_write": False, "can_adjudicate": False,
            "challenge": asked.challenge, "redirect_uri": asked.redirect_uri,
            "redirect_uri_was_sent": asked.redirect_uri_was_sent, "resource": asked.resource,
            "expires_at": now, "used_at": now,
        },
    )  # fmt: skip
    if code.used_at is None or code.token_id is not None:
        raise Conflict(f"This request was allowed already, so it cannot be refused any more. {_TAKE_BACK}")


def _back(asked: Asked, **said: str) -> str:
    parts = urlsplit(asked.redirect_uri)
    told = said | ({"state": asked.state} if asked.state is not None else {}) | {"iss": asked.issuer}
    query = urlencode([*parse_qsl(parts.query, keep_blank_values=True), *told.items()])
    return urlunsplit(parts._replace(query=query))
