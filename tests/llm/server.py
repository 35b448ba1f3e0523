"""A real HTTP server on the loopback interface that speaks both of OpenAI's and Anthropic's protocols, or fails to.

``model_server`` is a fixture of every test: the settings name it as the model. Script it before the product asks::

    model_server.will_answer(PairVerdict(relation="duplicate", confidence=0.9, rationale="the same words"))
    model_server.will(status(429, retry_after=1), prose("I would say"), then_an_answer)
    model_server.answers(lambda request: verdict_a if "tuesday" in request.prompt else verdict_b)
"""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from pydantic import BaseModel

from tests.llm.searching import RESPONSES, Page, Web, anthropic_blocks, responses_items, responses_message

OPENAI = "openai"
ANTHROPIC = "anthropic"
PATHS = {"/v1/chat/completions": OPENAI, "/v1/messages": ANTHROPIC, "/v1/responses": RESPONSES}
STOPPED = {
    "done": {OPENAI: "stop", ANTHROPIC: "end_turn"},
    "called": {OPENAI: "tool_calls", ANTHROPIC: "tool_use"},
    "length": {OPENAI: "length", ANTHROPIC: "max_tokens"},
    "refused": {OPENAI: "content_filter", ANTHROPIC: "refusal"},
}


@dataclass(frozen=True)
class Request:
    """One request as it arrived. Header names are in lower case."""

    protocol: str
    headers: Mapping[str, str]
    body: dict[str, Any]

    @cached_property
    def instructions(self) -> str:
        system = self.body.get("system", "")
        ours = [message for message in self._messages if message["role"] in ("system", "developer")]
        return (
            self.body.get("instructions", "") + _text(system) + "".join(_text(message["content"]) for message in ours)
        )

    @cached_property
    def prompt(self) -> str:
        """What the user says: the question, and in a later request also why the answer was not taken."""
        said = [message for message in self._messages if message["role"] == "user"]
        return "\n".join(_text(message["content"]) for message in said)

    @property
    def _messages(self) -> list[dict[str, Any]]:
        """Of one protocol a list of items, some of which nobody says."""
        return [item for item in self.body.get("messages") or self.body["input"] if "role" in item]

    @property
    def searches_web(self) -> bool:
        """Whether the provider's own search may be used for the answer."""
        return any(str(tool.get("type", "")).startswith("web_search") for tool in self.body.get("tools") or ())

    @property
    def everything(self) -> str:
        return json.dumps(self.body, ensure_ascii=False)

    @property
    def tool(self) -> str | None:
        """The name of the tool that takes the answer; None when the answer is asked for as text."""
        tools = self.body.get("tools") or [{}]
        return tools[0].get("name") or tools[0].get("function", {}).get("name")


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text") or _text(part.get("content") or "") for part in content)


@dataclass(frozen=True)
class Reply:
    """What the server does with one request. Without ``body`` it is an answer of the protocol asked in."""

    arguments: tuple[str, ...] = ()  # of the call that carries the answer, one of several
    text: str = ""
    thinking: str = ""
    stopped: str = "done"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    wait: float = 0.0  # seconds before it answers
    cut: bool = False  # the connection ends in the middle of the body
    trickle: float = 0.0  # seconds between two bytes
    web: Web | None = None  # what the provider searched for it


type Value = BaseModel | Mapping[str, Any]
type Script = Value | Reply


def answer(value: Value) -> Reply:
    held = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
    return arguments(json.dumps(held))


def arguments(*texts: str) -> Reply:
    """The arguments of the answering call as raw text, well-formed or not."""
    return Reply(arguments=texts, stopped="called")


def prose(text: str) -> Reply:
    return Reply(text=text)


def searched(*pages: Page, searches: int = 1, ran_out: bool = False, is_paused: bool = False) -> Reply:
    """The provider searched the web, and cites what the pages say."""
    return Reply(web=Web(pages, searches, ran_out, is_paused))


def refusal(text: str = "I cannot help with that.") -> Reply:
    return Reply(text=text, stopped="refused")


def status(code: int, *, retry_after: float | str | None = None, message: str = "because") -> Reply:
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return Reply(status=code, headers=headers, body=json.dumps({"error": {"message": message}}).encode())


def raw(body: bytes) -> Reply:
    return Reply(body=body)


def slow(seconds: float, then: Script) -> Reply:
    return replace(_reply(then), wait=seconds)


def cut_off(then: Script) -> Reply:
    return replace(_reply(then), cut=True)


def thinking(text: str, then: Script) -> Reply:
    return replace(_reply(then), thinking=text)


def trickled(pause: float, then: Script) -> Reply:
    return replace(_reply(then), trickle=pause)


def _reply(script: Script) -> Reply:
    return script if isinstance(script, Reply) else answer(script)


