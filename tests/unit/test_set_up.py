import json
import shlex
import tomllib

from memories.set_up import hooks, set_ups, without_token

URL, SECRET = "https://memory.example/mcp", "zm_secret"
HOOKS = {one.key: one.text for one in hooks("https://memory.example", "https://memory.example/hook.py", SECRET)}
LINES = {one.key: one.text for one in set_ups(URL, SECRET)}


def test_the_command_is_one_that_a_shell_reads_as_meant():
    words = shlex.split(LINES["claude"])
    assert words[:7] == ["claude", "mcp", "add", "--scope", "user", "--transport", "http"]
    assert words[-3:] == [URL, "--header", f"Authorization: Bearer {SECRET}"]


def test_the_files_parse_and_name_address_and_token():
    cursor = json.loads(LINES["cursor"])["mcpServers"]["zero-memory"]
    assert (cursor["url"], cursor["headers"]["Authorization"]) == (URL, f"Bearer {SECRET}")
    vscode = json.loads(LINES["vscode"])
    assert vscode["servers"]["zero-memory"]["url"] == URL
    assert (
        vscode["servers"]["zero-memory"]["headers"]["Authorization"] == f"Bearer ${{input:{vscode['inputs'][0]['id']}}}"
    )
    assert vscode["inputs"][0]["password"] is True
    codex = tomllib.loads(LINES["codex"])["mcp_servers"]["zero-memory"]
    assert codex == {"url": URL, "bearer_token_env_var": "ZEROMEMORY_TOKEN"}


def test_the_secret_is_not_in_a_file_that_names_a_variable_instead():
    assert SECRET not in LINES["codex"]
    assert SECRET not in LINES["vscode"]
    assert shlex.split(LINES["codex-variable"]) == ["export", f"ZEROMEMORY_TOKEN={SECRET}"]


def test_a_client_that_signs_in_by_itself_needs_the_address_alone():
    assert shlex.split(without_token(URL))[-1] == URL


def test_the_hooks_parse_and_run_the_script_at_the_events_it_knows():
    claude = json.loads(HOOKS["hook-claude"])
    assert claude["env"] == {"ZEROMEMORY_URL": "https://memory.example", "ZEROMEMORY_TOKEN": SECRET}
    assert claude["hooks"].keys() == {"SessionStart", "UserPromptSubmit", "Stop"}
    assert claude["hooks"] == json.loads(HOOKS["hook-codex"])["hooks"]
    assert claude["hooks"]["Stop"][0]["hooks"] == json.loads(HOOKS["hook-vscode"])["hooks"]["Stop"]
    assert json.loads(HOOKS["hook-cursor"])["hooks"].keys() == {"sessionStart", "beforeSubmitPrompt"}


def test_no_command_of_a_hook_holds_the_secret_and_no_file_of_a_repository_does():
    holding = {key for key, text in HOOKS.items() if SECRET in text}
    assert holding == {"hook-claude", "hook-shell"}
    commands = [each["command"] for event in json.loads(HOOKS["hook-vscode"])["hooks"].values() for each in event]
    assert set(commands) == {"python3 ~/.zero-memory/hook.py"}
