"""The page of the formats says what each of them does."""

import re

import pytest

from memories.transfer import basic_memory, claude_mem, mcp_memory_service, mem0
from memories.transfer.registry import FORMATS, format_called
from zeromemory.lib.folders import PROJECT

PAGE = (PROJECT / "docs" / "reference" / "formats.md").read_text(encoding="utf-8")


def section(name: str) -> str:
    return re.split(r"\n#{2,3} ", PAGE.partition(f"# `{name}`\n")[2])[0]


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_every_format_has_its_line_and_its_section(name):
    format = format_called(name)
    ways = " | ".join("yes" if is_so else "no" for is_so in (format.reads, format.writes))
    assert f"| `{name}` | {ways} |" in PAGE
    assert section(name).strip()


@pytest.mark.parametrize(
    "module", [basic_memory, claude_mem, mcp_memory_service, mem0], ids=lambda module: module.__name__
)
def test_every_word_for_a_kind_is_in_its_table(module):
    name = module.__name__.rpartition(".")[2].replace("_", "-")
    told = {
        word: kind
        for kind, words in re.findall(r"^\| `([a-z-]+)` \| ([a-z, -]+) \|$", section(name), re.M)
        for word in words.split(", ")
    }
    assert told == {word: str(kind) for word, kind in module.KINDS.items()}
