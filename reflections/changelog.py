"""Labelled episodes from GNU ChangeLog files, which are written from commit messages; and from plain lines of JSON.

Commits belong to one work when they have the same subject prefix ("grep: …"), change the same function of the same
file, and lie within DAYS. Commits with the same subject line are twins: a template, a re-application, a back-port.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Final

from memories.transfer.mentions import mentioned, touched
from reflections.evaluation import Labelled

DAYS: Final = 30
COMMON: Final = 40  # commits; a function that more of them change tells nothing

_HEADER: Final = re.compile(r"(\d{4}-\d\d-\d\d)  .+?  <")
_SUBJECT: Final = re.compile(r"(?!\* )([\w.,+/\- \[\]]{2,40}): \S")
_CHANGE: Final = re.compile(r"^\* ([^:(\n]+?)(?: \(([^)\n]*)\))?:", re.MULTILINE)
_PATH: Final = re.compile(r"(?=.*[./])[\w./+-]+")

type Function = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Commit:
    at: datetime
    text: str
    prefix: str
    paths: tuple[str, ...]
    functions: frozenset[Function]

    @property
    def subject(self) -> str:
        return self.text.split("\n", 1)[0]


def read(path: Path) -> list[Labelled]:
    """A file of lines of JSON with the fields of ``Labelled``, or a ChangeLog. Each file is a place of its own."""
    if path.suffix == ".jsonl":
        lines = path.read_text(encoding="utf-8").splitlines()
        return [_from_json(json.loads(line), str(path)) for line in lines if line.strip()]
    commits = list(_commits(path))
    works = _works(commits)
    return [
        Labelled(
            id=f"{path}:{number}",
            created_at=commit.at,
            content=commit.text,
            entities=frozenset(name for _, name in [*touched(commit.paths), *mentioned(commit.text)]),
            work=works.get(number, ""),
            twin=commit.subject,
            place=str(path),
        )
        for number, commit in enumerate(commits)
    ]


def _from_json(fields: dict[str, str | list[str]], place: str) -> Labelled:
    texts = {name: str(fields.get(name, "")) for name in ("id", "content", "work", "twin")}
    moment = datetime.fromisoformat(str(fields["created_at"]))
    episode = Labelled(created_at=moment, entities=frozenset(fields.get("entities", ())), place=place, **texts)
    return episode if moment.tzinfo else replace(episode, created_at=moment.replace(tzinfo=UTC))


def _commits(path: Path) -> Iterator[_Commit]:
    for at, text in _messages(path.read_text(encoding="utf-8", errors="replace").splitlines()):
        subject = _SUBJECT.match(text)
        if subject:
            paths, functions = _changed(text)
            yield _Commit(at, text, subject[1].strip().lower(), paths, functions)


def _messages(lines: Sequence[str]) -> Iterator[tuple[datetime, str]]:
    """Each commit's date and message: a new one begins at a paragraph that begins like a subject."""
    at, message = None, list[str]()
    for line, before in zip(lines, ["", *lines], strict=False):
        header = _HEADER.match(line)
        begins = not before.strip() and bool(_SUBJECT.match(line.removeprefix("\t")))
        if (header or begins) and at and message:
            yield at, "\n".join(message).strip()
            message = []
        if header:
            at = datetime.fromisoformat(header[1]).replace(tzinfo=UTC)
        else:
            message.append(line.removeprefix("\t").rstrip())
    if at and message:
        yield at, "\n".join(message).strip()


def _changed(text: str) -> tuple[tuple[str, ...], frozenset[Function]]:
    paths: list[str] = []
    functions: set[Function] = set()
    for found in _CHANGE.finditer(text):
        named = [name for name in re.split(r",\s*", found[1]) if _PATH.fullmatch(name)]
        paths += named
        functions |= {(path, name.strip()) for path in named for name in (found[2] or "").split(",") if name.strip()}
    return tuple(paths), frozenset(functions)


def _works(commits: Sequence[_Commit]) -> dict[int, str]:
    """The number of the work of each commit that shares one."""
    changed = Counter(function for commit in commits for function in commit.functions)
    of: defaultdict[tuple[str, Function], list[int]] = defaultdict(list)
    for number, commit in enumerate(commits):
        for function in commit.functions:
            if changed[function] <= COMMON:
                of[commit.prefix, function].append(number)
    joined = list(range(len(commits)))
    for numbers in of.values():
        numbers.sort(key=lambda number: commits[number].at)
        for earlier, later in pairwise(numbers):
            if commits[later].at - commits[earlier].at <= timedelta(days=DAYS):
                joined[_root(joined, later)] = _root(joined, earlier)
    roots = [_root(joined, number) for number in range(len(joined))]
    sizes = Counter(roots)
    return {number: str(root) for number, root in enumerate(roots) if sizes[root] > 1}


def _root(joined: list[int], number: int) -> int:
    while joined[number] != number:
        number = joined[number]
    return number
