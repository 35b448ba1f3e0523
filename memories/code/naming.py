"""What a definition calls itself, read from its syntax node."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

from ast_grep_py import SgNode

_NAMES: Final = frozenset(
    {
        "identifier",
        "simple_identifier",
        "type_identifier",
        "field_identifier",
        "property_identifier",
        "constant",
        "name",
    }
)
_DECLARED: Final = _NAMES | {"qualified_identifier", "destructor_name", "operator_name", "operator_cast"}
_SEPARATORS: Final = re.compile(r"::|\\|:|->")
_ARGUMENTS: Final = re.compile(r"<[^<>]*>|\[[^\[\]]*\]")
_DEFINES: Final = {"def", "defp", "defmacro", "defmacrop", "defguard", "defguardp", "defdelegate"}
_MODULES: Final = {"defmodule", "defprotocol", "defimpl"}


def plain(text: str) -> str:
    """A name without type arguments and sigils, its parts joined by dots: ``Box<T>::open`` is ``Box.open``."""
    while (shorter := _ARGUMENTS.sub("", text)) != text:
        text = shorter
    return ".".join(part.strip(" $*&") for part in _SEPARATORS.sub(".", text).split(".") if part.strip(" $*&"))


def names_of(node: SgNode, rule: str) -> list[str]:
    """Empty where the node defines nothing that could be called by name."""
    return [name for found in RULES[rule](node) if (name := plain(found))]


def _texts(nodes: Iterable[SgNode | None]) -> list[str]:
    return [node.text() for node in nodes if node is not None]


def _field(name: str) -> Callable[[SgNode], list[str]]:
    return lambda node: _texts([node.field(name)])


def _fields(name: str) -> Callable[[SgNode], list[str]]:
    return lambda node: _texts(node.field_children(name))


def _first(node: SgNode) -> list[str]:
    return _texts([next((child for child in node.children() if child.kind() in _NAMES), None)])


def _children(node: SgNode, kind: str) -> list[SgNode]:
    return [child for child in node.children() if child.kind() == kind]


def _targets(node: SgNode) -> list[str]:
    left = node.field("left")
    if left is None:
        return []
    if left.kind() in {"identifier", "attribute"}:
        return [left.text()]
    if left.kind() in {"pattern_list", "tuple_pattern"}:
        return _texts(_children(left, "identifier"))
    return []


def _member(node: SgNode) -> list[str]:
    """``exports.parse = …`` and ``Parser.prototype.next = …`` as statements of their own."""
    left, parent = node.field("left"), node.parent()
    is_statement = parent is not None and parent.kind() == "expression_statement"
    if left is None or not is_statement or left.kind() != "member_expression" or "[" in left.text():
        return []
    return [left.text().replace(".prototype.", ".")]


def _receiver(node: SgNode) -> list[str]:
    """A Go method by the type of its receiver: ``(l *List[T]) Len`` is ``List.Len``."""
    receiver, name = node.field("receiver"), node.field("name")
    if receiver is None or name is None:
        return []
    of = plain(receiver.text().strip("() ")).split()
    return [f"{of[-1].lstrip('*')}.{name.text()}" if of else name.text()]


def _declarators(node: SgNode) -> list[str]:
    return [name for declarator in node.field_children("declarator") if (name := _declared(declarator))]


def _declared(node: SgNode) -> str:
    """The name inside nested pointers, arrays and parameter lists."""
    found: SgNode | None = node
    while found is not None and found.kind() not in _DECLARED:
        named = found.field("declarator") or found.field("name")
        found = named or next((child for child in found.children() if child.is_named()), None)
    return "" if found is None else found.text().replace(" ", "")


def _with_body(node: SgNode) -> list[str]:
    return _field("name")(node) if node.field("body") else []


def _variable(node: SgNode) -> list[str]:
    return [name for child in _children(node, "variable_declaration") for name in _first(child)]


def _variables(node: SgNode) -> list[str]:
    declarations = _children(node, "variable_declaration")
    return [name for each in declarations for one in _children(each, "variable_declarator") for name in _first(one)]


def _elements(node: SgNode) -> list[str]:
    found = _children(node, "const_element") + _children(node, "property_element")
    return _texts(next(iter(element.children()), None) for element in found)


def _constant(node: SgNode) -> list[str]:
    left = node.field("left")
    return _texts([left]) if left is not None and left.kind() in {"constant", "scope_resolution"} else []


def _left(node: SgNode) -> list[str]:
    left = node.field("left")
    return _texts([left]) if left is not None and left.kind() == "variable_name" else []


def _assigned(node: SgNode) -> list[str]:
    return [
        target.text() for names in _children(node, "variable_list") for target in names.children() if target.is_named()
    ]


def _defined(node: SgNode) -> list[str]:
    """Elixir, where a definition is a call: ``def name(arguments)``, ``defmodule Name``."""
    target, arguments = node.field("target"), _children(node, "arguments")
    defines = target.text() if target is not None else ""
    first = next((child for child in arguments[0].children() if child.is_named()), None) if arguments else None
    if first is None:
        return []
    if defines in _MODULES:
        return [first.text()]
    return [_head(first)] if defines in _DEFINES else []


def _head(node: SgNode) -> str:
    if node.kind() == "binary_operator":  # def name(…) when …
        left = node.field("left")
        return _head(left) if left is not None else ""
    target = node.field("target") if node.kind() == "call" else node
    return target.text() if target is not None else ""


RULES: Final[dict[str, Callable[[SgNode], list[str]]]] = {
    "name": _field("name"),
    "names": _fields("name"),
    "type": _field("type"),
    "property": _field("property"),
    "alias": _field("left"),
    "pattern": _field("pattern"),
    "first": _first,
    "targets": _targets,
    "member": _member,
    "receiver": _receiver,
    "declarators": _declarators,
    "body": _with_body,
    "variable": _variable,
    "variables": _variables,
    "elements": _elements,
    "constant": _constant,
    "left": _left,
    "assigned": _assigned,
    "defined": _defined,
    "constructor": lambda node: ["constructor"],
}
