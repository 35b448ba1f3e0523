"""Reference pages made from the program itself, so that they cannot drift from it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from django.core.management import get_commands, load_command_class

from memories.services.oauth_clients import NATIVE
from zeromemory.api import api
from zeromemory.lib.folders import PROJECT
from zeromemory.mcp.server import build

OURS: Final = ("zeromemory", "memories", "reflections", "insights")
SHARED_OPTIONS: Final = {
    "--help", "--version", "--verbosity", "--settings", "--pythonpath", "--traceback", "--no-color", "--force-color",
    "--skip-checks",
}  # fmt: skip
MADE_BY: Final = "<!-- Made by `manage.py reference`; change the program, not this page. -->\n\n"


def pages() -> dict[Path, str]:
    """Each generated page's path and text."""
    folder = PROJECT / "docs" / "reference"
    made = {"rest.md": _rest, "commands.md": _commands, "mcp.md": _protocol}
    return {folder / name: MADE_BY + "\n".join(lines()) for name, lines in made.items()}


# REST ----------------------------------------------------------------------------------------


def _rest() -> Iterator[str]:
    schema = api.get_openapi_schema(path_prefix="/api/v1/")
    yield "# REST\n"
    yield "Every call needs `Authorization: Bearer <token>`; `X-Agent: <name>` names the agent that calls. The"
    yield "machine-readable description is `/api/v1/openapi.json`; signed-in people can try calls at `/api/v1/docs`.\n"
    yield "Errors are `{code, message, field?}`, and the message says what to do.\n"
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            yield from _operation(f"{method.upper()} {path}", operation, schema)


def _operation(title: str, operation: dict[str, Any], schema: dict[str, Any]) -> Iterator[str]:
    yield f"## {title}\n"
    yield operation["summary"] + ".\n"
    if operation.get("description"):
        yield operation["description"] + "\n"
    asked = [_parameter(parameter) for parameter in operation.get("parameters", [])]
    asked += _body(operation, schema)
    if asked:
        yield "| takes | where | type | |\n|---|---|---|---|"
        yield from (f"| `{name}` | {where} | {kind} | {note} |" for name, where, kind, note in asked)
        yield ""
    for status, answer in operation["responses"].items():
        if int(status) < 300:
            yield f"Answers {status} with {_answered(answer['content'], schema)}.\n"


def _answered(content: dict[str, Any], schema: dict[str, Any]) -> str:
    if "application/json" not in content:
        return "a file"
    return ", ".join(f"`{name}`" for name in _fields(content["application/json"]["schema"], schema))


def _parameter(parameter: dict[str, Any]) -> tuple[str, str, str, str]:
    shape = parameter["schema"]
    note = parameter.get("description") or shape.get("description") or ""
    return parameter["name"], parameter["in"], _type(shape), _required(parameter.get("required", False), note)


