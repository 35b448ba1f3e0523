"""Tools of a store that is opened for reading only."""

import pytest

from memories.models import Memory
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


def _any(shape):
    if "enum" in shape:
        return shape["enum"][0]
    return 1 if shape.get("type") == "integer" else "00000000-0000-7000-8000-000000000001"
