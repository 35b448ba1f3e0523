"""PURE. A Markdown text in its blocks, with the lines they stand in."""

from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import dedent
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

# Nothing within a block is asked for, and links that do not end take the parser quadratic time.
_PARSER: Final = MarkdownIt("commonmark", {"maxNesting": 30}).enable("table").disable("inline")
_ENDS: Final = frozenset({"fence", "code_block", "html_block", "hr"})


@dataclass(frozen=True, slots=True)
class Block:
    """``type`` is as the parser names it: heading, paragraph, list_item, fence and so on. ``text`` is as written."""

    type: str
    text: str
    start: int  # the line it begins in, from 0
    stop: int  # the line after it
    level: int = 0  # of a heading, 1 to 6


def blocks_of(text: str) -> list[Block]:
    """The outermost blocks, those within a bullet list as items of their own."""
    lines = text.split("\n")
    return list(_blocks(_PARSER.parse(text), lines))


def _blocks(tokens: list[Token], lines: list[str]) -> Iterator[Block]:
    in_list = False
    for token in tokens:
        if token.level == 0 and token.type in ("bullet_list_open", "bullet_list_close"):
            in_list = token.nesting == 1
        is_item = in_list and token.level == 1 and token.type == "list_item_open"
        is_block = token.level == 0 and (token.nesting == 1 or token.type in _ENDS) and not in_list
        if (is_item or is_block) and token.map:
            yield _block(token, lines)


def items_of(text: str) -> list[Block]:
    """Every item of every list, also of those within others."""
    lines = text.split("\n")
    return [_block(token, lines) for token in _PARSER.parse(text) if token.type == "list_item_open" and token.map]


def _block(token: Token, lines: list[str]) -> Block:
    assert token.map  # of a block there always is one
    start, stop = token.map
    while stop > start + 1 and not lines[stop - 1].strip():
        stop -= 1
    raw = "\n".join(lines[start:stop])
    type = token.type.removesuffix("_open")
    level = int(token.tag[1:]) if type == "heading" else 0
    return Block(type, _without_mark(raw, token) if type == "list_item" else raw.strip("\n"), start, stop, level)


def _without_mark(raw: str, token: Token) -> str:
    """An item without its bullet, and its further lines as far to the left."""
    first, _, rest = raw.partition("\n")
    text = first.strip().removeprefix(token.markup if not token.info else token.info + token.markup).strip()
    return f"{text}\n{dedent(rest)}".strip()


def title_in(heading: Block) -> str:
    """The words of a heading, without its marks."""
    return heading.text.split("\n")[0].strip().strip("#").strip().strip("*_`").strip()
