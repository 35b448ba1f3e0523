"""Which commit the code of an anchor differs at, as far as git knows; asked for a few commits and a short time."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from memories.anchors import saved_fingerprints
from memories.checkout import MOST_BYTES, Checkout, Missing, Unreadable
from memories.code.symbols import Source
from memories.guard import masked
from memories.models import Anchor

MOST_COMMITS: Final = 25
SECONDS: Final = 2.0
NOT_ASKED: Final = "Git could not be asked which commit that was: it is missing here, or did not answer in time."
NO_CHECKOUT: Final = "The folder is not a checkout of git, so no commit can be named."
NOT_COMMITTED: Final = "It differs in the working tree, not in a commit yet."
_SHOWN: Final = "--format=%H%x00%h, %as: %s"
_HASH: Final = re.compile(r"[0-9a-f]{40,64}")


@dataclass(frozen=True, slots=True)
class _Commit:
    revision: str
    words: str  # its short hash, day and subject


def differs_at(anchor: Anchor, tree: Checkout, *, seconds: float = SECONDS) -> str:
    """A sentence that names the commit, or says why none can be named. For code that changed or is gone."""
    until = time.monotonic() + seconds
    head = next(_log(tree, "-1", "HEAD"), None)
    if head is None:
        return NOT_ASKED if (tree.root / ".git").exists() else NO_CHECKOUT
    if _is_older(tree, head, anchor):
        return f"The checkout is older than the memory's anchor. It differs at commit {head.words}"
    committed = _at(tree, head.revision, anchor)
    if committed == _saved(anchor):
        return NOT_COMMITTED
    said = _newest_change(anchor, tree, committed, until)
    return said if committed == _standing(tree, anchor) else f"{said} (in the working tree it differs once more)"


def _newest_change(anchor: Anchor, tree: Checkout, now: str, until: float) -> str:
    """By the commits on the file, newest first: the last one that still says what stands there now."""
    commits = list(_log(tree, f"-{MOST_COMMITS}", *_since(tree, anchor), "--", anchor.path))
    if not commits:
        return "Git names no commit for it."
    for commit, before in zip(commits, [*commits[1:], None], strict=True):
        earlier = _at(tree, before.revision if before else f"{commit.revision}^", anchor)
        if time.monotonic() > until:
            break  # what git did not say in time would read like a file that was not there
        if earlier != now:
            return f"It differs at commit {commit.words}"
    return f"The newest commit on the file is {commits[0].words}"


def _since(tree: Checkout, anchor: Anchor) -> list[str]:
    if _is_hash(anchor.revision) and _is_ancestor(tree, anchor.revision, "HEAD"):
        return [f"{anchor.revision}..HEAD"]
    return ["HEAD"]


def _is_older(tree: Checkout, head: _Commit, anchor: Anchor) -> bool:
    if not _is_hash(anchor.revision) or anchor.revision == head.revision:
        return False
    return _is_ancestor(tree, "HEAD", anchor.revision)


def _is_hash(text: str) -> bool:
    return _HASH.fullmatch(text) is not None


def _is_ancestor(tree: Checkout, older: str, newer: str) -> bool:
    return tree.git("merge-base", "--is-ancestor", older, newer) is not None


def _log(tree: Checkout, *arguments: str) -> Iterator[_Commit]:
    told = tree.git("--literal-pathspecs", "log", "--no-show-signature", "--no-color", _SHOWN, *arguments) or ""
    for line in told.splitlines():
        revision, separator, words = line.partition("\0")
        if separator:
            yield _Commit(revision, masked(words))


def _standing(tree: Checkout, anchor: Anchor) -> str:
    try:
        found = tree.symbol(anchor.path, anchor.symbol)
    except (Missing, Unreadable):
        return ""
    return found.fingerprints.exact if found else ""


def _saved(anchor: Anchor) -> str:
    found = saved_fingerprints(anchor)
    return found.exact if found else ""


def _at(tree: Checkout, revision: str, anchor: Anchor) -> str:
    """The fingerprint of the symbol at *revision*; empty where it was not there, or cannot be read."""
    text = tree.git("show", "--end-of-options", f"{revision}:./{anchor.path}")
    if text is None or len(text) > MOST_BYTES:
        return ""
    source = Source(text, anchor.language)
    found = source.symbol(anchor.symbol) if anchor.symbol else source.whole
    return found.fingerprints.exact if found else ""
