"""Tools of a store that is opened for reading only."""

import httpx
import pytest

from memories.models import Memory, OAuthClient
from tests.factories import make_memory

pytestmark = pytest.mark.behaviour("G35")


def test_every_tool_that_writes_is_refused_and_every_other_answers(agent, scope, settings):
    make_memory("The harbour light is green.", scope=scope)
    tools = {tool.name: tool for tool in agent.talk(lambda client: client.list_tools()).tools}
    writing = [name for name, tool in tools.items() if not tool.annotations.read_only_hint]
    settings.READ_ONLY = True

    for name in writing:
        asked = {
            field: _any(shape) for field, shape in tools[name].input_schema["properties"].items()
            if field in tools[name].input_schema.get("required", ())
        }  # fmt: skip
        assert agent.refused(name, **asked).startswith("read_only: "), name
    assert len(agent.told("recall", query="harbour light")["results"]) == 1
    assert Memory.objects.get().access_count == 0


def test_nobody_is_let_in_anew_and_the_refusal_has_its_name(door, settings):
    root, settings.READ_ONLY = door.removesuffix("/mcp"), True

    for path in ("/register", "/token", "/revoke"):
        answer = httpx.post(root + path, json={"redirect_uris": ["http://127.0.0.1/back"]}, trust_env=False)
        assert (answer.status_code, answer.json()["error"]) == (403, "read_only"), path
        assert "opened for reading only" in answer.json()["error_description"], path
    assert httpx.get(f"{root}/.well-known/oauth-authorization-server", trust_env=False).status_code == 200
    assert not OAuthClient.objects.exists()


def _any(shape):
    if "enum" in shape:
        return shape["enum"][0]
    return 1 if shape.get("type") == "integer" else "00000000-0000-7000-8000-000000000001"
