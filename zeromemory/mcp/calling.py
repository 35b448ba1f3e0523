"""A tool call: whose it is, a thread and a database connection of its own, and an answer in two forms."""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Annotated, Any, Final

import anyio
import anyio.to_thread
from django.conf import settings
from django.db import InternalError, OperationalError, close_old_connections
from mcp.server import MCPServer, ServerRequestContext
from mcp.server.context import CallNext
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.types import CallToolResult, InputRequiredResult, TextContent, ToolAnnotations
from pydantic import BaseModel, ValidationError

from memories.access import Actor
from memories.errors import NotFound, ValidationFailed, ZeroMemoryError
from memories.read_only import as_read_only, refuse_writes

logger = logging.getLogger(__name__)
BUSY: Final = "The database is busy or unreachable. Try again in a moment."
ACTOR_KEY: Final = "zeromemory.actor"  # in the scope of an HTTP request
_MOST_TOLD: Final = 5  # faults of the arguments of one call
_LEFT_FOR_PAGES: Final = 2  # connections of the pool that tool calls never take
_acting: ContextVar[Callable[[], Actor]] = ContextVar("acting")


class Refused(Exception):
    """``code (field): message``, for a model to act on."""


class Server(MCPServer):
    """Refuses every call in our words: those of the SDK begin with no code, and quote what was sent."""

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        if self._tool_manager.get_tool(name) is None:
            return _refusal(told(NotFound("There is no such tool here. tools/list names all there are.")))
        try:
            return await super().call_tool(name, arguments, context)
        except UnexpectedToolError:
            logger.exception("The tool %s failed unexpectedly", name)
            return _refusal(
                "internal: This is our fault; the server's log has the details. Look before you repeat a write."
            )
        except ToolError as error:
            if not isinstance(error.__cause__, ValidationError):
                raise
            return _refusal(told(_invalid(error.__cause__)))


def _invalid(error: ValidationError) -> ValidationFailed:
    """All that is wrong at once, so that one more attempt is enough."""
    found = error.errors(include_url=False, include_context=False, include_input=False)[:_MOST_TOLD]
    fields = [".".join(str(part) for part in each["loc"]) for each in found]
    others = "".join(f" {field}: {each['msg']}." for field, each in zip(fields[1:], found[1:], strict=True))
    return ValidationFailed(f"{found[0]['msg']}.{others}", field=fields[0] or None)


def _refusal(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)


@dataclass(frozen=True, slots=True)
class Said:
    """``answer`` becomes the structured content, ``text`` what a model reads."""

    answer: dict[str, Any]
    text: str


@dataclass(frozen=True, slots=True)
class Manners:
    """What a tool does to the store, as clients show it to people."""

    writes: bool = False
    destroys: bool = False
    repeats_safely: bool = True

    @property
    def annotations(self) -> ToolAnnotations:
        return ToolAnnotations(
            read_only_hint=not self.writes,
            destructive_hint=self.destroys,
            idempotent_hint=self.repeats_safely,
            open_world_hint=False,
        )


READS: Final = Manners()
WRITES: Final = Manners(writes=True, repeats_safely=False)
WRITES_ONCE: Final = Manners(writes=True)
RETIRES: Final = Manners(writes=True, destroys=True)


def tool(server: MCPServer, *, title: str, gives: type[BaseModel], manners: Manners = READS) -> Callable[..., Any]:
    """Register a function of an actor and arguments that returns ``Said``; unknown arguments are refused."""

    def register(work: Callable[..., Said]) -> Callable[..., Said]:
        called = _as_tool(work, gives, manners)
        server.add_tool(
            called, name=work.__name__, title=title, description=inspect.getdoc(work), annotations=manners.annotations
        )
        _make_strict(server, work.__name__)
        return work

    return register


def _as_tool(work: Callable[..., Said], gives: type[BaseModel], manners: Manners) -> Callable[..., Any]:
    async def called(**arguments: Any) -> CallToolResult:
        try:
            with refused_as(Refused):
                if manners.writes:
                    refuse_writes()
                said = await in_thread(lambda: work(acting(), **arguments))
        except Refused as refusal:  # not as the SDK's ToolError, which puts words of its own before the code
            return _refusal(str(refusal))
        content = gives.model_validate(said.answer).model_dump(mode="json")
        return CallToolResult(content=[TextContent(type="text", text=said.text)], structured_content=content)

    signature = inspect.signature(work, eval_str=True)
    _, *asked = (each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in signature.parameters.values())
    returned = Annotated[CallToolResult, gives]
    called.__signature__ = signature.replace(parameters=asked, return_annotation=returned)  # type: ignore[attr-defined]  # read by inspect
    called.__annotations__ = {each.name: each.annotation for each in asked} | {"return": returned}
    called.__name__ = work.__name__
    return called


def _make_strict(server: MCPServer, name: str) -> None:
    """A misspelt argument is an error and no silence."""
    registered = server._tool_manager.get_tool(name)
    assert registered is not None
    model = registered.fn_metadata.arg_model
    model.model_config["extra"] = "forbid"
    model.model_rebuild(force=True)
    registered.parameters = _closed(model.model_json_schema(by_alias=True))
    registered.fn_metadata.output_schema = _closed(registered.fn_metadata.output_schema)


def _closed(schema: Any) -> Any:
    """*schema*, in which an object holds what it names and nothing else."""
    if isinstance(schema, list):
        return [_closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {name: _closed(each) for name, each in schema.items()}
    return closed | {"additionalProperties": False} if "properties" in schema else closed


async def with_actor(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> Any:
    """Whoever sent the request acts in all it leads to; over standard input, whoever started the server."""
    if ctx.request is None:
        return await call_next(ctx)
    actor: Actor = ctx.request.scope[ACTOR_KEY]  # set by the gate, which lets nobody else pass
    token = _acting.set(lambda: actor)
    try:
        return await call_next(ctx)
    finally:
        _acting.reset(token)


def act_as(find: Callable[[], Actor]) -> None:
    """For a server without requests: *find* is asked again for each call."""
    _acting.set(find)


def acting() -> Actor:
    """Asked beside the loop, because it may read the database."""
    return _acting.get()()


# Threads -------------------------------------------------------------------------------------


@functools.cache
def _limiter() -> anyio.CapacityLimiter:
    """No more calls at once than there are connections, or those that wait for one would die of it."""
    pool = settings.DATABASES["default"]["OPTIONS"]["pool"]["max_size"]
    return anyio.CapacityLimiter(max(1, pool - _LEFT_FOR_PAGES))


async def in_thread[T](work: Callable[[], T]) -> T:
    """Run *work* beside the loop, with a connection that goes back to the pool afterwards."""
    return await anyio.to_thread.run_sync(functools.partial(_with_connection, work), limiter=_limiter())


def _with_connection[T](work: Callable[[], T]) -> T:
    close_old_connections()
    try:
        return work()
    finally:
        close_old_connections()


@contextmanager
def refused_as(refusal: type[Exception]) -> Iterator[None]:
    """What our code refuses, as a *refusal* that reaches the model: ``code (field): message``."""
    try:
        yield
    except ZeroMemoryError as error:
        raise refusal(told(error)) from error
    except InternalError as error:
        if known := as_read_only(error):
            raise refusal(told(known)) from error
        raise
    except OperationalError as error:
        raise refusal(f"unavailable: {BUSY}") from error


def told(error: ZeroMemoryError) -> str:
    field = f" ({error.field})" if error.field else ""
    return f"{error.code}{field}: {error.message}"
