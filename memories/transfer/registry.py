"""The formats by name. A new one is its own file, its test, and one line here."""

from django.utils.module_loading import import_string

from memories.transfer.contract import Format
from memories.transfer.errors import TransferError

FORMATS = {
    "agents-md": "memories.transfer.agents_md.AgentsMd",
    "basic-memory": "memories.transfer.basic_memory.BasicMemory",
    "claude-mem": "memories.transfer.claude_mem.ClaudeMem",
    "git": "memories.transfer.git.Git",
    "graymatter": "memories.transfer.graymatter.GrayMatter",
    "jsonl": "memories.transfer.jsonl.Jsonl",
    "markdown": "memories.transfer.markdown.Markdown",
    "mcp-memory-service": "memories.transfer.mcp_memory_service.McpMemoryService",
    "mem0": "memories.transfer.mem0.Mem0",
    "zero-memory": "memories.transfer.zero_memory.ZeroMemory",
}


def format_called(name: str) -> type[Format]:
    if name not in FORMATS:
        raise TransferError(f"There is no format {name!r}. Choose from {', '.join(sorted(FORMATS))}.", field="format")
    found: type[Format] = import_string(FORMATS[name])
    return found
