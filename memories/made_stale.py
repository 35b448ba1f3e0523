"""Which memories a change makes stale: a commit and the working tree are compared, what is not committed too."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from memories.access import Actor
from memories.anchored import memories_of, text_now, text_then
from memories.anchors import AnchorNow, Looking, without_code
from memories.checkout import Checkout
from memories.code.verdicts import DEMOTING, Verdict
from memories.committed import Committed
from memories.errors import NotFound
from memories.guard import masked
from memories.models import Anchor, Memory
from memories.which_repository import name_of

SEARCH_SECONDS: Final = 60.0  # nobody waits at a page


@dataclass(frozen=True, slots=True)
class MadeStale:
    """``before`` and ``after`` are the code at the commit and now, its secrets masked."""

    now: AnchorNow
    memory: Memory
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Checked:
    """``already`` were stale at the commit, ``unchecked`` cannot be told now; ``looked_at`` are all."""

    repository: str
    since: str
    looked_at: int
    stale: tuple[MadeStale, ...]
    already: int
    unchecked: tuple[AnchorNow, ...]


def made_stale(*, actor: Actor, folder: str, since: str, named: str = "") -> Checked:
    """Raises NotFound with what to do: no git, no such revision, no such repository."""
    tree = Checkout(folder)
    name = name_of(tree, actor, named)
    commit = _commit(tree, since)
    anchors = _in_force(name, actor)
    now = Looking.into(tree, anchors, search_seconds=SEARCH_SECONDS).at(anchors)
    fallen = [each for each in now if each.verdict in DEMOTING]
    before = Committed(folder, commit)
    then = _at(before, [each.anchor for each in fallen])
    new = [each for each in fallen if then[each.anchor.pk].verdict not in DEMOTING]
    return Checked(
        repository=name,
        since=commit,
        looked_at=len(anchors),
        stale=tuple(_told(new, then, before, tree, actor)),
        already=len(fallen) - len(new),
        unchecked=tuple(each for each in now if each.verdict == Verdict.UNKNOWN),
    )


def _commit(tree: Checkout, since: str) -> str:
    if shutil.which("git") is None:
        raise NotFound("git is not installed here, or not on the PATH. Install it.", field="repo")
    if tree.git("rev-parse", "--git-dir") is None:
        raise NotFound(f"{tree.root} is no git repository, so there is no revision to compare with.", field="repo")
    told = tree.git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{since}^{{commit}}")
    if told is None:
        raise NotFound(
            f"There is no revision {since!a} in {tree.root}. Fetch it first: a CI runner often clones nothing but the "
            "newest commit.",
            field="since",
        )
    return told.strip()


def _in_force(name: str, actor: Actor) -> list[Anchor]:
    rows = Anchor.objects.filter(
        repository__iexact=name, retired_at=None, memory__in=Memory.objects.live().visible_to(actor)
    )
    return list(without_code(rows).order_by("path", "symbol", "created_at", "pk"))


def _at(tree: Committed, anchors: Sequence[Anchor]) -> dict[object, AnchorNow]:
    looking = Looking.into(tree, anchors, search_seconds=SEARCH_SECONDS)
    return {each.anchor.pk: each for each in looking.at(anchors)}


def _told(
    new: Sequence[AnchorNow], then: dict[object, AnchorNow], before: Committed, tree: Checkout, actor: Actor
) -> list[MadeStale]:
    memories = memories_of(new, actor)
    return [
        MadeStale(
            now=each,
            memory=memories[each.anchor.memory_id],
            before=masked(text_now(then[each.anchor.pk], before)) or text_then(each.anchor),
            after=masked(text_now(each, tree)),
        )
        for each in new
    ]
