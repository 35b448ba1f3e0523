"""What became of the code that memories are about, found anew at every look."""

from __future__ import annotations

import math
import re
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Self
from uuid import UUID

from django.db.models import QuerySet
from django.db.models.functions import Left

from memories.checkout import Checkout, Missing, Unreadable
from memories.code.again import fingerprinted_again
from memories.code.grammars import TEXT, language_of
from memories.code.naming import plain
from memories.code.symbols import VERSION, Fingerprints, Source
from memories.code.verdicts import DEMOTING, Judged, Place, Verdict, judged_elsewhere, judged_here, worst
from memories.errors import ValidationFailed
from memories.models import Anchor, Repository

_WORDS: Final = re.compile(r"[^\W\d]\w{3,}")
_REVISION: Final = re.compile(r"[0-9a-f]{40,64}")
_FINGERPRINT: Final = re.compile(r"v\d+:[a-z]+:[0-9a-f]{64}")
TELLING_WORDS: Final = 3
OPENING: Final = 4000  # characters of the code in which telling words are looked for
SEARCH_SECONDS: Final = 1.0  # in one look, for all that is not in its place
_CHANGED_METHOD: Final = "It was fingerprinted by another method, and its text does not suffice to do so again."

type Spot = tuple[str, str, str]
"""Repository, path and symbol, as an anchor names them."""


def spot_of(anchor: Anchor) -> Spot:
    return anchor.repository.lower(), anchor.path, anchor.symbol


@dataclass(frozen=True, slots=True)
class Seen:
    """What a caller sees in a working tree of its own: ``fingerprints`` is None where the symbol is not there."""

    fingerprints: Fingerprints | None
    code_sha256: str = ""


@dataclass(frozen=True, slots=True)
class AnchorNow:
    anchor: Anchor
    judged: Judged

    @property
    def verdict(self) -> Verdict:
        return self.judged.verdict


@dataclass(slots=True)
class Looking:
    """One look at all repositories that come up: each file is read once. *seen* goes before what stands here, and so do
    the folders in *beside*, by the name of the repository in lower case."""

    seen: Mapping[Spot, Seen] = field(default_factory=dict)
    beside: Mapping[str, str] = field(default_factory=dict)
    search_seconds: float = SEARCH_SECONDS
    _until: float = 0.0
    _trees: dict[tuple[int, str], Checkout | None] = field(default_factory=dict)

    def at(self, anchors: Sequence[Anchor], *, seconds: float = math.inf) -> list[AnchorNow]:
        """In the order given; those that *seconds* do not suffice for are left out."""
        self._find_trees(anchors)
        until = time.monotonic() + seconds
        return [AnchorNow(anchor, self._judged(anchor)) for anchor in anchors if time.monotonic() < until]

    @classmethod
    def into(cls, tree: Checkout, anchors: Iterable[Anchor], *, search_seconds: float = SEARCH_SECONDS) -> Self:
        """A look at *tree*, whichever is registered under the names that *anchors* give."""
        trees: dict[tuple[int, str], Checkout | None] = {
            (anchor.scope_id, anchor.repository.lower()): tree for anchor in anchors
        }
        return cls(search_seconds=search_seconds, _trees=trees)

    def tree_of(self, anchor: Anchor) -> Checkout | None:
        self._find_trees([anchor])
        return self._trees[anchor.scope_id, anchor.repository.lower()]

    def _find_trees(self, anchors: Iterable[Anchor]) -> None:
        wanted = {(anchor.scope_id, anchor.repository.lower()) for anchor in anchors} - self._trees.keys()
        if not wanted:
            return
        rows = Repository.objects.filter(scopes__in={scope for scope, _ in wanted}).values_list(
            "scopes", "name", "path"
        )
        trees: dict[str, Checkout] = {}
        placed = {(scope, name.lower()): trees.setdefault(path, Checkout(path)) for scope, name, path in rows}
        for scope, name in wanted:
            path = self.beside.get(name)
            self._trees[scope, name] = trees.setdefault(path, Checkout(path)) if path else placed.get((scope, name))

    def _deadline(self) -> float:
        self._until = self._until or time.monotonic() + self.search_seconds
        return self._until

    def _judged(self, anchor: Anchor) -> Judged:
        saved = saved_fingerprints(anchor)
        if saved is None:
            return Judged(Verdict.UNKNOWN, _CHANGED_METHOD)
        if told := self.seen.get(spot_of(anchor)):
            return _told(anchor, saved, told)
        tree = self._trees[anchor.scope_id, anchor.repository.lower()]
        if tree is None:
            return Judged(Verdict.UNKNOWN, f"The repository {anchor.repository} is not registered for this scope.")
        try:
            return _found(anchor, saved, tree, self._deadline())
        except Unreadable as problem:
            return Judged(Verdict.UNKNOWN, str(problem))


