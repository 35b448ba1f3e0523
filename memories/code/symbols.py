"""What a source text defines, by qualified name, and the fingerprints of it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from ast_grep_py import SgNode, SgRoot

from memories.code.grammars import GRAMMARS, TEXT, Grammar
from memories.code.naming import names_of, plain
from memories.code.tokens import Token, Unparsed, tokens_of

VERSION: Final = "v1"
_WHITE: Final = re.compile(r"\s+")
_MASK: Final = ("=", "\0")


@dataclass(frozen=True, slots=True)
class Fingerprints:
    """``exact`` is ``v1:<language>:<SHA-256>``; ``masked`` the same with the symbol's own name left out.

    Where the parser did not understand the text, the language is ``text``, the text is compared with its white space
    squeezed, and there is no masked one.
    """

    exact: str
    masked: str = ""

    @property
    def is_weak(self) -> bool:
        return self.exact.startswith(f"{VERSION}:{TEXT}:")


@dataclass(frozen=True, slots=True)
class Symbol:
    """All definitions of one qualified name, in their order: overloads and clauses are one symbol.

    ``line`` is that of the first, from 1; ``text`` joins them with an empty line.
    """

    name: str
    line: int
    text: str
    fingerprints: Fingerprints

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class _Definition:
    name: str
    nodes: tuple[SgNode, ...]  # with what stands before it and belongs to it


def normalised(text: str) -> str:
    """Without a byte order mark, with line feeds at its ends."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


class Source:
    """One file as it was read. The nodes of the parser live only as long as this, and in one thread."""

    def __init__(self, text: str, language: str) -> None:
        self.text = normalised(text)
        self.language = language
        self.grammar: Grammar | None = GRAMMARS.get(language)

    @cached_property
    def whole(self) -> Symbol:
        """The file itself, for an anchor that names no symbol."""
        nodes = () if self.grammar is None else (self._root,)
        return Symbol("", 1, self.text, self._fingerprints("", nodes, self.text))

    def names(self) -> list[str]:
        """The qualified names that it defines, in their order."""
        return list(self._definitions)

    def called(self, name: str) -> list[str]:
        """The qualified names that *name* may mean: itself, otherwise all that end in it."""
        wanted = plain(name)
        if wanted in self._definitions:
            return [wanted]
        return [each for each in self._definitions if wanted and each.endswith(f".{wanted}")]

    def symbol(self, qualified: str) -> Symbol | None:
        definitions = self._definitions.get(qualified)
        if definitions is None:
            return None
        nodes = [node for definition in definitions for node in definition.nodes]
        text = "\n\n".join(self._text_of(definition) for definition in definitions)
        line = nodes[0].range().start.line + 1
        return Symbol(qualified, line, text, self._fingerprints(qualified, nodes, text))

    @cached_property
    def has_errors(self) -> bool:
        return self.grammar is not None and (self._root.find(kind="ERROR") is not None or _lacks_a_token(self._root))

    @cached_property
    def _root(self) -> SgNode:
        return SgRoot(self.text, self.language).root()

    @cached_property
    def _definitions(self) -> dict[str, list[_Definition]]:
        found: dict[str, list[_Definition]] = {}
        if self.grammar is not None:
            for definition in _definitions(self._root, self.grammar):
                found.setdefault(definition.name, []).append(definition)
        return found

    def _text_of(self, definition: _Definition) -> str:
        first, last = definition.nodes[0].range(), definition.nodes[-1].range()
        margin = self.text.rfind("\n", 0, first.start.index) + 1
        before = self.text[margin : first.start.index]
        return (before if before.isspace() else "") + self.text[first.start.index : last.end.index]

    def _fingerprints(self, qualified: str, nodes: Iterable[SgNode], text: str) -> Fingerprints:
        try:
            tokens = [token for node in nodes for token in tokens_of(node, self.language, self.grammar or _NONE)]
        except Unparsed:
            tokens = []
        if not tokens:
            return Fingerprints(_stamp(TEXT, [("=", _WHITE.sub(" ", text).strip())]))
        own = qualified.rpartition(".")[2]
        masked = (_MASK if token == ("n", own) else token for token in tokens)
        return Fingerprints(_stamp(self.language, tokens), _stamp(self.language, masked) if own else "")


_NONE: Final = Grammar(endings=(), named={})


def _stamp(language: str, tokens: Iterable[Token]) -> str:
    digest = hashlib.sha256()
    for kind, text in tokens:
        token = text.encode("utf-8", "surrogatepass")
        digest.update(f"{'=' if kind == 'n' else kind}{len(token)}:".encode() + token)
    return f"{VERSION}:{language}:{digest.hexdigest()}"


def _definitions(root: SgNode, grammar: Grammar) -> Iterator[_Definition]:
    for node in root.find_all({"rule": {"any": [{"kind": kind} for kind in grammar.named]}}):
        names = names_of(node, grammar.named[node.kind()])
        if not names:
            continue
        ancestors = list(node.ancestors())
        if node.kind() in grammar.constants and any(each.kind() in grammar.functions for each in ancestors):
            continue
        if node.kind() in grammar.constants:  # a = b = 1 defines b, not a.b
            ancestors = [each for each in ancestors if each.kind() not in grammar.constants]
        prefix = ".".join(_qualifiers(ancestors, grammar))
        nodes = _extent(node, grammar)
        for name in names:
            yield _Definition(f"{prefix}.{name}" if prefix else name, nodes)


def _qualifiers(ancestors: list[SgNode], grammar: Grammar) -> Iterator[str]:
    for ancestor in reversed(ancestors):
        rule = grammar.named.get(ancestor.kind()) or grammar.scopes.get(ancestor.kind())
        if rule and (names := names_of(ancestor, rule)):
            yield names[0]


def _extent(node: SgNode, grammar: Grammar) -> tuple[SgNode, ...]:
    """The definition with all that belongs to it: its decorators, its ``export``, the ``const`` that declares it."""
    while (parent := node.parent()) is not None and parent.kind() in grammar.wrappers and _holds_one(parent, node):
        node = parent
    before = []
    for sibling in node.prev_all():
        if sibling.kind() in grammar.prefixes:
            before.append(sibling)
        elif "comment" not in sibling.kind():
            break
    return (*reversed(before), node)


def _holds_one(wrapper: SgNode, definition: SgNode) -> bool:
    alike = [child for child in wrapper.children() if child.kind() == definition.kind()]
    return len(alike) == 1 or _counts_up(wrapper)


def _counts_up(declaration: SgNode) -> bool:
    """Go's constants may repeat the expression before them and count with iota: then the group is what they say."""
    specs = [child for child in declaration.children() if child.kind() == "const_spec"]
    return bool(specs) and any(spec.field("value") is None or "iota" in spec.text() for spec in specs)


def _lacks_a_token(root: SgNode) -> bool:
    """Whether the parser put in what is not in the text, such as the parenthesis of ``def f(:``. It stands in the tree
    as a mark of no length."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.is_leaf() and not node.is_named() and not node.text():
            return True
        waiting.extend(node.children())
    return False