def _body(operation: dict[str, Any], schema: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    if "requestBody" not in operation:
        return []
    content = next(iter(operation["requestBody"]["content"].values()))["schema"]
    shape = _resolved(content, schema)
    required = shape.get("required", [])
    return [
        (name, "body", _type(field), _required(name in required, field.get("description", "")))
        for name, field in shape.get("properties", {}).items()
    ]


def _required(required: bool, note: str) -> str:
    return f"required{'; ' if note else ''}{note}" if required else note


def _fields(shape: dict[str, Any], schema: dict[str, Any]) -> list[str]:
    return list(_resolved(shape, schema).get("properties", {}))


def _resolved(shape: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    for option in shape.get("anyOf", []):
        if "$ref" in option:
            return _resolved(option, schema)
    if "$ref" in shape:
        return dict(schema["components"]["schemas"][shape["$ref"].rpartition("/")[2]])
    return shape


def _type(shape: dict[str, Any]) -> str:
    if "anyOf" in shape:
        return " or ".join(_type(option) for option in shape["anyOf"])
    if "$ref" in shape:
        return f"{shape['$ref'].rpartition('/')[2]}"
    if shape.get("type") == "array":
        return f"list of {_type(shape.get('items', {}))}"
    if "enum" in shape:
        return " or ".join(f"`{value}`" for value in shape["enum"])
    default = f", `{shape['default']}`" if shape.get("default") not in (None, "", [], {}) else ""
    return str(shape.get("format") or shape.get("type", "any")) + default


# Model Context Protocol ----------------------------------------------------------------------


def _protocol() -> Iterator[str]:
    server = build()
    yield "# Model Context Protocol\n"
    yield "Streamable HTTP at `/mcp`, without a session and with `Authorization: Bearer <token>` in every request, or"
    yield "`manage.py mcp_stdio` on the same machine. Every answer has a structure and words; what stands between marks"
    yield "in the words is stored text. What is refused begins with its code: `not_found: …`."
    yield "A client without a token is answered 401 with `WWW-Authenticate: Bearer resource_metadata=…`, from which it"
    yield "finds its way through OAuth 2.1: `/register`, `/authorize`, `/token` and `/revoke`."
    yield "PKCE with S256 is required, and has to be named. A token is good at the address it was asked for (RFC 8707),"
    yield "at `/mcp` and over REST of the same host alike, with the rights and scopes that were ticked; at another one"
    yield "it is refused. A client may have people sent back to https, to any port of loopback, or to a program's own"
    yield f"scheme: a reversed domain, or one of {', '.join(f'`{scheme}`' for scheme in sorted(NATIVE))}."
    yield "[How to connect](../how-to/connect-an-agent.md).\n"
    for tool in server._tool_manager.list_tools():
        yield from _tool(tool)
    yield "## Resources\n"
    yield "`zm://memory/{id}`: a memory whole, as JSON. `zm://rules`: the standing rules that are delivered.\n"
    yield "## Prompts\n"
    for prompt in server._prompt_manager.list_prompts():
        yield f"- `{prompt.name}`: {prompt.description}"
    yield ""


def _tool(tool: Any) -> Iterator[str]:
    hints = tool.annotations
    does = "reads" if hints.read_only_hint else "retires or closes" if hints.destructive_hint else "writes"
    yield f"## {tool.name}\n"
    yield f"{' '.join(tool.description.split())} ({does})\n"
    shape, required = tool.parameters.get("properties", {}), tool.parameters.get("required", [])
    if shape:
        yield "| takes | type | |\n|---|---|---|"
        yield from (
            f"| `{name}` | {_type(field)} | {_required(name in required, field.get('description', ''))} |"
            for name, field in shape.items()
        )
        yield ""
    yield f"Gives {', '.join(f'`{name}`' for name in tool.output_schema['properties'])}.\n"


# Commands ------------------------------------------------------------------------------------


def _commands() -> Iterator[str]:
    yield "# Commands\n"
    yield "`manage.py` runs with the virtual environment's Python: `.venv/bin/python manage.py NAME`. Where"
    yield "`DATABASE_URL` is unset, a command starts the embedded database for as long as it runs.\n"
    for name, app in sorted(get_commands().items()):
        if app in OURS:
            yield from _command(str(app), name)


def _command(app: str, name: str) -> Iterator[str]:
    command = load_command_class(app, name)
    parser = command.create_parser("manage.py", name)
    yield f"## {name}\n"
    yield f"{command.help}\n"
    shown = [action for action in parser._actions if not set(action.option_strings) & SHARED_OPTIONS]
    if shown:
        yield "| argument | |\n|---|---|"
        formatter = parser._get_formatter()
        yield from (f"| `{_spelled(action)}` | {_help(formatter, action)} |" for action in shown)
        yield ""


def _help(formatter: Any, action: Any) -> str:
    return " ".join(formatter._expand_help(action).split()) if action.help else ""


def _spelled(action: Any) -> str:
    value = "" if action.nargs == 0 else str(action.metavar or action.dest.upper())
    return " ".join([*action.option_strings[:1], *([value] if value else [])])