def anchors_of(memories: Collection[Any]) -> dict[UUID, list[Anchor]]:
    """Those in force, by memory, in the order they were set."""
    found: dict[UUID, list[Anchor]] = defaultdict(list)
    rows = Anchor.objects.filter(memory__in=memories, retired_at=None).order_by("created_at", "pk")
    for anchor in without_code(rows):
        found[anchor.memory_id].append(anchor)
    return dict(found)


def without_code(rows: QuerySet[Anchor]) -> QuerySet[Anchor]:
    """With as much of it as a look needs to tell where it went."""
    return rows.defer("code").annotate(opening=Left("code", OPENING))


def looked_at(
    memories: Collection[Any],
    *,
    seen: Mapping[Spot, Seen] | None = None,
    beside: Mapping[str, str] | None = None,
) -> dict[Any, list[AnchorNow]]:
    """The anchors of these memories with their verdicts as of now; one query where there is none."""
    by_memory = anchors_of(memories)
    if not by_memory:
        return {}
    found: dict[Any, list[AnchorNow]] = defaultdict(list)
    for now in Looking(seen or {}, beside or {}).at([anchor for anchors in by_memory.values() for anchor in anchors]):
        found[now.anchor.memory_id].append(now)
    return dict(found)


def structural_factor(anchors: Iterable[AnchorNow], changed_factor: float) -> float:
    """Once, by the worst verdict: *changed_factor* where that is changed or gone, otherwise exactly 1."""
    found = worst({now.verdict for now in anchors})
    return changed_factor if found in DEMOTING else 1.0


def told_of(anchors: Sequence[AnchorNow]) -> str:
    """What became of the code, by the worst of the verdicts, as a clause of a sentence."""
    found = worst({now.verdict for now in anchors})
    now = next(each for each in anchors if each.verdict == found)
    what, since = Place(now.anchor.path, now.anchor.symbol), f"{now.anchor.created_at:%Y-%m-%d}"
    if found == Verdict.CHANGED:
        return f"{what} has changed since {since}"
    if found == Verdict.GONE:
        return f"{what} is gone"
    if found == Verdict.UNKNOWN:
        return f"{what} could not be checked"
    if found in {Verdict.MOVED, Verdict.RENAMED}:
        return f"{what} is {now.judged.place} now"
    if found == Verdict.AMBIGUOUS:
        return f"{what} is no longer there, and may be in several places"
    return f"{what} says what it said on {since}"


def seen_as(repository: str, path: str, symbol: str, *, fingerprint: str = "", code: str = "") -> tuple[Spot, Seen]:
    """What a caller says of one place: its fingerprint, its text, or, with neither, that it is not there.

    A text that does not define the symbol is compared by its words. Raises ValidationFailed for what can be no
    fingerprint.
    """
    spot = (repository.lower(), path, plain(symbol))
    if fingerprint:
        if not _FINGERPRINT.fullmatch(fingerprint):
            raise ValidationFailed(
                "A fingerprint reads v1:python: and 64 hexadecimal digits. Send the code instead, if you have none.",
                field="code_state",
            )
        return spot, Seen(Fingerprints(fingerprint))
    if not code:
        return spot, Seen(None)
    language = language_of(path)
    found = fingerprinted_again(code, language, plain(symbol)) or Source(code, TEXT).whole.fingerprints
    sha256 = Source(code, language).whole.sha256
    return spot, Seen(found, sha256)


