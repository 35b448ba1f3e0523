"""``fingerprint``: what recall is told of code that the server does not see. It needs no database and no settings."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from memories.checkout import Checkout, Missing, Unreadable
from memories.code.naming import plain
from memories.code.symbols import Source, Symbol

HELP: Final = (
    "Print what code says, computed beside it, as JSON that recall takes as code_state. A symbol that is not there is "
    "told as such. Ends with 1 where something could not be told; it is then left out, and standard error says why."
)
MOST: Final = 500  # places in one code_state
LONGEST_CODE: Final = 200_000  # characters, as the field takes

type Row = dict[str, str]


class Untold(Exception):
    """Of this place nothing can be said; the message says why."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "places",
        nargs="+",
        metavar="PATH#SYMBOL",
        help="A file of the repository and a symbol in it; without one the whole file. - reads them from standard "
        "input, one a line.",
    )
    parser.add_argument("--repo", default=".", metavar="PATH", help="The working tree (default: %(default)s).")
    parser.add_argument("--repo-name", default="", help="What anchors call it (default: the name of its folder).")
    parser.add_argument("--symbols", action="store_true", help="Also every symbol that the named files define.")
    parser.add_argument("--code", action="store_true", help="Send the code itself, so that a new layout is told apart.")


def from_command_line(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="zeromemory fingerprint", description=HELP)
    add_arguments(parser)
    asked = vars(parser.parse_args(arguments))
    return write(**asked)


def write(*, places: Sequence[str], repo: str, repo_name: str, symbols: bool, code: bool) -> int:
    """The exit code."""
    tree, rows, problems = Checkout(repo), list[Row](), list[str]()
    name = repo_name or Path(repo).resolve().name
    for path, symbol in _places(tree, _read(places), symbols):
        try:
            rows.append({"repository": name, "path": path, "symbol": plain(symbol)} | _said(tree, path, symbol, code))
        except (Untold, Unreadable) as problem:
            problems.append(f"{path}{'#' if symbol else ''}{symbol}: {problem}")
    if len(rows) > MOST:
        problems.append(f"One recall takes {MOST} of these {len(rows):,}. Name fewer.")
    sys.stdout.write(json.dumps(rows, indent=2, ensure_ascii=False) + "\n")
    sys.stderr.writelines(f"{problem}\n" for problem in problems)
    return 1 if problems else 0


def _read(places: Iterable[str]) -> Iterator[str]:
    for place in places:
        yield from (line.strip() for line in (sys.stdin if place == "-" else [place]) if line.strip())


def _places(tree: Checkout, places: Iterable[str], every: bool) -> Iterator[tuple[str, str]]:
    """Each once, in the order asked for."""
    found: dict[tuple[str, str], None] = {}
    for place in places:
        path, _, symbol = place.partition("#")
        path = path.removeprefix("./")
        found[path, symbol] = None
        if every:
            found |= dict.fromkeys((path, name) for name in _names(tree, path))
    yield from found


def _names(tree: Checkout, path: str) -> list[str]:
    try:
        return tree.source(path).names()
    except (Missing, Unreadable):
        return []


def _said(tree: Checkout, path: str, name: str, code: bool) -> Row:
    """Empty where it is not there: that is what such an entry says."""
    try:
        source = tree.source(path)
    except Missing:
        return {}
    found = _found(source, name)
    if found is None:
        return {}
    row = {"symbol": found.name}
    if code and len(found.text) <= LONGEST_CODE:
        return row | {"code": found.text}
    return row | {"fingerprint": found.fingerprints.exact}


def _found(source: Source, name: str) -> Symbol | None:
    if not name:
        return source.whole
    meant = source.called(name)
    if len(meant) > 1:
        raise Untold(f"means several symbols: {', '.join(sorted(meant))}. Name one of them in full.")
    if not meant and source.has_errors:
        raise Untold("the file does not parse, so what it defines cannot be told.")
    return source.symbol(meant[0]) if meant else None


def handle(options: dict[str, Any]) -> int:
    return write(**{name: options[name] for name in ("places", "repo", "repo_name", "symbols", "code")})
