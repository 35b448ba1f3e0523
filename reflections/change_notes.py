"""Labelled episodes from a ChangeLog that names the merge request of each commit, as GStreamer's do.

Commits of one merge request are one piece of work: whoever wrote them said so. What tells it is taken out of the text
(links, the numbers of merge requests and of issues), so that nothing but time, words and files is left to go by.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final

from memories.transfer.mentions import about
from reflections.evaluation import Labelled

_HEADER: Final = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d{4})\s+(.*?)\s*<")
_PATH: Final = re.compile(r"\* (\S+):$")
_REQUEST: Final = re.compile(r"/merge_requests/(\d+)\b")
_TELLING: Final = re.compile(r"^.*(?:/merge_requests/|\bPart-of:).*$", re.MULTILINE)
_LINK: Final = re.compile(r"https?://\S+")
_NUMBER: Final = re.compile(r"(?<!\w)[#!]\d+")


@dataclass(slots=True)
class _Commit:
    at: datetime
    author: str
    lines: list[str] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        text = _NUMBER.sub("", _LINK.sub("", _TELLING.sub("", "\n".join(self.lines))))
        return "\n".join(line.rstrip() for line in text.split("\n") if line.strip())

    @property
    def request(self) -> str:
        """The one merge request it names; '' where it names none or several."""
        named = set(_REQUEST.findall("\n".join(self.lines)))
        return named.pop() if len(named) == 1 else ""


def text_of(path: Path) -> str:
    """Also of a file that is packed with gzip."""
    with (
        gzip.open(path, "rt", encoding="utf-8", errors="replace")
        if path.suffix == ".gz"
        else path.open(encoding="utf-8", errors="replace") as lines
    ):
        return lines.read()


def names_requests(text: str) -> bool:
    return bool(_REQUEST.search(text))


def read(texts: Sequence[str]) -> list[Labelled]:
    """The commits of all ChangeLogs of one project, oldest first: one that touches several parts is in several of them.

    Each author is a place: the owner of these episodes.
    """
    known: dict[tuple[datetime, str, str], _Commit] = {}
    for commit in (commit for text in texts for commit in _commits(text)):
        if commit.request and commit.text:
            known.setdefault((commit.at, commit.author, commit.text), commit).paths.extend(commit.paths)
    commits = sorted(known.values(), key=lambda commit: (commit.at, commit.text))
    return [_labelled(number, commit) for number, commit in enumerate(commits)]


def _labelled(number: int, commit: _Commit) -> Labelled:
    named = about(dict.fromkeys(commit.paths), commit.text)
    return Labelled(
        id=str(number),
        created_at=commit.at,
        content=commit.text,
        entities=frozenset(name for _, name in named),
        place=commit.author,
        piece=commit.request,
    )


def _commits(text: str) -> Iterator[_Commit]:
    commit: _Commit | None = None
    for line in text.splitlines():
        if (header := _HEADER.match(line)) or line.startswith("==="):
            if commit:
                yield commit
            commit = _Commit(datetime.fromisoformat(header[1]), header[2]) if header else None
        elif commit and line.strip():
            said = line.strip()
            path = None if commit.lines else _PATH.fullmatch(said)
            (commit.paths if path else commit.lines).append(path[1] if path else said)
    if commit:
        yield commit
