import json
import shlex
import tomllib

from memories.set_up import set_ups

URL, SECRET = "https://memory.example/mcp", "zm_secret"
LINES = {one.key: one.text for one in set_ups(URL, SECRET)}


def test_the_command_is_one_that_a_shell_reads_as_meant():
    words = shlex.split(LINES["claude"])
    assert words[:5] == ["claude", "mcp", "add", "--transport", "http"]
    assert words[-3:] == [URL, "--header", f"Authorization: Bearer {SECRET}"]


def test_the_files_parse_and_name_address_and_token():
    for key, path in (("cursor", "mcpServers"), ("vscode", "servers")):
        entry = json.loads(LINES[key])[path]["zero-memory"]
        assert (entry["url"], entry["headers"]["Authorization"]) == (URL, f"Bearer {SECRET}")
    codex = tomllib.loads(LINES["codex"])["mcp_servers"]["zero-memory"]
    assert codex == {"url": URL, "bearer_token_env_var": "ZEROMEMORY_TOKEN"}


def test_the_secret_is_not_in_a_file_that_names_a_variable_instead():
    assert SECRET not in LINES["codex"]
