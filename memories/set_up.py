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
        SetUp("vscode", "VS Code", "In .vscode/mcp.json", _json({"servers": {NAME: {"type": "http"} | entry}})),
        SetUp("codex", "Codex", f"In ~/.codex/config.toml, with the secret in the variable {VARIABLE}", _codex(url)),
        SetUp("other", "Any other client", "Transport: streamable HTTP", f"{url}\nAuthorization: Bearer {secret}"),
    ]


def _claude(url: str, secret: str) -> str:
    header = shlex.quote(f"Authorization: Bearer {secret}")
    return f"claude mcp add --transport http {NAME} {shlex.quote(url)} --header {header}"


def _codex(url: str) -> str:
    return f'[mcp_servers.{NAME}]\nurl = "{url}"\nbearer_token_env_var = "{VARIABLE}"'


def _json(value: object) -> str:
    return json.dumps(value, indent=2)
