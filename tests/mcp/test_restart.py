"""A server that goes away between two calls, or in the middle of one."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys

import anyio
import pytest
from mcp.types import LATEST_PROTOCOL_VERSION, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from memories.models import Memory
from tests.acceptance.instance import free_port, wait_until
from tests.factories import make_memory, make_token
from tests.mcp.talking import Agent, run, text_of
from zeromemory import launch
from zeromemory.lib.folders import PROJECT
from zeromemory.mcp.standard_input import Unanswered

START_SECONDS = 60


@contextlib.contextmanager
def web(port, database_url):
    """The process that ``up`` starts for the pages and this door. It ends when its standard input does."""
    process = subprocess.Popen(
        [sys.executable, "-m", "zeromemory.programs", "web"],
        cwd=PROJECT,
        env=os.environ
        | {"DATABASE_URL": database_url, "ZEROMEMORY_BIND": f"127.0.0.1:{port}", "ZEROMEMORY_SUPERVISED": "1"},
        stdin=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        address = f"http://127.0.0.1:{port}"
        wait_until(
            lambda: launch.answers(address, "/healthz") or process.poll() is not None, START_SECONDS, "answering"
        )
        assert process.poll() is None
        yield process
    finally:
        process.stdin.close()
        process.kill()
        process.wait(20)


@pytest.mark.behaviour("F42")
def test_after_a_restart_between_two_calls_the_same_client_goes_on(database_url, owner, scope):
    port = free_port()
    agent = Agent(f"http://127.0.0.1:{port}/mcp", make_token(owner, [scope])[1])

    with contextlib.ExitStack() as running:
        running.enter_context(web(port, database_url))

        async def talk(client):
            written = await client.call_tool("remember", {"content": "The harbour gate opens at six."})
            running.close()
            running.enter_context(web(port, database_url))
            return written, await client.call_tool("recall", {"query": "harbour gate"})

        written, found = agent.talk(talk)
    assert not found.is_error, text_of(found)
    assert [row["id"] for row in found.structured_content["results"]] == [written.structured_content["id"]]


# Standard input ------------------------------------------------------------------------------


@pytest.fixture
def piped(database_url, owner, scope):
    """A server over standard input, which the test writes to line by line."""
    secret = make_token(owner, [scope])[1]
    with subprocess.Popen(
        [sys.executable, "manage.py", "mcp_stdio"],
        cwd=PROJECT,
        env=os.environ | {"DATABASE_URL": database_url, "ZEROMEMORY_TOKEN": secret},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield process
        process.kill()


def line(method, params, id=None):
    known = {"jsonrpc": "2.0", "method": method, "params": params}
    return json.dumps(known if id is None else known | {"id": id}) + "\n"


OPENING = line(
    "initialize",
    {"protocolVersion": LATEST_PROTOCOL_VERSION, "capabilities": {}, "clientInfo": {"name": "pipe", "version": "1"}},
    id=1,
) + line("notifications/initialized", {})


def call(tool, id, **arguments):
    return line("tools/call", {"name": tool, "arguments": arguments}, id=id)


def test_what_was_asked_before_the_input_ended_is_answered_before_the_server_ends(piped, scope):
    make_memory("The harbour gate.", scope=scope)
    calls = call("remember", 2, content="Written into a pipe.") + call("recall", 3, query="harbour gate")
    answers, _ = piped.communicate(OPENING + calls, timeout=START_SECONDS)
    told = {answer["id"]: answer["result"] for answer in map(json.loads, answers.splitlines())}
    assert told.keys() == {1, 2, 3}
    assert not told[2].get("isError")
    assert piped.returncode == 0
    assert Memory.objects.filter(content="Written into a pipe.").exists()


def waited_for(*messages):
    """Whether the end of the input is kept back after these."""

    async def work():
        unanswered = Unanswered()
        for message in messages:
            unanswered.note(message)
        with anyio.move_on_after(0.05) as patience:
            await unanswered.wait()
        return patience.cancelled_caught

    return run(work)


ASKED = JSONRPCRequest(jsonrpc="2.0", id=1, method="tools/list")
ANSWERED = JSONRPCResponse(jsonrpc="2.0", id=1, result={})


def called_off(params):
    return JSONRPCNotification(jsonrpc="2.0", method="notifications/cancelled", params=params)


@pytest.mark.parametrize(
    ("messages", "waits"),
    [
        ([], False),
        ([ASKED], True),
        ([ASKED, ANSWERED], False),
        ([ASKED, called_off({"requestId": 1})], False),
        ([ASKED, called_off({"requestId": 2})], True),
        ([ASKED, called_off({"requestId": [1]})], True),
        ([ASKED, called_off(None)], True),
    ],
    ids=["nothing", "asked", "answered", "called off", "another called off", "no id", "nothing called off"],
)
def test_the_end_waits_for_answers_and_for_nothing_that_was_called_off(messages, waits):
    assert waited_for(*messages) is waits


def test_the_end_waits_for_no_answer_for_ever(monkeypatch):
    monkeypatch.setattr("zeromemory.mcp.standard_input.PATIENCE", 0.01)
    assert waited_for(ASKED) is False
