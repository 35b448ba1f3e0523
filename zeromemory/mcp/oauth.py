"""What the SDK's authorization server asks of us: clients, codes, grants, and the way to the consent page."""

from __future__ import annotations

import re
import uuid
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from django.urls import reverse
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    AuthorizeError,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    RegistrationError,
    RegistrationErrorCode,
    TokenError,
)
from mcp.shared.auth import InvalidRedirectUriError, OAuthClientInformationFull, OAuthToken
from pydantic import AnyUrl

from memories.errors import ValidationFailed
from memories.models import OAuthClient, OAuthCode, OAuthGrant
from memories.services import oauth_asking, oauth_clients, oauth_grants
from memories.services.oauth_asking import ADJUDICATE, WRITE, Asked
from memories.services.oauth_grants import Issued
from zeromemory.mcp.calling import in_thread

# What base64url makes of a SHA-256: the only challenge that S256 can give.
_CHALLENGE: Final = re.compile(r"[A-Za-z0-9_-]{43}")
_NO_SUCH_ADDRESS: Final = "This redirect URI is not one that the client registered."
_GONE: Final = "What was allowed is not there any more. Ask the person again."
# Members of a registration that are not kept, and so not confirmed either.
_NOT_KEPT: Final = (
    "client_uri", "logo_uri", "contacts", "tos_uri", "policy_uri", "jwks_uri", "jwks", "software_id",
    "software_version",
)  # fmt: skip
network_address: ContextVar[str] = ContextVar("network_address", default="")


class KnownClient(OAuthClientInformationFull):
    """A client that registered, with our rules instead of the SDK's for what it may ask for."""

    kept: OAuthClient

    model_config = OAuthClientInformationFull.model_config | {"arbitrary_types_allowed": True}

    def validate_scope(self, requested_scope: str | None) -> list[str] | None:
        """What means nothing here is passed over, as OAuth allows: the person decides in any case."""
        return list(oauth_asking.known_rights((requested_scope or "").split()))

    def validate_redirect_uri(self, redirect_uri: AnyUrl | None) -> AnyUrl:
        if redirect_uri is None:
            return super().validate_redirect_uri(None)
        if not oauth_clients.is_registered(str(redirect_uri), self.kept):
            raise InvalidRedirectUriError(_NO_SUCH_ADDRESS)
        return redirect_uri


class Code(AuthorizationCode):
    row: OAuthCode

    model_config = {"arbitrary_types_allowed": True}


class Refresh(RefreshToken):
    row: OAuthGrant

    model_config = {"arbitrary_types_allowed": True}


class Access(AccessToken):
    row: OAuthGrant

    model_config = {"arbitrary_types_allowed": True}


