"""The files in which people instruct their agents: AGENTS.md, CLAUDE.md, and the rules of Cursor and others."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Final

from memories.models import Kind
from memories.transfer import front_matter
from memories.transfer.beginnings import INSTRUCTING
from memories.transfer.foreign import Foreign, digest, external_id, origin
from memories.transfer.markdown_blocks import Block, blocks_of, title_in
from memories.transfer.records import MemoryRecord
from memories.transfer.sources import LARGEST_NOTE, File, files_in

FILES: Final = frozenset(
    {"AGENTS.md", "AGENTS.override.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md", ".cursorrules", ".windsurfrules"}
)
FOLDERS: Final = (".cursor/rules/", ".claude/rules/", ".windsurf/rules/", ".github/instructions/")
_KINDS: Final = (
    (re.compile(r"gotcha|pitfall|caveat|known issue|known problem|troubleshoot|warning", re.I), Kind.GOTCHA),
    (re.compile(r"\bdecisions?\b", re.I), Kind.DECISION),
    (re.compile(r"\bpreferences?\b", re.I), Kind.PREFERENCE),
    (re.compile(r"\bto-?dos?\b|\bopen tasks?\b|\bnext steps?\b", re.I), Kind.TASK),
    (re.compile(r"\bopen questions?\b", re.I), Kind.OPEN_QUESTION),
)
_FIELD: Final = re.compile(r"(?P<name>[A-Za-z]+):\s*(?P<value>.*)")
_ITEM: Final = re.compile(r"\s*-\s+(?P<value>.+)")
_ELSEWHERE: Final = re.compile(r"@\S+")
_FOLLOWS: Final = ("fence", "code_block", "table", "blockquote", "ordered_list")


@dataclass(slots=True)
class Statement:
    headings: tuple[str, ...]
    text: str


class AgentsMd(Foreign):
    name = "agents-md"
    label = "AGENTS.md, CLAUDE.md and rules of editors"
    suffix = ".md"
    suffixes = (".md", ".mdc", ".zip")
    media_type = "text/markdown"
    takes_folder = True
    mark = re.compile(
        r"^# (?:AGENTS|CLAUDE|GEMINI)(?:\.md)?\s*$|provides guidance to (?:Claude Code|AI|coding|agents)"
        rf"|{front_matter.WITHIN}(?:globs|alwaysApply|applyTo):",
        re.M,
    )

    @classmethod
    def is_named(cls, path: str) -> bool:
        return is_instruction(path)

    def read(self, source: Any) -> Iterator[MemoryRecord]:
        for file in files_in(source, is_instruction, self.skipped, hidden=INSTRUCTING, largest=LARGEST_NOTE):
            header, body = front_matter.split(file.text.replace("\r\n", "\n"))
            said = _said(header or "")
            for statement in _Statements(body).all():
                if record := self._record(file, said, statement):
                    yield record

    def _record(self, file: File, said: dict[str, list[str]], statement: Statement) -> MemoryRecord | None:
        if _ELSEWHERE.fullmatch(statement.text.strip()):
            self.skipped["references to other files"] += 1
            return None
        headings = [*said.get("description", []), *statement.headings]
        content = statement.text + (f"\n\nUnder: {' › '.join(headings)}" if headings else "")
        # By what it says and not by its place: copies of it in other files and folders are the same statement.
        native = digest(content)
        if not self.is_first(native):
            return None
        path = file.name or "instructions"
        globs = [glob for name in ("globs", "paths", "applyTo") for glob in said.get(name, [])]
        return MemoryRecord(
            content=content,
            kind=_kind(statement),
            external_id=external_id("agents-md", native),
            source=self.line(origin("agents-md", path, globs=" ".join(globs)), "source"),
            entities=self.entities([(path, "file")] + [(glob, "path") for glob in globs]),
            line=file.place,
        )


def is_instruction(name: str) -> bool:
    path = PurePosixPath(name)
    in_folder = any(f"/{name}".rpartition(f"/{folder}")[1] for folder in FOLDERS)
    return (
        path.name in FILES
        or path.suffix == ".mdc"
        or (path.suffix == ".md" and in_folder)
        or f"/{name}".endswith("/.github/copilot-instructions.md")
    )


def _said(header: str) -> dict[str, list[str]]:
    """Line by line: a pattern such as ``**/*.ts`` stands there without the quotes that YAML wants."""
    found: dict[str, list[str]] = {}
    name = ""
    for line in header.split("\n"):
        if field := _FIELD.fullmatch(line):
            name = field["name"]
            found[name] = _values(field["value"], is_list=name != "description")
        elif (item := _ITEM.fullmatch(line)) and name:
            found[name] += _values(item["value"], is_list=False)
    return found


def _values(text: str, *, is_list: bool) -> list[str]:
    text = text.strip()
    if is_list and text.startswith("[") and text.endswith("]"):
        text = text[1:-1]
    parts = text.split(",") if is_list and "{" not in text else [text]
    return [value for part in parts if (value := part.strip().strip("\"'").strip())]


def _kind(statement: Statement) -> Kind:
    nearest = " ".join(statement.headings[-2:])
    return next((kind for pattern, kind in _KINDS if pattern.search(nearest)), Kind.CONVENTION)


@dataclass(slots=True)
class _Statements:
    """A paragraph or an item of a list each, with the code that follows it; a numbered list stays together."""

    body: str
    headings: list[tuple[int, str]] = field(default_factory=list)
    done: list[Statement] = field(default_factory=list)
    open: Statement | None = None
    lead: str = ""  # the sentence with a colon that a list stands below

    def all(self) -> list[Statement]:
        for block in blocks_of(self.body):
            self._take(block)
        self._close()
        return [statement for statement in self.done if statement.text.strip()]

    def _take(self, block: Block) -> None:
        if block.type == "heading":
            self._close()
            self.headings = [heading for heading in self.headings if heading[0] < block.level]
            self.headings.append((block.level, title_in(block)))
        elif block.type == "list_item":
            self._take_item(block)
        elif block.type in _FOLLOWS and self.open:
            self.open.text += f"\n\n{block.text}"
            self.lead = ""
        elif block.type == "hr" or block.text.lstrip().startswith("<!--"):
            self._close()
        else:
            self._close()
            self.open = self._statement(block.text)
            self.lead = block.text if block.text.rstrip().rstrip("*_").endswith(":") else ""

    def _take_item(self, block: Block) -> None:
        lead = self.lead
        if lead and self.open and self.open.text == lead:
            self.open = None  # it goes with each item
        self._close()
        self.lead = lead
        self.open = self._statement(f"{lead}\n- {block.text}" if lead else block.text)

    def _statement(self, text: str) -> Statement:
        titles = [title for _, title in self.headings if not title.endswith(".md")]
        return Statement(tuple(titles), text)

    def _close(self) -> None:
        if self.open:
            self.done.append(self.open)
        self.open, self.lead = None, ""
