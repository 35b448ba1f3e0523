"""PURE. Standing rules as a block for the files that agents read at the start: CLAUDE.md, AGENTS.md, Cursor rules.

The block stands between two marks, so that the next download can take its place. What a rule says is data: nothing in
it ends the block, begins a comment, a code fence or front matter, or has another file read in.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from zeromemory.lib.unseen import with_marks

MARK: Final = "zero-memory:rules"
BEGIN: Final = f"<!-- {MARK}:begin -->"
END: Final = f"<!-- {MARK}:end -->"
_HEAD: Final = (
    BEGIN,
    "<!-- Written by Zero Memory. What stands between these marks is replaced by the next download. -->",
    "## Standing rules",
    "",
)
_FRONT_MATTER: Final = ("---", "description: Standing rules from Zero Memory", "alwaysApply: true", "---", "")


@dataclass(frozen=True, slots=True)
class Format:
    file: str
    before: tuple[str, ...] = ()


FORMATS: Final = {
    "claude": Format("CLAUDE.md"),
    "agents": Format("AGENTS.md"),
    "cursor": Format("zero-memory.mdc", _FRONT_MATTER),
}

# Each with a backslash before it is a mere character in Markdown.
_INERT: Final = (
    (re.compile(r"<(?=[A-Za-z/!?])"), r"\\<"),  # a tag or a comment
    (re.compile(r"(?<=<)!(?=--)"), r"\\!"),
    (re.compile(r"--(?=>)"), r"--\\"),
    (re.compile(rf"{MARK}(?=:)", re.IGNORECASE), lambda found: found[0].replace(":", r"\:") + "\\"),
    (re.compile(r"(?<!\w)@(?=\S)"), r"\\@"),  # Claude reads @path as the file of that name
)
_OPENS_A_BLOCK: Final = re.compile(r"^((?:\s|[-*+>]\s|\d+[.)]\s)*)(?=```|~~~|[-=]+\s*$|---|\*\*\*|___|#)")


def block(texts: Iterable[str], format: str) -> str:
    """The file of one of FORMATS, or what replaces the block in one that has more."""
    items = [line for text in texts for line in _item(text)]
    lines = [*FORMATS[format].before, *_HEAD, *(items or ["No standing rules."]), END]
    return "\n".join(lines) + "\n"


def _item(text: str) -> list[str]:
    """A list item; every further line belongs to it by its indentation."""
    first, *rest = [_inert(line) for line in text.splitlines()] or [""]
    return [f"- {first.strip()}", *(f"  {line}".rstrip() for line in rest)]


def _inert(line: str) -> str:
    line = with_marks(line)
    for pattern, replacement in _INERT:
        line = pattern.sub(replacement, line)
    return _OPENS_A_BLOCK.sub(r"\1\\", line)
