"""The code of a scope's memories as it is now, and which of them a person is to be asked about. Nothing is written."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import batched
from typing import Any, Final
from uuid import UUID

from django.db.models import Exists, OuterRef, QuerySet

from memories.anchors import AnchorNow, Looking, anchors_of, told_of
from memories.code.verdicts import DEMOTING, Verdict, worst
from memories.models import Anchor, Memory, Repository, Scope
from memories.services.code_looks import Found
from reflections.models import Dispute
from reflections.querysets import DisputeQuerySet

MOST_MEMORIES: Final = 5000  # whose code is read in one look at a scope
AT_ONCE: Final = 50  # of them, whose files are held at a time
SECONDS: Final = 120.0
SEARCH_SECONDS: Final = 5.0  # for what is not in its place, of so many memories
WELL: Final = frozenset({Verdict.UNCHANGED, Verdict.COSMETIC, Verdict.MOVED, Verdict.RENAMED})
UNREAD: Final = "unread"


@dataclass(slots=True)
class OfRepository:
    """``new`` are the stale memories of which nobody was asked yet."""

    verdicts: Counter[str] = field(default_factory=Counter)
    memories: int = 0
    stale: int = 0
    new: int = 0
    held: int = 0

    def is_too_much(self, share: float) -> bool:
        """More than *share* of what could be read, at once. A question in the place of one item would save nothing."""
        return self.new > 1 and self.new / self.memories > share


@dataclass(frozen=True, slots=True)
class Back:
    """A dispute whose code is back, and why it is moot."""

    dispute: UUID
    why: str


class Reading:
    """One look at the anchored memories of a scope, or at those anchored in one of its repositories."""

    def __init__(self, scope: Scope, *, repository: str = "", seconds: float = SECONDS) -> None:
        self.scope, self.repository = scope, repository
        self.by_repository: defaultdict[str, OfRepository] = defaultdict(OfRepository)
        self.stale: dict[UUID, frozenset[str]] = {}  # memories nobody was asked about, with their repositories
        self.back: list[Back] = []
        self.waiting = self.unchecked = self.unread = 0
        self._until = time.monotonic() + seconds
        rows = _unsettled(scope).values_list("subject", "pk", "opened_at")
        self._asked: dict[UUID, tuple[UUID, datetime]] = {memory: (pk, at) for memory, pk, at in rows}

    def pieces(self) -> Iterator[int]:
        """How many memories each held. What the time does not suffice for is unread; another look begins elsewhere."""
        for piece in batched(list(subjects(self.scope, self.repository)[:MOST_MEMORIES]), AT_ONCE):
            by_memory, looking = anchors_of(piece), Looking(search_seconds=SEARCH_SECONDS)
            for memory in piece:
                self._look(memory, by_memory.get(memory, []), looking)
            yield len(piece)

    def split(self, share: float) -> tuple[list[UUID], list[UUID]]:
        """The stale ones to ask about, and those that are held because a repository has too much of them at once."""
        too_much = {name for name, one in self.by_repository.items() if one.is_too_much(share)}
        held = [memory for memory, names in self.stale.items() if names <= too_much]
        for memory in held:
            for name in self.stale[memory]:
                self.by_repository[name].held += 1
        return [memory for memory in self.stale if memory not in set(held)], held

    def found(self) -> Mapping[str, Found]:
        """By the name of the repository, as it is registered where it is."""
        registered = Repository.objects.filter(scopes=self.scope).values_list("name", flat=True)
        names = {name.lower(): name for name in registered}
        return {
            names.get(name, name): Found(dict(one.verdicts), one.memories, one.stale, one.held)
            for name, one in self.by_repository.items()
        }

    def _look(self, memory: UUID, anchors: Sequence[Anchor], looking: Looking) -> None:
        nows = looking.at(anchors, seconds=self._until - time.monotonic())
        for anchor in anchors[len(nows) :]:
            self.by_repository[anchor.repository.lower()].verdicts[UNREAD] += 1
        if len(nows) < len(anchors):
            self.unread += 1
            return
        for name in {now.anchor.repository.lower() for now in nows}:
            self._count(name, [now for now in nows if now.anchor.repository.lower() == name])
        self._settle(memory, nows)

    def _count(self, name: str, nows: Sequence[AnchorNow]) -> None:
        one, verdicts = self.by_repository[name], {now.verdict for now in nows}
        one.verdicts.update(str(now.verdict) for now in nows)
        one.memories += verdicts != {Verdict.UNKNOWN}
        one.stale += bool(verdicts & DEMOTING)

    def _settle(self, memory: UUID, nows: Sequence[AnchorNow]) -> None:
        found = worst({now.verdict for now in nows})
        self.unchecked += found == Verdict.UNKNOWN
        if asked := self._asked.get(memory):
            dispute, opened_at = asked
            if why := why_back(nows, opened_at):
                self.back.append(Back(dispute, why))
            self.waiting += found in DEMOTING
            return
        if found not in DEMOTING:
            return
        self.stale[memory] = frozenset(now.anchor.repository.lower() for now in nows if now.verdict in DEMOTING)
        for name in self.stale[memory]:
            self.by_repository[name].new += 1


def subjects(scope: Scope, repository: str = "") -> QuerySet[Any, UUID]:
    """Ids of live memories that name code, those first about whose code a person is asked, the others in any order: a
    look that has to stop leaves out others each time."""
    anchors = Anchor.objects.filter(memory=OuterRef("pk"), retired_at=None)
    if repository:
        anchors = anchors.filter(repository__iexact=repository)
    asked = Exists(_unsettled(scope).filter(subject=OuterRef("pk")))
    rows = Memory.objects.live().filter(Exists(anchors), scope=scope)
    return rows.annotate(asked=asked).order_by("-asked", "?").values_list("pk", flat=True)


def why_back(nows: Sequence[AnchorNow], opened_at: datetime) -> str:
    """Why nothing is left to ask about changed code; empty where something is, or nobody can say."""
    if worst({now.verdict for now in nows}) not in WELL:
        return ""
    if any(now.anchor.created_at > opened_at for now in nows):
        return f"It was anchored anew since: {told_of(nows)}."
    return f"The code is back: {told_of(nows)}."


def _unsettled(scope: Scope) -> DisputeQuerySet:
    return Dispute.objects.unsettled().filter(scope=scope, type=Dispute.Type.CODE_CHANGED)
