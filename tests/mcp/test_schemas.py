"""What a strict client holds the door to: schemas that name everything, and answers that are what they promise."""

from __future__ import annotations

import json

import jsonschema
import pytest
from mcp.shared.exceptions import MCPError

from memories.access import actor_for_user
from memories.api.shapes import MemoryWhole
from memories.models import Scope
from reflections.models import Dispute
from reflections.services.rules import make_rule
from tests.factories import make_memory, make_scope
from tests.mcp.test_tools import TOOLS
from tests.memories.code.trees import make_tree, register

pytestmark = pytest.mark.behaviour("F44")


@pytest.fixture
def judge(agent_of, owner, scope):
    return agent_of(owner, scope, can_adjudicate=True)


@pytest.fixture
def listed(judge):
    return {tool.name: tool for tool in judge.talk(lambda client: client.list_tools()).tools}


def objects(schema):
    """Every object that a schema describes by its fields."""
    if isinstance(schema, dict):
        if "properties" in schema:
            yield schema
        for below in schema.values():
            yield from objects(below)
    if isinstance(schema, list):
        for below in schema:
            yield from objects(below)


def test_every_tool_has_its_manners_and_strict_schemas(listed):
    assert listed.keys() == TOOLS
    for tool in listed.values():
        assert tool.description
        assert tool.title
        assert tool.annotations.read_only_hint is not None
        for schema in (tool.input_schema, tool.output_schema):
            jsonschema.Draft202012Validator.check_schema(schema)
            assert schema["type"] == "object"
            assert all(each["additionalProperties"] is False for each in objects(schema)), tool.name


def test_every_answer_names_all_that_its_schema_promises(listed):
    for tool in listed.values():
        for each in objects(tool.output_schema):
            assert set(each["required"]) == set(each["properties"]), tool.name


def calls_for(scope, judge, folder):
    """One call of each tool that succeeds, in an order in which they do."""
    ids = [str(make_memory(f"Harbour gate {n}.", scope=scope).pk) for n in range(4)]
    task = str(make_memory("Paint the gate.", scope=scope, kind="task").pk)
    rule = str(make_memory("Knot the rope.", scope=scope, kind="convention").pk)
    register(scope, make_tree(folder / "shop"))
    Scope.objects.filter(pk=scope.pk).update(retention="decaying")
    place = {"repository": "shop", "path": "rank.py", "symbol": "relevance"}
    about_code = judge.told("remember", content="Ordered by relevance.", anchors=[place])["id"]
    judge.told("challenge", id=ids[3], reason="It opens at seven.")
    dispute = Dispute.objects.get()
    return {
        "remember": {"content": "The gate opens at six.", "entities": [{"name": "gate"}], "session": "one"},
        "recall": {"query": "harbour gate", "session": "one"},
        "get": {"id": ids[0]},
        "build_context": {"topic": "harbour gate", "session": "one"},
        "link": {"source": ids[0], "target": ids[1], "type": "relates_to"},
        "forget": {"id": ids[2], "reason": "Gone."},
        "restore_memory": {"id": ids[2]},
        "close_loop": {"id": task, "evidence": "It is green."},
        "reanchor": {"id": about_code, "reason": "Looked."},
        "challenge": {"id": ids[1], "reason": "Nobody has seen it."},
        "mark_used": {"id": ids[0], "outcome": "useful", "session": "one"},
        "list_conflicts": {},
        "get_conflict": {"id": str(dispute.pk)},
        "resolve_conflict": {"id": str(dispute.pk), "version": dispute.version, "resolution": "uphold"},
        "scan_hygiene": {},
        "describe_scope": {},
        "consolidate": {"scope": scope.slug},
        "promote_rule": {"id": rule},
        "alias": {"term": "gate", "alias": "falcon"},
        "export_metrics": {},
        "import_memory": {"lines": json.dumps({"content": "A line."})},
        "session_receipt": {"session": "one"},
    }


