"""The official client, spoken to without a loop of one's own."""

from __future__ import annotations

import concurrent.futures
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import anyio
import httpx2
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult

from zeromemory.lib.folders import PROJECT

type Talk = Callable[[Client], Awaitable[Any]]


def run[T](work: Callable[[], Awaitable[T]]) -> T:
    """In a thread of its own: another test may have left a loop running in this one."""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return pool.submit(anyio.run, work).result()


@dataclass(frozen=True)
class Agent:
    """Somebody with a token at the door under *url*."""

    url: str
    secret: str | None
    mode: str = "auto"
    headers: dict[str, str] = field(default_factory=dict)

    @contextlib.asynccontextmanager
    async def connected(self) -> AsyncIterator[Client]:
        headers = self.headers | ({"Authorization": f"Bearer {self.secret}"} if self.secret else {})
        async with (
            httpx2.AsyncClient(headers=headers, timeout=30, trust_env=False) as http,
            Client(streamable_http_client(self.url, http_client=http), mode=self.mode) as client,
        ):
            yield client

    def talk(self, talk: Talk) -> Any:
        async def work() -> Any:
            async with self.connected() as client:
                return await talk(client)

        return run(work)

    def call(self, tool: str, **arguments: Any) -> CallToolResult:
        return self.talk(lambda client: client.call_tool(tool, arguments))

    def told(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """What a call that succeeds gives back."""
        result = self.call(tool, **arguments)
        assert not result.is_error, text_of(result)
        assert result.structured_content is not None
        return result.structured_content

    def refused(self, tool: str, **arguments: Any) -> str:
        result = self.call(tool, **arguments)
        assert result.is_error, result.structured_content
        return text_of(result)


def text_of(result: CallToolResult) -> str:
    return "\n".join(part.text for part in result.content if part.type == "text")


def over_standard_input(talk: Talk, *arguments: str, **environment: str) -> Any:
    """A server of its own process, from its start to its end."""
    server = StdioServerParameters(
        command=sys.executable,
        args=["manage.py", "mcp_stdio", *arguments],
        env=dict(os.environ) | environment,
        cwd=str(PROJECT),
    )

    async def work() -> Any:
        async with Client(server, mode="legacy") as client:
            return await talk(client)

    return run(work)
