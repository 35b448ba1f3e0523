"""Where clients find out how to be let in (RFC 9728, RFC 8414), and the endpoints they find.

The handlers are the SDK's. They want to know their own address, which is the one a request came to: there is a set of
them for each.
"""

from __future__ import annotations

import functools
import io
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode, urlsplit

from django.core.exceptions import DisallowedHost
from django.core.handlers.asgi import ASGIRequest
from django.db import OperationalError
from mcp.server.auth.handlers.authorize import AuthorizationHandler
from mcp.server.auth.handlers.metadata import MetadataHandler
from mcp.server.auth.handlers.revoke import RevocationHandler
from mcp.server.auth.middleware.client_auth import ClientAuthenticator
from mcp.server.auth.provider import construct_redirect_uri
from mcp.server.auth.routes import (
    AUTHORIZATION_PATH,
    REGISTRATION_PATH,
    REVOCATION_PATH,
    TOKEN_PATH,
    build_metadata,
    create_auth_routes,
    create_protected_resource_routes,
)
from mcp.server.auth.settings import ClientRegistrationOptions, RevocationOptions
from mcp.server.transport_security import (
    RequestBodyLimitMiddleware,
    TransportSecurityMiddleware,
    TransportSecuritySettings,
)
from pydantic import AnyHttpUrl, ConfigDict, TypeAdapter
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memories.errors import ReadOnly
from memories.read_only import REFUSED, is_read_only
from memories.services.oauth_asking import READ, WRITE
from memories.services.oauth_clients import LOOPBACK, TooManyRegistrations
from zeromemory.mcp.calling import BUSY
from zeromemory.mcp.oauth import Provider, network_address

DOOR: Final = "/mcp"
ABOUT_US: Final = "/.well-known/oauth-authorization-server"
ABOUT_THE_DOOR: Final = f"/.well-known/oauth-protected-resource{DOOR}"
PATHS: Final = frozenset({AUTHORIZATION_PATH, TOKEN_PATH, REGISTRATION_PATH, REVOCATION_PATH, ABOUT_US, ABOUT_THE_DOOR})
_WRITING: Final = frozenset({TOKEN_PATH, REGISTRATION_PATH, REVOCATION_PATH})
LARGEST_BODY: Final = 64 * 1024  # bytes
NOT_HERE: Final = (
    "Agents ask for access by themselves only over https, or on this machine over localhost. Create a token instead."
)
_ADDRESS: Final = TypeAdapter(AnyHttpUrl, config=ConfigDict(url_preserve_empty_path=True))


class OAuthDoor:
    """Answers at PATHS, to the hosts and the origins that the door itself answers to."""

    def __init__(self, hosts: TransportSecuritySettings) -> None:
        self.wall = TransportSecurityMiddleware(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = await self.wall.validate_request(Request(scope))
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        address = own_address(scope)
        if address is None:
            await JSONResponse({"code": "not_found", "message": NOT_HERE}, 404)(scope, receive, send)
            return
        if is_read_only() and scope["method"] == "POST" and scope["path"] in _WRITING:
            told = {"error": ReadOnly.code, "error_description": REFUSED}
            await JSONResponse(told, ReadOnly.status)(scope, receive, send)
            return
        network_address.set(scope["client"][0] if scope.get("client") else "")
        await endpoints(address)(scope, receive, send)


def address_of(scope: Scope) -> str:
    """``https://host``, by the rules that the pages go by; empty for a host that is none of ours."""
    request = ASGIRequest(scope, io.BytesIO())  # type: ignore[arg-type]  # Django types a scope as dict
    try:
        return f"{request.scheme}://{request.get_host().lower()}"
    except DisallowedHost:
        return ""


def own_address(scope: Scope) -> str | None:
    """None where a code or a token would travel in the open."""
    address = address_of(scope)
    is_safe = address.startswith("https://") or urlsplit(address).hostname in LOOPBACK
    return address if is_safe else None


def challenge(scope: Scope) -> str:
    """What a refusal of the door says about how to be let in."""
    address = own_address(scope)
    return f'Bearer resource_metadata="{address}{ABOUT_THE_DOOR}"' if address else "Bearer"


@functools.lru_cache(maxsize=32)
def endpoints(address: str) -> ASGIApp:
    issuer, resource = _ADDRESS.validate_python(address), _ADDRESS.validate_python(address + DOOR)
    provider = Provider(issuer=address, resource=address + DOOR)
    registration, revocation = ClientRegistrationOptions(enabled=True), RevocationOptions(enabled=True)
    about_us = build_metadata(issuer, None, registration, revocation)
    about_us.token_endpoint_auth_methods_supported = ["none"]
    about_us.revocation_endpoint_auth_methods_supported = ["none"]
    about_us.authorization_response_iss_parameter_supported = True
    revoke = PublicRevocation(provider, ClientAuthenticator(provider))
    routes = [
        Route(ABOUT_US, MetadataHandler(about_us).handle),
        Route(AUTHORIZATION_PATH, NamedAuthorization(provider).handle, methods=["GET", "POST"]),
        Route(REVOCATION_PATH, revoke.handle, methods=["POST"]),
        *create_auth_routes(provider, issuer, None, registration, revocation),
        *create_protected_resource_routes(resource, [issuer], [READ, WRITE], "Zero Memory"),
    ]
    faults = {TooManyRegistrations: _too_many, OperationalError: _busy}
    return RequestBodyLimitMiddleware(Starlette(routes=routes, exception_handlers=faults), LARGEST_BODY)


@dataclass
class NamedAuthorization(AuthorizationHandler):
    """The SDK's handler, whose refusals say as well which server they come from (RFC 9207), as our answers do."""

    provider: Provider

    async def handle(self, request: Request) -> Response:
        answer = await super().handle(await _with_method(request))
        going_to = answer.headers.get("location")
        if going_to and not going_to.startswith(self.provider.consent_page):
            answer.headers["location"] = construct_redirect_uri(going_to, iss=self.provider.issuer)
        return answer


async def _with_method(request: Request) -> Request:
    """A challenge without a method is a plain one (RFC 7636, 4.3): the handler takes it for S256, and has to refuse."""
    sent = request.query_params if request.method == "GET" else await request.form()
    if "code_challenge_method" in sent or "code_challenge" not in sent:
        return request
    said = urlencode([*sent.multi_items(), ("code_challenge_method", "plain")]).encode()
    if request.method == "GET":
        return Request({**request.scope, "query_string": said})

    async def receive() -> Message:
        return {"type": "http.request", "body": said, "more_body": False}

    return Request(request.scope, receive)


class PublicRevocation(RevocationHandler):
    """The SDK's handler wants the field of a client's secret, which a public client has none for."""

    async def handle(self, request: Request) -> Response:
        body = await request.body()

        async def receive() -> Message:
            return {"type": "http.request", "body": body + b"&client_secret=", "more_body": False}

        return await super().handle(Request(request.scope, receive))


def _too_many(request: Request, error: Exception) -> Response:
    assert isinstance(error, TooManyRegistrations)
    told = {"error": "temporarily_unavailable", "error_description": error.message}
    return JSONResponse(told, error.status, {"Retry-After": "3600"})


def _busy(request: Request, error: Exception) -> Response:
    told = {"error": "temporarily_unavailable", "error_description": BUSY}
    return JSONResponse(told, 503, {"Retry-After": "5"})
