"""A client that is let in by OAuth: the official one, and a browser of a signed-in person that answers for it."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import re
import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import httpx2
from django.test import Client as Browser
from mcp.client import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)

from memories.models import Scope, User
from tests.mcp.talking import Talk, run

BACK = "http://127.0.0.1:49152/back"


@dataclass
class Kept:
    """What a client keeps on its disk."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


class Person:
    """*user* at a browser, who ticks what ``ticked`` says and presses *answer*."""

    def __init__(self, root: str, user: User, *scopes: Scope, answer: str = "allow", **ticked: str) -> None:
        browser = Browser()
        browser.force_login(user)
        self.root = root
        self.cookies = {"sessionid": browser.cookies["sessionid"].value}
        self.sent = {"scopes": [str(scope.pk) for scope in scopes], "answer": answer} | ticked

    def decide(self, address: str) -> dict[str, str]:
        """From the address a client opens to what stands in the address the browser is sent back to."""
        with httpx.Client(cookies=self.cookies, follow_redirects=True, trust_env=False) as http:
            page = http.get(address)
            if page.url.path != "/connect/":
                return {"status": str(page.status_code), "said": page.text}
            token, *_ = re.findall(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.text)
            answer = http.post(page.url, data=self.sent | {"csrfmiddlewaretoken": token})
        return sent_back(answer)


def sent_back(answer: httpx.Response) -> dict[str, str]:
    found = re.search(r'<meta http-equiv="refresh" content="0;url=([^"]+)">', answer.text)
    assert found, answer.text
    address = unescape(found[1])
    return {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()} | {"address": address}


@dataclass
class Connecting:
    """The official client at *door*, with *person* in front of the browser that it opens."""

    door: str
    person: Person
    name: str = "Scribe"
    kept: Kept = field(default_factory=Kept)
    opened: list[str] = field(default_factory=list)
    returned: dict[str, str] = field(default_factory=dict)
    auth: OAuthClientProvider | None = None

    @contextlib.asynccontextmanager
    async def connected(self) -> AsyncIterator[Client]:
        async def open_browser(address: str) -> None:
            self.opened.append(address)
            self.returned = self.person.decide(address)

        async def wait_for_it() -> AuthorizationCodeResult:
            said = self.returned
            return AuthorizationCodeResult(code=said.get("code", ""), state=said.get("state"), iss=said.get("iss"))

        wanted = OAuthClientMetadata(client_name=self.name, redirect_uris=[BACK])
        auth = self.auth = OAuthClientProvider(self.door, wanted, self.kept, open_browser, wait_for_it)
        async with (
            httpx2.AsyncClient(auth=auth, timeout=30, trust_env=False) as http,
            Client(streamable_http_client(self.door, http_client=http)) as client,
        ):
            yield client

    def talk(self, talk: Talk) -> Any:
        async def work() -> Any:
            async with self.connected() as client:
                return await talk(client)

        return run(work)

    def believe_an_hour_went_by(self) -> None:
        assert self.auth is not None
        self.auth.context.token_expiry_time = 1

    def told(self, tool: str, **arguments: Any) -> dict[str, Any]:
        result = self.talk(lambda client: client.call_tool(tool, arguments))
        assert not result.is_error, result
        return dict(result.structured_content)


# Without the official client -----------------------------------------------------------------


def register(root: str, **overrides: Any) -> httpx.Response:
    wanted = {"client_name": "Scribe", "redirect_uris": [BACK]} | overrides
    return httpx.post(f"{root}/register", json=wanted, trust_env=False)


@dataclass
class ByHand:
    """A client that sends what it is told to, so that each part can be wrong."""

    root: str
    client_id: str
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(48))

    @classmethod
    def registered(cls, root: str, **overrides: Any) -> ByHand:
        answer = register(root, **overrides)
        assert answer.status_code == 201, answer.text
        return cls(root, answer.json()["client_id"])

    @property
    def challenge(self) -> str:
        return base64.urlsafe_b64encode(hashlib.sha256(self.verifier.encode()).digest()).decode().rstrip("=")

    def question(self, **overrides: str | None) -> str:
        """The address that the client opens in a browser."""
        asked: dict[str, str | None] = {
            "response_type": "code", "client_id": self.client_id, "redirect_uri": BACK, "state": "s&=é",
            "code_challenge": self.challenge, "code_challenge_method": "S256",
        }  # fmt: skip
        sent = {name: value for name, value in (asked | overrides).items() if value is not None}
        return str(httpx.URL(f"{self.root}/authorize", params=sent))

    def fetch(self, code: str, **overrides: str) -> httpx.Response:
        sent = {"grant_type": "authorization_code", "code": code, "redirect_uri": BACK, "code_verifier": self.verifier}
        return self.post("token", **sent | overrides)

    def renew(self, refresh: str, **overrides: str) -> httpx.Response:
        return self.post("token", grant_type="refresh_token", refresh_token=refresh, **overrides)

    def give_back(self, token: str) -> httpx.Response:
        return self.post("revoke", token=token)

    def post(self, path: str, **sent: str) -> httpx.Response:
        return httpx.post(f"{self.root}/{path}", data={"client_id": self.client_id} | sent, trust_env=False)