@dataclass(frozen=True, slots=True)
class Provider(OAuthAuthorizationServerProvider[Code, Refresh, Access]):
    """Of one address: *issuer* without a slash at its end, and *resource*, the door itself."""

    issuer: str
    resource: str

    @property
    def consent_page(self) -> str:
        return self.issuer + reverse("connect")

    async def get_client(self, client_id: str) -> KnownClient | None:
        client = await in_thread(lambda: oauth_clients.client_with(client_id))
        return _known(client) if client else None

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        """Registers a public client, whatever it asks for: a secret that anybody is given proves nothing."""
        addresses, address = [str(each) for each in client_info.redirect_uris or []], network_address.get()
        try:
            await in_thread(
                lambda: oauth_clients.register(
                    client_id=uuid.UUID(client_info.client_id),
                    name=client_info.client_name or "",
                    redirect_uris=addresses,
                    address=address,
                )
            )
        except ValidationFailed as error:
            blamed: RegistrationErrorCode = (
                "invalid_redirect_uri" if error.field == "redirect_uris" else "invalid_client_metadata"
            )
            raise RegistrationError(blamed, error.message) from error
        _confirm_what_is_kept(client_info)

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        """The consent page. Nothing is stored until the person answers there."""
        self._check(params)
        asked = Asked(
            client_id=client.client_id,
            redirect_uri=str(params.redirect_uri),
            redirect_uri_was_sent=params.redirect_uri_provided_explicitly,
            challenge=params.code_challenge,
            issuer=self.issuer,
            rights=tuple(params.scopes or ()),
            state=params.state,
            resource=params.resource or "",
        )
        return f"{self.consent_page}?{urlencode({'request': oauth_asking.pack(asked)})}"

    def _check(self, params: AuthorizationParams) -> None:
        if not _CHALLENGE.fullmatch(params.code_challenge):
            raise AuthorizeError("invalid_request", "code_challenge is not a SHA-256 in base64url without padding.")
        if params.state is not None and len(params.state) > oauth_asking.STATE_LENGTH:
            raise AuthorizeError("invalid_request", f"state has at most {oauth_asking.STATE_LENGTH} characters.")
        if params.resource is not None and params.resource.rstrip("/") != self.resource:
            raise AuthorizeError("invalid_target", f"The resource here is {self.resource}.")

    async def load_authorization_code(self, client: OAuthClientInformationFull, authorization_code: str) -> Code | None:
        row = await in_thread(lambda: oauth_grants.code_with(uuid.UUID(client.client_id), authorization_code))
        return _code(row, authorization_code) if row else None

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: Code
    ) -> OAuthToken:
        return _handed_out(await in_thread(lambda: oauth_grants.redeem(authorization_code.row)))

    async def load_refresh_token(self, client: OAuthClientInformationFull, refresh_token: str) -> Refresh | None:
        row = await in_thread(lambda: oauth_grants.grant_with(uuid.UUID(client.client_id), refresh_token))
        if row is None:
            return None
        rights = oauth_asking.rights_of(can_write=row.can_write, can_adjudicate=row.can_adjudicate)
        return Refresh(
            token=refresh_token, client_id=str(row.client_id), scopes=rights, resource=row.resource or None, row=row
        )

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: Refresh, scopes: list[str]
    ) -> OAuthToken:
        return _handed_out(
            await in_thread(
                lambda: oauth_grants.renew(
                    refresh_token.row,
                    refresh_token.token,
                    can_write=WRITE in scopes,
                    can_adjudicate=ADJUDICATE in scopes,
                )
            )
        )

    async def load_access_token(self, token: str) -> Access | None:
        """Of a token that a client was given; those made on the Tokens page are no client's to revoke."""
        row = await in_thread(lambda: oauth_grants.grant_of_access(token))
        if row is None:
            return None
        rights = oauth_asking.rights_of(can_write=row.token.can_write, can_adjudicate=row.token.can_adjudicate)
        return Access(token=token, client_id=str(row.client_id), scopes=rights, row=row)

    async def revoke_token(self, token: Access | Refresh) -> None:
        await in_thread(lambda: oauth_grants.end(token.row, reason=oauth_grants.ASKED_BY_CLIENT))


def _known(client: OAuthClient) -> KnownClient:
    return KnownClient(
        client_id=str(client.pk),
        client_name=client.name,
        redirect_uris=[AnyUrl(each) for each in client.redirect_uris],
        token_endpoint_auth_method="none",  # noqa: S106  the name of a method
        kept=client,
    )


def _confirm_what_is_kept(told: OAuthClientInformationFull) -> None:
    """What the answer to a registration says is what holds, as RFC 7591 has it."""
    told.token_endpoint_auth_method = "none"  # noqa: S105  the name of a method
    told.client_secret = told.client_secret_expires_at = None
    told.grant_types, told.response_types = ["authorization_code", "refresh_token"], ["code"]
    told.scope = " ".join(oauth_asking.RIGHTS)
    for name in _NOT_KEPT:
        setattr(told, name, None)


def _code(row: OAuthCode, secret: str) -> Code:
    return Code(
        code=secret,
        scopes=oauth_asking.rights_of(can_write=row.can_write, can_adjudicate=row.can_adjudicate),
        expires_at=row.expires_at.timestamp(),
        client_id=str(row.client_id),
        code_challenge=row.challenge,
        redirect_uri=AnyUrl(row.redirect_uri),
        redirect_uri_provided_explicitly=row.redirect_uri_was_sent,
        resource=row.resource or None,
        row=row,
    )


def _handed_out(issued: Issued | None) -> OAuthToken:
    if issued is None:
        raise TokenError("invalid_grant", _GONE)
    return OAuthToken(
        access_token=issued.access,
        expires_in=int(oauth_grants.ACCESS_LIFETIME.total_seconds()),
        scope=" ".join(issued.rights),
        refresh_token=issued.refresh,
    )
