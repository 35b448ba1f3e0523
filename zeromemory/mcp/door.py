"""The protocol over HTTP at ``/mcp``: no session on the server, JSON answers, and a bearer token in each request."""

from __future__ import annotations

import json

from django.conf import settings
from django.db import OperationalError
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp, Receive, Scope, Send

from memories.access import Actor
from memories.errors import ZeroMemoryError
from memories.services import tokens
from zeromemory.mcp.calling import ACTOR_KEY, BUSY, in_thread
from zeromemory.mcp.oauth_door import DOOR as PATH
from zeromemory.mcp.oauth_door import PATHS, OAuthDoor, address_of, challenge
from zeromemory.mcp.server import build


class Gate:
    """Lets a request through to the protocol once it is known whose it is."""

    def __init__(self, inner: ASGIApp) -> None:
        self.inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        kind, _, secret = headers.get("authorization", "").partition(" ")
        try:
            at = address_of(scope)
            actor = await in_thread(lambda: _actor(kind, secret.strip(), headers.get("x-agent", ""), at))
        except OperationalError:
            await _refuse(send, 503, "unavailable", BUSY)
            return
        except ZeroMemoryError as error:
            await _refuse(send, error.status, error.code, error.message)
            return
        if actor is None:
            await _refuse(send, 401, "unauthorized", tokens.NONE_VALID, challenge=challenge(scope))
            return
        if scope["method"] != "POST":  # GET would hold a stream open that never says anything: there is no session
            await _refuse(send, 405, "method_not_allowed", "Use POST here: there is no session to listen to or end.")
            return
        await self.inner({**scope, ACTOR_KEY: actor}, receive, send)


def _actor(kind: str, secret: str, agent: str, at: str) -> Actor | None:
    return tokens.actor_with(secret, agent=tokens.agent_called(agent), at=at) if kind.lower() == "bearer" else None


async def _refuse(send: Send, status: int, code: str, message: str, *, challenge: str = "") -> None:
    body = json.dumps({"code": code, "message": message}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if challenge:
        headers.append((b"www-authenticate", challenge.encode()))
    if status == 405:
        headers.append((b"allow", b"POST"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def with_door(django: ASGIApp) -> ASGIApp:
    """*django* with the protocol at PATH beside it, and at PATHS the way to a token for whoever has none. The server's
    lifespan opens and closes the protocol."""
    hosts = _hosts()
    protocol = build().streamable_http_app(
        streamable_http_path=PATH,
        json_response=True,
        stateless_http=True,
        max_request_body_size=settings.DATA_UPLOAD_MAX_MEMORY_SIZE,  # as over REST
        transport_security=hosts,
    )
    gate, oauth = Gate(protocol), OAuthDoor(hosts)

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await protocol(scope, receive, send)
        elif scope["type"] == "http" and scope["path"].rstrip("/") == PATH:
            await gate({**scope, "path": PATH, "raw_path": PATH.encode()}, receive, send)
        elif scope["type"] == "http" and scope["path"] in PATHS:
            await oauth(scope, receive, send)
        else:
            await django(scope, receive, send)

    return application


def _hosts() -> TransportSecuritySettings:
    """The hosts that the pages answer to; a page of another site cannot speak to this door."""
    if "*" in settings.ALLOWED_HOSTS:
        return TransportSecuritySettings(enable_dns_rebinding_protection=False)
    hosts = [host.lstrip(".") for host in settings.ALLOWED_HOSTS]
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[form for host in hosts for form in (host, f"{host}:*")],
        allowed_origins=[
            f"{scheme}://{form}" for scheme in ("http", "https") for host in hosts for form in (host, f"{host}:*")
        ],
    )
