"""The protocol over standard input and output. What was asked before the input ended is answered before the process
does: a program may write its calls into a pipe and close it."""

from __future__ import annotations

import contextvars
from types import TracebackType
from typing import Any, Final, Protocol, Self

import anyio
from mcp.server import MCPServer
from mcp.server.stdio import stdio_server
from mcp.shared._context_streams import ContextReceiveStream, ContextSendStream
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

PATIENCE: Final = 30  # seconds after the end of the input


def serve(server: MCPServer) -> None:
    anyio.run(_serve, server)


async def _serve(server: MCPServer) -> None:
    protocol = server._lowlevel_server
    async with stdio_server() as (asked, answered):
        unanswered = Unanswered()
        await protocol.run(
            Asked(asked, unanswered), Answered(answered, unanswered), protocol.create_initialization_options()
        )


class Unanswered:
    """The ids of the calls that nobody has had an answer to."""

    def __init__(self) -> None:
        self._ids: set[Any] = set()
        self._none_left = anyio.Event()

    def note(self, message: object) -> None:
        """A request is waited for until its answer, or until whoever sent it calls it off."""
        if isinstance(message, JSONRPCRequest):
            self._ids.add(message.id)
        elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            self._settle((message.params or {}).get("requestId"))
        elif isinstance(message, JSONRPCResponse | JSONRPCError):
            self._settle(message.id)

    def _settle(self, id: object) -> None:
        if isinstance(id, str | int):
            self._ids.discard(id)
        if not self._ids:
            self._none_left.set()
            self._none_left = anyio.Event()

    async def wait(self) -> None:
        with anyio.move_on_after(PATIENCE):
            while self._ids:
                await self._none_left.wait()


class _Closing(Protocol):
    async def aclose(self) -> None: ...


class _Stream[S: _Closing]:
    def __init__(self, inner: S, unanswered: Unanswered) -> None:
        self._inner = inner
        self._unanswered = unanswered

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class Asked(_Stream[ContextReceiveStream[SessionMessage | Exception]]):
    """What comes in. Its end is told once everything before it was answered."""

    @property
    def last_context(self) -> contextvars.Context | None:
        return self._inner.last_context

    async def receive(self) -> SessionMessage | Exception:
        try:
            item = await self._inner.receive()
        except anyio.EndOfStream:
            await self._unanswered.wait()
            raise
        if isinstance(item, SessionMessage):
            self._unanswered.note(item.message)
        return item

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None


class Answered(_Stream[ContextSendStream[SessionMessage]]):
    async def send(self, item: SessionMessage) -> None:
        await self._inner.send(item)
        self._unanswered.note(item.message)