def saved_fingerprints(anchor: Anchor) -> Fingerprints | None:
    """Those of the anchor, made anew from its text where the method has changed since; None where that cannot be."""
    if anchor.exact.startswith(f"{VERSION}:"):
        return Fingerprints(anchor.exact, anchor.masked)
    if not anchor.code:
        return None
    if not anchor.whole_file:
        return fingerprinted_again(anchor.code, anchor.language, anchor.symbol)
    found = Source(anchor.code, anchor.language).symbol(anchor.symbol)
    return found.fingerprints if found else None


def _told(anchor: Anchor, saved: Fingerprints, told: Seen) -> Judged:
    if told.fingerprints and not told.fingerprints.exact.startswith(f"{VERSION}:"):
        return Judged(Verdict.UNKNOWN, "Whoever asked fingerprints by another method.")
    if told.fingerprints is None:
        return Judged(Verdict.GONE, "Not in the working tree of whoever asked.")
    if not told.code_sha256 and told.fingerprints.exact == saved.exact:
        return Judged(Verdict.UNCHANGED, "By its fingerprint.")  # whether the text differs was not told
    return judged_here(saved=saved, now=told.fingerprints, is_same_text=told.code_sha256 == anchor.code_sha256)


def _found(anchor: Anchor, saved: Fingerprints, tree: Checkout, until: float) -> Judged:
    try:
        now = tree.symbol(anchor.path, anchor.symbol)
    except Missing:
        now = None
    if now is not None:
        return judged_here(saved=saved, now=now.fingerprints, is_same_text=now.sha256 == anchor.code_sha256)
    if not anchor.symbol:
        places = [Place(path) for path in tree.alike(anchor.path, anchor.code_sha256, until=until)]
        return judged_elsewhere(exact=places, masked=(), had_twins=False)
    exact = list(_same_symbols(anchor, saved, tree, until))
    masked = [] if exact else list(_same_but_for_the_name(anchor, saved, tree, until))
    return judged_elsewhere(exact=exact, masked=masked, had_twins=anchor.had_twins)


def _same_symbols(anchor: Anchor, saved: Fingerprints, tree: Checkout, until: float) -> Iterator[Place]:
    name = anchor.symbol.rpartition(".")[2]
    for path, outlines in tree.defining(anchor.language, {name, *_telling_words(anchor)}, until=until):
        for found in outlines:
            if found.exact == saved.exact and (path, found.name) != (anchor.path, anchor.symbol):
                yield Place(path, found.name)


def _same_but_for_the_name(anchor: Anchor, saved: Fingerprints, tree: Checkout, until: float) -> Iterator[Place]:
    if not saved.masked:
        return
    for path, outlines in tree.defining(anchor.language, _telling_words(anchor), until=until):
        for found in outlines:
            if found.masked == saved.masked and not _was_there(anchor, tree, path, found.name):
                yield Place(path, found.name)


def _telling_words(anchor: Anchor) -> list[str]:
    """The longest words of the code but its own name: few files hold them all."""
    if anchor.whole_file:
        return []
    opening = anchor.__dict__.get("opening") or anchor.code[:OPENING]
    words = set(_WORDS.findall(opening)) - {anchor.symbol.rpartition(".")[2]}
    return sorted(words, key=lambda word: (len(word), word))[-TELLING_WORDS:]


def _was_there(anchor: Anchor, tree: Checkout, path: str, qualified: str) -> bool:
    """Whether it stood there beside the anchored one already, so that it is no new name of it."""
    if not _REVISION.fullmatch(anchor.revision):
        return False
    before = tree.git("show", "--end-of-options", f"{anchor.revision}:./{path}")
    return before is not None and qualified in Source(before, anchor.language).names()
