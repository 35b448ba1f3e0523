"""PURE. The lines between ``---`` and ``---`` at the top of a Markdown file, and what stands below."""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

import yaml

from memories.transfer.errors import TransferError
from zeromemory.lib import strict_json

LARGEST_YAML: Final = 256 * 1024  # characters
DEEPEST_YAML: Final = 12
WITHIN: Final = r"\A---[ \t]*\r?\n(?:(?!---).*\n)*?"  # of a pattern for a field, before that field
_HEADER: Final = re.compile(r"---[ \t]*\r?\n(?P<header>(?:.*\n)*?)---[ \t]*(?:\r?\n|\Z)")
_JSON_LINE: Final = re.compile(r"([A-Za-z_]\w*): (.+)")
# What YAML takes for the end of a line, or does not take at all, where it is not escaped.
_ESCAPED: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
# Every scalar is text to it: no type, tag or class that a file names is made.
_LOADER: Final = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


def split(text: str) -> tuple[str | None, str]:
    """The header, or None where there is none, and what follows its last line."""
    found = _HEADER.match(text)
    return (found["header"], text[found.end() :]) if found else (None, text)


def written(values: Mapping[str, Any]) -> str:
    """One line a field, its value as JSON, which is YAML as well."""
    return "".join(f"{name}: {_as_json(value)}\n" for name, value in values.items())


def _as_json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def typed(header: str, place: str) -> dict[str, Any]:
    """As ``written`` has it; a value that is no JSON, because a person wrote it, is the text that YAML finds there."""
    lines = [_JSON_LINE.fullmatch(line.rstrip()) for line in header.split("\n") if line.strip()]
    values = {found[1]: _parsed(found[2]) for found in lines if found}
    if len(values) == len(lines) and all(known for _, known in values.values()):
        return {name: value for name, (value, _) in values.items()}
    told = in_yaml(header, place)
    return told | {name: value for name, (value, known) in values.items() if known and name in told}


def _parsed(text: str) -> tuple[Any, bool]:
    try:
        return strict_json.loads(text), True
    except (ValueError, RecursionError):
        return None, False


def in_yaml(header: str, place: str) -> dict[str, Any]:
    """The fields, every scalar of them as text. Raises TransferError for what is no YAML, or too much of it."""
    if len(header) > LARGEST_YAML:
        raise TransferError(f"The front matter is longer than {LARGEST_YAML:,} characters. Shorten it.", line=place)
    try:
        _refuse_bombs(header, place)
        found = yaml.load(header, Loader=_LOADER)  # noqa: S506  # the loader that makes nothing but text
    except (yaml.YAMLError, ValueError) as error:
        raise TransferError(
            f"The front matter is not YAML: {_told(error)}. Mend it, or put the value in quotes.", line=place
        ) from error
    if found in (None, ""):
        return {}
    if not isinstance(found, dict):
        raise TransferError("The front matter is no list of fields. Write each as name: value.", line=place)
    return {str(name): value for name, value in found.items()}


def _refuse_bombs(header: str, place: str) -> None:
    """An alias repeats what it names, and so can fill the memory; a deep nest the stack."""
    depth = 0
    for event in yaml.parse(header, Loader=_LOADER):
        if isinstance(event, yaml.AliasEvent):
            raise TransferError("The front matter refers to itself by *. Write it out.", line=place)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST_YAML:
            raise TransferError("The front matter is nested too deeply.", line=place)


def _told(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or "it holds a character that no text may"
    return f"{problem} in its line {mark.line + 1}" if mark else str(problem)
