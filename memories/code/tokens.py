"""The stream of tokens that a fingerprint hashes: what the code says, free of how it is laid out.

Kept are keywords, operators, literals and identifiers, and the structure as the kinds of the nodes that hold them.
Dropped are comments, white space, documentation, and commas before a closing bracket.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

from ast_grep_py import SgNode

from memories.code.grammars import Grammar

type Token = tuple[str, str]
"""``<`` opens a node of this kind, ``>`` closes it, ``=`` is a leaf, ``n`` a leaf that may be a name."""

_CLOSING: Final = frozenset(")]}>") | {"|}", "|]"}
_COMMA_COUNTS: Final = frozenset({"subscript", "token_tree", "token_tree_pattern", "macro_invocation"})
_NO_NAMES: Final = ("string", "content", "fragment", "comment", "text", "literal")
_DOCUMENTED: Final = frozenset({"function_definition", "class_definition", "module"})
_ELIXIR_DOCS: Final = frozenset({"doc", "moduledoc", "typedoc", "shortdoc"})
_SAME_KIND: Final = {"expression_list": "tuple", "pattern_list": "tuple_pattern"}
_BARE: Final = frozenset({"tuple", "tuple_pattern", "with_clause", "import_from_statement"})
_LITERALS: Final = frozenset({"integer", "float"})
_LAYOUT: Final = frozenset({"line_continuation", "hash_bang_line"})
_WHITE: Final = re.compile(r"\s+")


class Unparsed(Exception):
    """The parser did not understand the text here."""


def tokens_of(node: SgNode, language: str, grammar: Grammar) -> Iterator[Token]:
    """Raises Unparsed when there is a syntax error inside."""
    return _Stream(language, grammar).tokens(node)


_VISIT, _CLOSE, _SKIP = range(3)
DEEPEST: Final = 1000  # nodes inside one another


class _Stream:
    """Walks without recursion, because source may be nested deeper than Python's stack."""

    def __init__(self, language: str, grammar: Grammar) -> None:
        self.language = language
        self.grammar = grammar
        self.is_python = language == "python"

    def tokens(self, root: SgNode) -> Iterator[Token]:
        text, base = root.text(), root.range().start.index
        read, depth, stack = base, 0, [(root, _VISIT)]
        while stack:
            node, step = stack.pop()
            kind = self._kind(node)
            if step == _CLOSE:
                yield ">", kind
                depth -= 1
                continue
            leaf = [] if step == _SKIP else self._leaf(node, kind)
            if leaf is not None:
                reach = node.range()
                if gap := text[read - base : reach.start.index - base].strip():
                    yield "=", gap  # what the grammar gives no node of its own, such as quotation marks
                read = reach.end.index
                yield from leaf
                continue
            if kind not in self.grammar.transparent:
                yield "<", kind
                stack.append((node, _CLOSE))
                depth += 1
                if depth > DEEPEST:
                    raise Unparsed  # to find its way in a deep tree takes the parser longer with each level
            children = node.children()
            stack += [
                (child, _SKIP if self._says_nothing(kind, place, children) else _VISIT)
                for place, child in reversed(list(enumerate(children)))
            ]

    def _kind(self, node: SgNode) -> str:
        kind = node.kind()
        return _SAME_KIND.get(kind, kind) if self.is_python else kind

    def _leaf(self, node: SgNode, kind: str) -> list[Token] | None:
        """What counts as one token, which may be none; None where the parts of the node count."""
        if kind == "ERROR":
            raise Unparsed
        if "comment" in kind or kind in _LAYOUT:
            return []
        if self.is_python and kind in {"string", "concatenated_string"}:
            return _string(node)
        if not node.is_leaf():
            return None
        if not node.is_named():
            return self._mark(node.text())
        return [self._word(node.text(), kind)]

    def _mark(self, text: str) -> list[Token]:
        if not text:
            raise Unparsed  # the parser put in what is missing
        return [("=", text)] if text.strip() else []

    def _word(self, text: str, kind: str) -> Token:
        if kind == "jsx_text":
            return "=", _WHITE.sub(" ", text).strip()
        if self.is_python and kind in _LITERALS:
            return "=", _evaluated(text)
        return "=" if any(part in kind for part in _NO_NAMES) else "n", text.rstrip()

    def _says_nothing(self, kind: str, place: int, children: list[SgNode]) -> bool:
        child = children[place]
        if child.is_named():
            return self._is_documentation(kind, place, children)
        mark = child.kind()
        if mark == "," and kind not in _COMMA_COUNTS:
            return _closes(children, place)
        if mark in self.grammar.insignificant:
            return not kind.endswith("for_statement")
        return self.is_python and mark in {"(", ")"} and (kind in _BARE or kind in self.grammar.transparent)

    def _is_documentation(self, kind: str, place: int, children: list[SgNode]) -> bool:
        child = children[place]
        if self.language == "elixir":
            return child.kind() == "unary_operator" and _elixir_attribute(child) in _ELIXIR_DOCS
        if not self.is_python:
            return False
        if kind == "class_definition" and child.kind() == "argument_list":
            return not child.text().strip("() \n")  # class A() is class A
        return _is_docstring(kind, place, children)


def _closes(children: list[SgNode], place: int) -> bool:
    """Whether the comma at *place* only stands before a closing bracket, and separates nothing."""
    after = _beside(children, place, 1)
    if after is None or after.kind() not in _CLOSING:
        return False
    before = _beside(children, place, -1)
    return before is not None and before.is_named()


def _beside(children: list[SgNode], place: int, step: int) -> SgNode | None:
    """The next one in that direction that is no comment."""
    place += step
    while 0 <= place < len(children) and "comment" in children[place].kind():
        place += step
    return children[place] if 0 <= place < len(children) else None


def _is_docstring(kind: str, place: int, children: list[SgNode]) -> bool:
    statement = children[place]
    if kind not in {"block", "module"} or statement.kind() != "expression_statement":
        return False
    if any(earlier.is_named() and earlier.kind() != "comment" for earlier in children[:place]):
        return False
    if kind == "block" and _owner(statement) not in _DOCUMENTED:
        return False
    said = statement.children()
    return len(said) == 1 and said[0].kind() in {"string", "concatenated_string"} and isinstance(_value(said[0]), str)


def _owner(statement: SgNode) -> str:
    """What the block of the statement belongs to."""
    ancestors = list(statement.ancestors())[:2]
    return ancestors[-1].kind() if len(ancestors) == 2 else ""


def _value(node: SgNode) -> object:
    try:
        return ast.literal_eval(f"({node.text()}\n)")  # parts may stand on lines of their own
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


def _string(node: SgNode) -> list[Token] | None:
    """A plain string by its value: which quotation marks and escapes it is written with says nothing."""
    value = _value(node)
    return None if value is None else [("=", repr(value))]


def _evaluated(number: str) -> str:
    try:
        return repr(ast.literal_eval(number))
    except (ValueError, SyntaxError):
        return number


def _elixir_attribute(node: SgNode) -> str:
    call = next((child for child in node.children() if child.kind() == "call"), None)
    target = call.field("target") if call is not None else None
    return target.text() if target is not None else ""
