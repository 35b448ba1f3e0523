"""The languages that are read by a parser: by which endings, and where each keeps its definitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Final

TEXT: Final = "text"  # every other language: compared by its text, white space squeezed


@dataclass(frozen=True, slots=True)
class Grammar:
    """All names are node kinds of the language's tree-sitter grammar.

    *named*: definitions by the rule that finds their names (``memories.code.naming``). *constants* are those of them
    that count only outside of *functions*. *scopes* qualify what stands in them and are no symbols themselves.
    *wrappers* belong to the one definition that they hold, *prefixes* to the sibling after them. *insignificant* are
    anonymous tokens that say nothing once the structure is marked; *transparent* nodes mark none.
    """

    endings: tuple[str, ...]
    named: Mapping[str, str]
    constants: frozenset[str] = frozenset()
    functions: frozenset[str] = frozenset()
    scopes: Mapping[str, str] = field(default_factory=dict)
    wrappers: frozenset[str] = frozenset()
    prefixes: frozenset[str] = frozenset()
    insignificant: frozenset[str] = frozenset()
    transparent: frozenset[str] = frozenset()
    enclosing: str = ""  # how a class is written around a method, for a text that stands alone


def _all(rule: str, kinds: str) -> dict[str, str]:
    return dict.fromkeys(kinds.split(), rule)


def _set(kinds: str) -> frozenset[str]:
    return frozenset(kinds.split())


_SCRIPT: Final = Grammar(
    endings=(".js", ".mjs", ".cjs", ".jsx"),
    named=_all(
        "name",
        "function_declaration generator_function_declaration class_declaration method_definition variable_declarator",
    )
    | {"field_definition": "property", "assignment_expression": "member"},
    constants=_set("variable_declarator assignment_expression"),
    functions=_set(
        "function_declaration generator_function_declaration generator_function function_expression arrow_function"
        " method_definition class_static_block"
    ),
    wrappers=_set("export_statement lexical_declaration variable_declaration expression_statement"),
    prefixes=_set("decorator"),
    insignificant=_set(";"),
    enclosing="class {name} {{\n{text}\n}}",
)

_TYPED: Final = replace(
    _SCRIPT,
    endings=(".ts", ".mts", ".cts"),
    named={kind: rule for kind, rule in _SCRIPT.named.items() if kind != "field_definition"}
    | _all(
        "name",
        "abstract_class_declaration public_field_definition interface_declaration type_alias_declaration"
        " enum_declaration internal_module module function_signature method_signature abstract_method_signature",
    ),
    wrappers=_SCRIPT.wrappers | {"ambient_declaration"},
    enclosing="abstract class {name} {{\n{text}\n}}",
)

_C: Final = Grammar(
    endings=(".c",),
    named=_all("declarators", "function_definition declaration type_definition")
    | _all("body", "struct_specifier union_specifier enum_specifier")
    | _all("name", "preproc_def preproc_function_def"),
    constants=_set("declaration"),
    functions=_set("function_definition"),
)

GRAMMARS: Final[dict[str, Grammar]] = {
    "python": Grammar(
        endings=(".py", ".pyi", ".pyw"),
        named=_all("name", "function_definition class_definition")
        | _all("targets", "assignment augmented_assignment")
        | {"type_alias_statement": "alias"},
        constants=_set("assignment augmented_assignment type_alias_statement"),
        functions=_set("function_definition lambda"),
        wrappers=_set("decorated_definition expression_statement"),
        insignificant=_set(";"),
        transparent=_set("parenthesized_expression"),
        enclosing="class {name}:\n{indented}",
    ),
    "javascript": _SCRIPT,
    "typescript": _TYPED,
    "tsx": replace(_TYPED, endings=(".tsx",)),
    "go": Grammar(
        endings=(".go",),
        named=_all("name", "function_declaration type_spec type_alias")
        | _all("names", "const_spec var_spec")
        | {"method_declaration": "receiver"},
        constants=_set("type_spec type_alias const_spec var_spec"),
        functions=_set("function_declaration method_declaration func_literal"),
        wrappers=_set("type_declaration const_declaration var_declaration var_spec_list"),
        insignificant=_set(";"),
    ),
    "rust": Grammar(
        endings=(".rs",),
        named=_all(
            "name",
            "function_item function_signature_item struct_item enum_item union_item trait_item mod_item const_item"
            " static_item type_item associated_type macro_definition",
        ),
        scopes={"impl_item": "type"},
        prefixes=_set("attribute_item"),
        enclosing="impl {name} {{\n{text}\n}}",
    ),
    "java": Grammar(
        endings=(".java",),
        named=_all(
            "name",
            "class_declaration interface_declaration enum_declaration record_declaration annotation_type_declaration"
            " method_declaration constructor_declaration compact_constructor_declaration",
        )
        | _all("declarators", "field_declaration constant_declaration"),
        enclosing="class {name} {{\n{text}\n}}",
    ),
    "kotlin": Grammar(
        endings=(".kt", ".kts"),
        named=_all("first", "class_declaration object_declaration function_declaration type_alias")
        | {"property_declaration": "variable", "secondary_constructor": "constructor"},
        constants=_set("property_declaration"),
        functions=_set("function_declaration lambda_literal anonymous_initializer getter setter secondary_constructor"),
        insignificant=_set(";"),
        enclosing="class {name} {{\n{text}\n}}",
    ),
    "swift": Grammar(
        endings=(".swift",),
        named=_all(
            "name",
            "class_declaration protocol_declaration function_declaration protocol_function_declaration"
            " property_declaration typealias_declaration init_declaration",
        ),
        constants=_set("property_declaration"),
        functions=_set("function_declaration init_declaration lambda_literal computed_property"),
        insignificant=_set(";"),
        enclosing="class {name} {{\n{text}\n}}",
    ),
    "c": _C,
    "cpp": Grammar(
        endings=(".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx"),
        named=dict(_C.named)
        | _all("declarators", "field_declaration")
        | _all("body", "class_specifier")
        | _all("name", "alias_declaration concept_definition"),
        constants=_C.constants | _set("field_declaration"),
        functions=_C.functions | _set("lambda_expression"),
        scopes={"namespace_definition": "name"},
        wrappers=_set("template_declaration"),
        enclosing="class {name} {{\n{text}\n}};",
    ),
    "csharp": Grammar(
        endings=(".cs",),
        named=_all(
            "name",
            "class_declaration struct_declaration interface_declaration enum_declaration record_declaration"
            " delegate_declaration method_declaration constructor_declaration property_declaration"
            " event_declaration",
        )
        | _all("variables", "field_declaration event_field_declaration"),
        scopes={"namespace_declaration": "name"},
        enclosing="class {name} {{\n{text}\n}}",
    ),
    "ruby": Grammar(
        endings=(".rb", ".rake", ".gemspec"),
        named=_all("name", "module class method singleton_method") | {"assignment": "constant"},
        constants=_set("assignment"),
        functions=_set("method singleton_method do_block block"),
        insignificant=_set(";"),
    ),
    "php": Grammar(
        endings=(".php",),
        named=_all(
            "name",
            "function_definition class_declaration interface_declaration trait_declaration enum_declaration"
            " method_declaration",
        )
        | {"const_declaration": "elements", "property_declaration": "elements", "assignment_expression": "left"},
        constants=_set("assignment_expression"),
        functions=_set("function_definition method_declaration anonymous_function arrow_function"),
        wrappers=_set("expression_statement"),
        enclosing="<?php class {name} {{\n{text}\n}}",
    ),
    "scala": Grammar(
        endings=(".scala", ".sc"),
        named=_all(
            "name",
            "class_definition object_definition trait_definition enum_definition function_definition"
            " function_declaration type_definition given_definition",
        )
        | _all("pattern", "val_definition var_definition val_declaration var_declaration"),
        constants=_set("val_definition var_definition"),
        functions=_set("function_definition lambda_expression block"),
        insignificant=_set(";"),
    ),
    "lua": Grammar(
        endings=(".lua",),
        named={"function_declaration": "name", "assignment_statement": "assigned"},
        constants=_set("assignment_statement"),
        functions=_set("function_declaration function_definition"),
        wrappers=_set("variable_declaration"),
        insignificant=_set(";"),
    ),
    "elixir": Grammar(
        endings=(".ex", ".exs"),
        named={"call": "defined"},
    ),
    "bash": Grammar(
        endings=(".sh", ".bash"),
        named=_all("name", "function_definition variable_assignment"),
        constants=_set("variable_assignment"),
        functions=_set("function_definition subshell command_substitution"),
        wrappers=_set("declaration_command"),
        insignificant=_set(";"),
    ),
}

_BY_ENDING: Final = {ending: name for name, grammar in GRAMMARS.items() for ending in grammar.endings}


def language_of(path: str) -> str:
    """The language of a file by its ending; ``text`` where no parser reads it."""
    return _BY_ENDING.get(PurePosixPath(path).suffix.lower(), TEXT)
