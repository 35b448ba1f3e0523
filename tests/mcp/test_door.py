"""The way in: who is let through, many at once, a restart between two calls, and standard input."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import anyio
import httpx
import pytest
from django.core.management import CommandError, call_command

from memories.access import actor_for_user
from memories.models import Memory, Token
from memories.services.tokens import revoke
from tests.factories import make_memory, make_scope, make_token, make_user
from tests.mcp.talking import Agent, over_standard_input, run, text_of
from zeromemory.lib.folders import PROJECT

CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
ACCEPT = {"Accept": "application/json, text/event-stream"}


def post(door, secret=None, body=CALL, **headers):
    bearer = {"Authorization": f"Bearer {secret}"} if secret else {}
    return httpx.post(door, json=body, headers=ACCEPT | bearer | headers, trust_env=False)


@pytest.mark.parametrize("secret", [None, "wrong", "zm_" + "x" * 40])
def test_whoever_has_no_valid_token_is_told_how_to_get_one(door, secret):
    answer = post(door, secret)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer resource_metadata=")
    assert "Tokens page" in answer.json()["message"]


def test_a_revoked_token_is_out_at_once(door, agent, owner):
    assert agent.told("describe_scope")
    revoke(actor=actor_for_user(owner), token=Token.objects.get())
    assert post(door, agent.secret).status_code == 401


def test_an_answer_is_json_and_no_stream(door, agent):
    assert post(door, agent.secret).headers["content-type"].startswith("application/json")


@pytest.mark.behaviour("F43")
def test_a_notification_is_accepted_with_202(door, agent):
    answer = post(door, agent.secret, {"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert answer.status_code == 202


def test_a_page_of_another_site_cannot_speak_to_the_door(door, agent):
    assert post(door, agent.secret, Origin="https://elsewhere.example").status_code == 403
    assert post(door, agent.secret, Host="elsewhere.example").status_code == 421


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_there_is_no_stream_to_hold_open_and_no_session_to_end(door, agent, method):
    headers = ACCEPT | {"Authorization": f"Bearer {agent.secret}"}
    answer = httpx.request(method, door, headers=headers, trust_env=False, timeout=10)
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


def test_an_agent_cannot_be_called_by_a_secret(door, agent):
    secret = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    answer = post(door, agent.secret, **{"X-Agent": secret})
    assert (answer.status_code, answer.json()["code"]) == (400, "validation_failed")
    assert secret not in answer.text


def test_pages_and_rest_are_where_they_were(door, agent):
    root = door.removesuffix("/mcp")
    assert httpx.get(f"{root}/healthz", trust_env=False).status_code == 200
    assert httpx.get(f"{root}/api/v1/config", trust_env=False).status_code == 401


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'{"jsonrpc": "2.0"}', b"\xff" * 20])
def test_a_body_that_is_no_call_is_refused_without_an_accident(door, agent, body):
    headers = ACCEPT | {"Authorization": f"Bearer {agent.secret}", "Content-Type": "application/json"}
    answer = httpx.post(door, content=body, headers=headers, trust_env=False)
    assert 400 <= answer.status_code < 500


def test_an_answer_that_is_too_large_to_ask_for_is_refused(door, agent):
    body = CALL | {"params": {"filler": "x" * (9 * 1024 * 1024)}}
    assert post(door, agent.secret, body).status_code == 413


def test_the_agent_is_named_by_its_header(agent, scope):
    named = replace(agent, headers={"X-Agent": "scribe"})
    written = named.told("remember", content="Who wrote this?")
    assert Memory.objects.get(pk=written["id"]).agent == "scribe"


@pytest.mark.behaviour("F31")
def test_three_agents_at_once_each_see_their_own(door, owner, scope):
    agents = []
    for n in range(3):
        user = make_user(username=f"person{n}")
        theirs = make_scope(user, slug="home")
        make_memory(f"Harbour gate of person {n}.", scope=theirs)
        agents.append(Agent(door, make_token(user, [theirs])[1]))

    async def all_at_once() -> dict[int, set[str]]:
        found: dict[int, set[str]] = {}

        async def one(n: int, agent: Agent) -> None:
            async with agent.connected() as client:
                for _ in range(8):
                    result = await client.call_tool("recall", {"query": "harbour gate"})
                    found.setdefault(n, set()).update(row["content"] for row in result.structured_content["results"])

        async with anyio.create_task_group() as group:
            for n, agent in enumerate(agents):
                group.start_soon(one, n, agent)
        return found

    assert run(all_at_once) == {n: {f"Harbour gate of person {n}."} for n in range(3)}


# Standard input ------------------------------------------------------------------------------


def test_over_standard_input_the_same_tools_are_served(database_url, owner, scope):
    make_memory("The harbour gate.", scope=scope)
    secret = make_token(owner, [scope])[1]

    async def talk(client):
        tools = await client.list_tools()
        found = await client.call_tool("recall", {"query": "harbour gate"})
        return len(tools.tools), found

    number, found = over_standard_input(talk, DATABASE_URL=database_url, ZEROMEMORY_TOKEN=secret)
    assert number == 22
    assert not found.is_error, text_of(found)
    assert len(found.structured_content["results"]) == 1


LISTING = """
import django, sys
django.setup()
from zeromemory.mcp.server import build
import anyio
heavy = {"onnxruntime", "tokenizers", "pydantic_ai", "plotly"}
print(len(anyio.run(build().list_tools)), sorted(sys.modules.keys() & heavy))
"""


@pytest.mark.behaviour("F43")
def test_nothing_that_the_list_of_tools_does_not_need_is_loaded_for_it():
    """How long a cold start takes is for ``make bench``; what would make it long is seen here."""
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "zeromemory.settings"}
    done = subprocess.run(
        [sys.executable, "-c", LISTING], cwd=PROJECT, env=environment, text=True, capture_output=True, check=True
    )
    assert done.stdout.split(maxsplit=1) == ["22", "[]\n"]


def test_over_standard_input_nobody_is_called_by_a_secret(owner):
    secret = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    with pytest.raises(CommandError, match="holds a secret") as refused:
        call_command("mcp_stdio", agent=secret)
    assert secret not in str(refused.value)
