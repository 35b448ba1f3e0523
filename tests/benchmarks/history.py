"""How often fingerprints of Python symbols change over a repository's history, beside Python's own syntax tree.

``python -m tests.benchmarks.history PATH`` walks the first parents of a clone, commit by commit. For each symbol of
each file that a commit changed, the fingerprints before and after are compared, and so are the trees that ``ast``
makes, without documentation and positions. Where the two disagree, the place is printed.
"""

import argparse
import ast
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from memories.code.symbols import Source

type Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True, slots=True)
class Step:
    commit: str
    path: str
    before: str
    after: str


def git(tree: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(tree), *arguments], capture_output=True, check=True)
    return done.stdout.decode("utf-8", "replace")


def steps(tree: Path, most: int, pattern: str = "*.py") -> Iterator[Step]:
    """Every change of a file of that pattern that stood before and after, oldest first."""
    commits = git(tree, "log", "--first-parent", "--reverse", "--format=%H").split()[-most:]
    for before, after in pairwise(commits):
        changed = git(tree, "diff", "--name-only", "--diff-filter=M", before, after, "--", pattern).splitlines()
        for path in changed:
            yield Step(after, path, git(tree, "show", f"{before}:{path}"), git(tree, "show", f"{after}:{path}"))


def walk(tree: Path, most: int) -> tuple[Counter[str], set[tuple[str, str]], list[str]]:
    """Counts, the symbols that were looked at, and where the two methods disagree."""
    counts: Counter[str] = Counter()
    symbols: set[tuple[str, str]] = set()
    disagreements: list[str] = []
    for step in steps(tree, most):
        counts["changes of files"] += 1
        for name, flipped, differs in compared(step):
            symbols.add((step.path, name))
            counts["flipped" if flipped else "kept"] += 1
            if flipped != differs:
                counts["missed" if differs else "flipped for nothing"] += 1
                disagreements.append(f"{step.commit[:9]} {step.path} {name}: {'flipped' if flipped else 'kept'}")
    return counts, symbols, disagreements


def compared(step: Step) -> Iterator[tuple[str, bool, bool]]:
    """Each symbol of both: whether its fingerprint differs, and whether its tree does."""
    try:
        trees = [definitions(ast.parse(text)) for text in (step.before, step.after)]
    except SyntaxError:
        return
    sources = [Source(text, "python") for text in (step.before, step.after)]
    for name in trees[0].keys() & trees[1].keys():
        found = [source.symbol(name) for source in sources]
        if found[0] is None or found[1] is None:
            raise LookupError(f"{step.commit} {step.path}: {name} was not found")
        yield (
            name,
            found[0].fingerprints.exact != found[1].fingerprints.exact,
            shown(trees[0][name]) != shown(trees[1][name]),
        )


def definitions(tree: ast.AST, prefix: str = "") -> dict[str, list[Definition]]:
    found: dict[str, list[Definition]] = {}
    for child in ast.iter_child_nodes(tree):
        inner = prefix
        if isinstance(child, Definition.__value__):
            found.setdefault(prefix + child.name, []).append(child)
            inner = f"{prefix}{child.name}."
        for name, nodes in definitions(child, inner).items():
            found.setdefault(name, []).extend(nodes)
    return found


def shown(nodes: list[Definition]) -> list[str]:
    return [ast.dump(undocumented(node)) for node in nodes]


def undocumented(node: Definition) -> Definition:
    for each in ast.walk(node):
        if isinstance(each, Definition.__value__) and ast.get_docstring(each, clean=False) is not None:
            each.body = each.body[1:]
    return node


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.history", description=__doc__)
    parser.add_argument("tree", type=Path)
    parser.add_argument("--commits", type=int, default=1000, help="the newest N (default: %(default)s)")
    asked = parser.parse_args(arguments)
    counts, symbols, disagreements = walk(asked.tree, asked.commits)
    sys.stdout.write("\n".join(disagreements[:50]) + "\n")
    compared_in_all = counts["flipped"] + counts["kept"]
    sys.stdout.write(
        f"{counts['changes of files']:,} changes of files, {len(symbols):,} symbols, {compared_in_all:,} comparisons: "
        f"{counts['flipped']:,} flipped, of these {counts['flipped for nothing']:,} where the tree is the same; "
        f"{counts['missed']:,} changes missed.\n"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
