"""How often fingerprints of JavaScript symbols change over a history, beside the tree of the parser within Node.js.

``python -m tests.benchmarks.history_script PATH`` walks a clone as ``tests.benchmarks.history`` does. Compared are
functions, classes and methods; the trees are those of acorn, without positions. It needs ``node``.
"""

import argparse
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from memories.code.symbols import Source
from tests.benchmarks.history import Step, steps

type Trees = dict[str, list[str]]

# Takes a list of texts and gives for each the trees by qualified name, or null where it does not parse.
PARSER: Final = """
const acorn = require('internal/deps/acorn/acorn/dist/acorn');
const called = node => node.id?.name ?? (node.computed ? undefined : node.key?.name);
const kinds = new Set(['FunctionDeclaration', 'ClassDeclaration', 'MethodDefinition']);
const qualifying = new Set([...kinds, 'VariableDeclarator']);
const shown = node => JSON.stringify(node, (key, value) => key === 'start' || key === 'end' ? undefined :
  typeof value === 'bigint' ? String(value) : value);
function collect(node, prefix, found) {
  if (!node || typeof node !== 'object') return found;
  const name = qualifying.has(node.type) ? called(node) : undefined;
  const here = name ? (prefix ? `${prefix}.${name}` : name) : prefix;
  if (name && kinds.has(node.type)) (found[here] ??= []).push(shown(node));
  for (const below of Object.values(node)) for (const each of [below].flat()) collect(each, here, found);
  return found;
}
function parsed(text) {
  for (const sourceType of ['module', 'script'])
    try { return collect(acorn.parse(text, {ecmaVersion: 'latest', sourceType}), '', {}); } catch (error) {}
  return null;
}
console.log(JSON.stringify(JSON.parse(require('fs').readFileSync(0, 'utf8')).map(parsed)));
"""


def trees(texts: list[str]) -> list[Trees | None]:
    command = ["node", "--expose-internals", "-e", PARSER]
    done = subprocess.run(command, input=json.dumps(texts), capture_output=True, text=True, check=True)
    return list(json.loads(done.stdout))


def compared(step: Step) -> Iterator[tuple[str, bool, bool]]:
    """Each symbol that both methods find before and after: whether its fingerprint differs, and whether its tree."""
    before, after = trees([step.before, step.after])
    if before is None or after is None:
        return
    sources = [Source(text, "javascript") for text in (step.before, step.after)]
    for name in before.keys() & after.keys():
        found = [source.symbol(name) for source in sources]
        if found[0] and found[1]:
            differs = before[name] != after[name]
            yield name, found[0].fingerprints.exact != found[1].fingerprints.exact, differs


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.history_script", description=__doc__)
    parser.add_argument("tree", type=Path)
    parser.add_argument("--commits", type=int, default=1000, help="the newest N (default: %(default)s)")
    asked = parser.parse_args(arguments)
    counts: Counter[str] = Counter()
    symbols = set()
    for step in steps(asked.tree, asked.commits, "*.js"):
        counts["changes of files"] += 1
        for name, flipped, differs in compared(step):
            symbols.add((step.path, name))
            counts["flipped" if flipped else "kept"] += 1
            if flipped != differs:
                counts["missed" if differs else "flipped for nothing"] += 1
                sys.stdout.write(f"{step.commit[:9]} {step.path} {name}: {'flipped' if flipped else 'kept'}\n")
    sys.stdout.write(f"{len(symbols):,} symbols; {dict(counts)}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