def test_every_answer_holds_what_its_schema_promises(judge, scope, listed, tmp_path):
    calls = calls_for(scope, judge, tmp_path)
    assert calls.keys() == TOOLS
    for name, arguments in calls.items():
        jsonschema.Draft202012Validator(listed[name].input_schema).validate(arguments)
        told = judge.told(name, **arguments)
        assert isinstance(told, dict)
        jsonschema.Draft202012Validator(listed[name].output_schema).validate(told)


def test_the_answer_about_several_scopes_holds_too(agent_of, owner, scope, listed):
    told = agent_of(owner, scope, make_scope(owner, slug="work"), can_write=False).told("describe_scope")
    jsonschema.Draft202012Validator(listed["describe_scope"].output_schema).validate(told)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("recall", {"query": "x", "k": "10"}),
        ("recall", {"query": "x", "k": True}),
        ("recall", {"query": 1}),
        ("get", {"id": "x", "start": True}),
        ("build_context", {"max_tokens": "500"}),
        ("export_metrics", {"days": "7"}),
        ("resolve_conflict", {"id": "x", "version": True, "resolution": "uphold"}),
        ("remember", {"content": "x", "pinned": "yes"}),
        ("remember", {"content": "x", "pinned": 1}),
        ("remember", {"content": "x", "entities": [{"name": "x", "colour": "red"}]}),
        ("import_memory", {"lines": "{}", "dry_run": 0}),
    ],
)
def test_a_value_of_another_type_is_refused_as_its_schema_says(judge, listed, tool, arguments):
    assert not jsonschema.Draft202012Validator(listed[tool].input_schema).is_valid(arguments)
    assert judge.refused(tool, **arguments).startswith("validation_failed (")


def test_a_memory_as_a_resource_holds_what_rest_promises(judge, scope):
    memory = make_memory("The gate opens at six.", scope=scope)

    async def talk(client):
        templates = await client.list_resource_templates()
        return templates.resource_templates, await client.read_resource(f"zm://memory/{memory.pk}")

    (template,), found = judge.talk(talk)
    assert (template.uri_template, template.mime_type) == ("zm://memory/{id}", "application/json")
    assert found.contents[0].mime_type == "application/json"
    jsonschema.Draft202012Validator(MemoryWhole.model_json_schema()).validate(json.loads(found.contents[0].text))


def test_every_resource_is_read_as_the_type_it_is_listed_with(judge, owner, scope):
    memory = make_memory("Knot the rope.", scope=scope, kind="convention")
    make_rule(actor=actor_for_user(owner), memory=memory, text="Knot the rope.", layer="scope", scopes=[scope.pk])

    async def talk(client):
        resources = (await client.list_resources()).resources
        return [(each, await client.read_resource(each.uri)) for each in resources]

    for resource, found in judge.talk(talk):
        assert resource.description
        assert [part.mime_type for part in found.contents] == [resource.mime_type]
        assert found.contents[0].text


def test_every_prompt_is_given_with_the_arguments_it_lists_and_with_none_that_may_be_left_out(judge):
    async def talk(client):
        prompts = (await client.list_prompts()).prompts
        given = []
        for prompt in prompts:
            every = {argument.name: "gates" for argument in prompt.arguments}
            least = {argument.name: "gates" for argument in prompt.arguments if argument.required}
            given.append(
                (prompt, await client.get_prompt(prompt.name, every), await client.get_prompt(prompt.name, least))
            )
        return given

    for prompt, every, least in judge.talk(talk):
        assert prompt.description
        assert all(argument.description for argument in prompt.arguments)
        assert "gates" in every.messages[0].content.text
        assert least.messages[0].role == "user"


def test_a_prompt_without_what_it_needs_is_refused(judge):
    with pytest.raises(ExceptionGroup) as caught:
        judge.talk(lambda client: client.get_prompt("receipt", {}))
    assert caught.group_contains(MCPError, depth=None)
