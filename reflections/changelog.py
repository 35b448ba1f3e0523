"""Labelled episodes from GNU ChangeLog files, which are written from commit messages; and from plain lines of JSON.

The matters of a commit are the files and functions that it changed, but for those that more than COMMON commits change.
Commits with the same subject line are twins: a template, a re-application, a back-port.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from memories.transfer.mentions import mentioned, touched
from reflections.evaluation import Labelled

COMMON: Final = 40

_HEADER: Final = re.compile(r"(\d{4}-\d\d-\d\d)  .+?  <")
_SUBJECT: Final = re.compile(r"(?!\* )([\w.,+/\- \[\]]{2,40}): \S")
_CHANGE: Final = re.compile(r"^\* ([^:(\n]+?)(?: \(([^)\n]*)\))?:", re.MULTILINE)
_PATH: Final = re.compile(r"(?=.*[./])[\w./+-]+")


@dataclass(frozen=True, slots=True)
class _Commit:
    at: datetime
    text: str
    paths: tuple[str, ...]
    functions: frozenset[str]

    @property
    def subject(self) -> str:
        return self.text.split("\n", 1)[0]


def read(path: Path) -> list[Labelled]:
    """A file of lines of JSON with the fields of ``Labelled``, or a ChangeLog. Each file is a place of its own."""
    if path.suffix == ".jsonl":
        lines = path.read_text(encoding="utf-8").splitlines()
        return [_from_json(json.loads(line), str(path)) for line in lines if line.strip()]
    commits = list(_commits(path))
    return [
        Labelled(
            id=f"{path}:{number}",
            created_at=commit.at,
            content=commit.text,
            entities=frozenset(name for _, name in [*touched(commit.paths), *mentioned(commit.text)]),
            matters=matters,
            twin=commit.subject,
            place=str(path),
        )
        for number, (commit, matters) in enumerate(zip(commits, _matters(commits), strict=True))
    ]


def _from_json(fields: dict[str, Any], place: str) -> Labelled:
    moment = datetime.fromisoformat(fields["created_at"])
    return Labelled(
        id=str(fields["id"]),
        created_at=moment if moment.tzinfo else moment.replace(tzinfo=UTC),
        content=str(fields["content"]),
        entities=frozenset(fields.get("entities", ())),
        matters=frozenset(fields.get("matters", ())),
        twin=str(fields.get("twin", "")),
        place=f"{place} {fields['owner']}" if "owner" in fields else place,
        piece=str(fields.get("piece", "")),
    )


def _commits(path: Path) -> Iterator[_Commit]:
    for at, text in _messages(path.read_text(encoding="utf-8", errors="replace").splitlines()):
        if _SUBJECT.match(text):
            paths, functions = _changed(text)
            yield _Commit(at, text, paths, functions)


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


def _changed(text: str) -> tuple[tuple[str, ...], frozenset[str]]:
    paths: list[str] = []
    functions: set[str] = set()
    for found in _CHANGE.finditer(text):
        named = [name for name in re.split(r",\s*", found[1]) if _PATH.fullmatch(name)]
        paths += named
        functions |= {
            f"{path}:{name.strip()}" for path in named for name in (found[2] or "").split(",") if name.strip()
        }
    return tuple(paths), frozenset(functions)


def _matters(commits: Sequence[_Commit]) -> list[frozenset[str]]:
    named = [frozenset([*commit.paths, *commit.functions]) for commit in commits]
    changed = Counter(name for names in named for name in names)
    return [frozenset(name for name in names if changed[name] <= COMMON) for names in named]