class ModelServer(ThreadingHTTPServer):
    """Replies in the order of the script; when that is used up as ``answers`` says, otherwise with status 400."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[Request] = []
        self.input_tokens = 100  # of every answer
        self.output_tokens = 20
        self.reports_usage = True
        self._script: deque[Reply] = deque()
        self._otherwise: Callable[[Request], Script] = lambda _: status(400, message="nothing was scripted")
        self._one_at_a_time = threading.Lock()
        self.closing = threading.Event()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def base_url(self, protocol: str = OPENAI) -> str:
        """As ZEROMEMORY_MODEL_BASE_URL wants it."""
        return self.address if protocol == ANTHROPIC else f"{self.address}/v1"

    def will(self, *scripts: Script) -> None:
        self._script.extend(map(_reply, scripts))

    def will_answer(self, *values: Value) -> None:
        """One value for each coming question, as a contract's output or as a mapping."""
        self.will(*values)

    def answers(self, found: Callable[[Request], Script]) -> None:
        """For every request after the script: what this function makes of it."""
        self._otherwise = found

    def always(self, script: Script) -> None:
        self.answers(lambda _: script)

    @property
    def last(self) -> Request:
        return self.requests[-1]

    def reply_to(self, request: Request) -> Reply:
        with self._one_at_a_time:
            self.requests.append(request)
            if self._script:
                return self._script.popleft()
        return _reply(self._otherwise(request))


class _Handler(BaseHTTPRequestHandler):
    server: ModelServer
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        protocol = PATHS.get(self.path)
        if protocol is None:
            return self._send(Reply(status=404), b'{"error": {"message": "no such path"}}')
        request = Request(protocol, headers, body)
        reply = self.server.reply_to(request)
        self.server.closing.wait(reply.wait)
        return self._send(reply, reply.body if reply.body is not None else _body(request, reply, self.server))

    def _send(self, reply: Reply, body: bytes) -> None:
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if reply.cut:
            self.wfile.write(body[: len(body) // 2])
            self.close_connection = True
            return
        try:
            self._write(body, reply.trickle)
        except OSError:  # the client has given up
            self.close_connection = True

    def _write(self, body: bytes, pause: float) -> None:
        if not pause:
            self.wfile.write(body)
            return
        for byte in body:
            self.wfile.write(bytes([byte]))
            self.wfile.flush()
            if self.server.closing.wait(pause):
                return

    def log_message(self, *_: object) -> None: ...


def _body(request: Request, reply: Reply, server: ModelServer) -> bytes:
    body = {OPENAI: _openai, ANTHROPIC: _anthropic, RESPONSES: _responses}[request.protocol](request, reply, server)
    if not server.reports_usage:
        del body["usage"]
    return json.dumps(body).encode()


def _openai(request: Request, reply: Reply, server: ModelServer) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
    if reply.thinking:
        message["reasoning_content"] = reply.thinking
    if reply.arguments and request.tool is None:
        message["content"] = "\n".join(reply.arguments)
    elif reply.arguments:
        message["tool_calls"] = [
            {"id": f"call_{number}", "type": "function", "function": {"name": request.tool, "arguments": text}}
            for number, text in enumerate(reply.arguments)
        ]
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": request.body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": STOPPED[reply.stopped][OPENAI]}],
        "usage": {
            "prompt_tokens": server.input_tokens,
            "completion_tokens": server.output_tokens,
            "total_tokens": server.input_tokens + server.output_tokens,
        },
    }


def _anthropic(request: Request, reply: Reply, server: ModelServer) -> dict[str, Any]:
    parts: list[dict[str, Any]] = []
    if reply.thinking:
        parts.append({"type": "thinking", "thinking": reply.thinking, "signature": "signed"})
    if reply.text:
        parts.append({"type": "text", "text": reply.text})
    if reply.web:
        parts += anthropic_blocks(reply.web)
    for number, text in enumerate(reply.arguments):
        parts.append({"type": "tool_use", "id": f"toolu_{number}", "name": request.tool, "input": _input(text)})
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": request.body["model"],
        "content": parts,
        "stop_reason": "pause_turn" if reply.web and reply.web.is_paused else STOPPED[reply.stopped][ANTHROPIC],
        "stop_sequence": None,
        "usage": {"input_tokens": server.input_tokens, "output_tokens": server.output_tokens},
    }


def _responses(request: Request, reply: Reply, server: ModelServer) -> dict[str, Any]:
    """OpenAI's newer protocol, which has a web search."""
    items: list[dict[str, Any]] = responses_items(reply.web) if reply.web else []
    if reply.text:
        items.append(responses_message(reply.text))
    for number, text in enumerate(reply.arguments):
        call = {"id": f"fc_{number}", "call_id": f"call_{number}", "name": request.tool, "arguments": text}
        items.append({"type": "function_call", "status": "completed"} | call)
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": int(time.time()),
        "model": request.body["model"],
        "status": "completed",
        "output": items,
        "parallel_tool_calls": False,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": server.input_tokens,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": server.output_tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": server.input_tokens + server.output_tokens,
        },
    }


def _input(text: str) -> Any:
    """This protocol carries arguments as JSON, so text that is none travels as a string."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def running() -> Iterator[ModelServer]:
    server = ModelServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield server
    server.closing.set()
    server.shutdown()
    server.server_close()
    thread.join()


def use(settings: Any, server: ModelServer, protocol: str = OPENAI) -> None:
    """Let the settings name this server as the model."""
    settings.MODEL = f"{protocol}:scripted-model"
    settings.MODEL_BASE_URL = server.base_url(protocol)
    settings.MODEL_KEY = "key-of-the-tests"
    settings.MODEL_TIMEOUT = 20


@pytest.fixture
def model_server(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """The configured model, over HTTP. Waits between repeated requests are short."""
    from zeromemory.llm import patience

    monkeypatch.setattr(patience, "WAITS", [0.01, 0.02])
    for server in running():
        use(settings, server)
        yield server
