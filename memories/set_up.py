"""PURE. The exact lines that connect an agent: where they go, and what they say."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass

NAME = "zero-memory"
VARIABLE = "ZEROMEMORY_TOKEN"


@dataclass(frozen=True, slots=True)
class SetUp:
    """``text`` goes into ``place``; ``key`` names it on the page."""

    key: str
    client: str
    place: str
    text: str


def set_ups(url: str, secret: str) -> list[SetUp]:
    """For the door at *url* and a token."""
    entry = {"url": url, "headers": {"Authorization": f"Bearer {secret}"}}
    return [
        SetUp("claude", "Claude Code", "In a terminal", _claude(url, secret)),
        SetUp("cursor", "Cursor", "In ~/.cursor/mcp.json", _json({"mcpServers": {NAME: entry}})),
        SetUp("vscode", "VS Code", "In .vscode/mcp.json; it asks for the secret once", _vscode(url)),
        SetUp("codex", "Codex", "In ~/.codex/config.toml", _codex(url)),
        SetUp("codex-variable", "Codex: its variable", "In the profile of your shell", _exported(secret)),
        SetUp("other", "Any other client", "Transport: streamable HTTP", f"{url}\nAuthorization: Bearer {secret}"),
    ]


def hooks(base: str, script: str, secret: str) -> list[SetUp]:
    """How a session is briefed by itself, and `remember:` lines are kept: where each agent looks for its hooks. The
    store is at *base*, the script is downloaded from *script*."""
    shell = f"export ZEROMEMORY_URL={shlex.quote(base)}\n{_exported(secret)}"
    known = {"env": {"ZEROMEMORY_URL": base, VARIABLE: secret}}
    grouped = {"hooks": {event: [{"hooks": [_RUN]}] for event in _EVENTS}}
    flat = {"hooks": {event: [_RUN] for event in _EVENTS}}
    cursor = {
        "version": 1,
        "hooks": {event: [{"command": _COMMAND}] for event in ("sessionStart", "beforeSubmitPrompt")},
    }
    return [
        SetUp("hook-script", "The script", "In a terminal, once", _download(script)),
        SetUp("hook-claude", "Claude Code", "In ~/.claude/settings.json", _json(known | grouped)),
        SetUp("hook-cursor", "Cursor", f"In ~/.cursor/hooks.json, {_BESIDE}", _json(cursor)),
        SetUp("hook-codex", "Codex", f"In ~/.codex/hooks.json, {_BESIDE}", _json(grouped)),
        SetUp("hook-vscode", "VS Code", f"In .github/hooks/zero-memory.json, {_BESIDE}", _json(flat)),
        SetUp("hook-shell", "The two variables", "In the profile of your shell, for all but Claude Code", shell),
    ]


_PLACE = "~/.zero-memory"
_COMMAND = f"python3 {_PLACE}/hook.py"
_RUN = {"type": "command", "command": _COMMAND, "timeout": 5}
_EVENTS = ("SessionStart", "UserPromptSubmit", "Stop")
_BESIDE = "with the two variables in the environment"


def _download(script: str) -> str:
    return f"mkdir -p {_PLACE} && curl -fsS {shlex.quote(script)} -o {_PLACE}/hook.py"


def _claude(url: str, secret: str) -> str:
    header = shlex.quote(f"Authorization: Bearer {secret}")
    return f"claude mcp add --scope user --transport http {NAME} {shlex.quote(url)} --header {header}"


def without_token(url: str) -> str:
    """For a client that signs in by itself, on a page of ours."""
    return f"claude mcp add --scope user --transport http {NAME} {shlex.quote(url)}"


def _vscode(url: str) -> str:
    """The file is often committed, so the secret is asked for and kept elsewhere."""
    asked = {"type": "promptString", "id": NAME, "description": "Zero Memory token", "password": True}
    headers = {"Authorization": f"Bearer ${{input:{NAME}}}"}
    return _json({"inputs": [asked], "servers": {NAME: {"type": "http", "url": url, "headers": headers}}})


def _codex(url: str) -> str:
    return f'[mcp_servers.{NAME}]\nurl = "{url}"\nbearer_token_env_var = "{VARIABLE}"'


def _exported(secret: str) -> str:
    return f"export {VARIABLE}={shlex.quote(secret)}"


def _json(value: object) -> str:
    return json.dumps(value, indent=2)
