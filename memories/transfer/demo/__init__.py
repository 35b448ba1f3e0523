"""The demo corpus: two and a half years of an invented project, and one person's notes, dated back from today.

``harbour.jsonl`` and ``notes.jsonl`` hold one memory a line: what was said, by whom and how many days ago. It takes the
way of every import, so nothing on a page is made up for the page.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from memories import ranking
from memories.access import Actor
from memories.errors import Conflict
from memories.models import Memory
from memories.transfer.contract import Format
from memories.transfer.importing import Report, import_from
from memories.transfer.records import (
    EntityRecord,
    LinkRecord,
    MemoryRecord,
    Record,
    ReinforcementRecord,
    ScopeRecord,
    SignalRecord,
)

SCOPES: Final = {"harbour": "Harbour, a tide tables API", "notes": "Notes"}
FOLDER: Final = Path(__file__).parent

type Told = Mapping[str, Any]
"""A line of the corpus."""


def load(*, actor: Actor, now: datetime) -> Report:
    """Write the corpus into two scopes of the actor's own; what is there already stays as it is.

    Raises Conflict when one of the two is in use for something else: a demonstration never mixes with real memories.
    """
    _refuse_scopes_in_use(actor)
    return import_from(Demo(now, actor), FOLDER, actor=actor, create_scopes=True, trusted=True)


def _refuse_scopes_in_use(actor: Actor) -> None:
    own = Memory.objects.filter(scope__owner=actor.user, scope__slug__in=SCOPES)
    real = own.exclude(external_id__startswith="demo:")
    if taken := sorted(set(real.values_list("scope__slug", flat=True))):
        raise Conflict(
            f"The demo corpus was not loaded: your scope {taken[0]!r} holds memories of your own. "
            "Load it for another account, with: manage.py load_demo --owner NAME."
        )


class Demo(Format):
    name = "demo"

    def __init__(self, now: datetime, actor: Actor) -> None:
        super().__init__()
        self.now = now
        self.person = actor.user.get_username()

    def read(self, source: Path) -> Iterator[Record]:
        for scope, name in SCOPES.items():
            yield ScopeRecord(self._own(scope), name)
            lines = (source / f"{scope}.jsonl").read_text(encoding="utf-8").splitlines()
            told = {line["key"]: line for line in map(json.loads, lines)}
            for line in told.values():
                yield self._record(scope, line, told)

    def _own(self, scope: str) -> str:
        """Named with its owner, so that a shared scope of the same name is never meant."""
        return f"{self.person}/{scope}"

    def _record(self, scope: str, line: Told, told: Mapping[str, Told]) -> MemoryRecord:
        by_person, created_at = line.get("by") == "person", self._date(line)
        signals = tuple(self._signals(line))
        retired = line.get("retired", {})
        successor = told.get(retired.get("replaced_by", ""))
        retired_at = self._date(successor or line | retired) if retired else None
        return MemoryRecord(
            external_id=_name(scope, line["key"]),
            scope=self._own(scope),
            kind=line["kind"],
            content=line["content"],
            author_kind="human" if by_person else line.get("by", "agent"),
            provenance=2 if by_person else 0 if line.get("provisional") else 1,
            agent=line.get("agent", ""),
            session=line.get("session", ""),
            source=line.get("source", ""),
            verbatim=line.get("verbatim", ""),
            pinned=line.get("pinned", False),
            version=line.get("version", 1),
            created_at=created_at,
            recorded_at=created_at,
            updated_at=retired_at or created_at,
            accessed_at=max([created_at, *(signal.at for signal in signals)]),
            access_count=len(signals),
            invalidated_at=retired_at,
            invalidated_by=self.person if retired else "",
            invalidated_actor=self._label(retired["by"]) if retired else "",
            invalidation_reason=retired.get("reason", ""),
            superseded_by=_name(scope, retired["replaced_by"]) if successor else "",
            entities=tuple(EntityRecord(entity["name"], entity["type"]) for entity in line["about"]),
            links=tuple(self._links(scope, line, told)),
            signals=signals,
            reinforcement=_reinforcement(signals),
        )

    def _links(self, scope: str, line: Told, told: Mapping[str, Told]) -> Iterator[LinkRecord]:
        author = self._label(line.get("agent") or line["by"])
        replaced = [other["key"] for other in told.values() if _successor(other) == line["key"]]
        ties = [("supersedes", key) for key in replaced]
        ties += [(link["type"], link["target"]) for link in line.get("links", ())]
        for type, target in ties:
            yield LinkRecord(type, _name(scope, target), self._date(line), author)

    def _signals(self, line: Told) -> Iterator[SignalRecord]:
        for days in sorted(line.get("used_days_ago", ()), reverse=True):
            yield SignalRecord(self._ago(days), "direct", f"{line['key']}-{days}", self.person, useful=True)
        for days in sorted(line.get("challenged_days_ago", ()), reverse=True):
            yield SignalRecord(self._ago(days), "challenge", f"{line['key']}-{days}", self.person, misled=True)

    def _label(self, who: str) -> str:
        return self.person if who in ("person", "import") else f"{who} (token of {self.person})"

    def _date(self, line: Told) -> datetime:
        """Spread over the day, the same way each time: a corpus in which all happens at one minute looks typed."""
        minutes = int.from_bytes(hashlib.sha256(line["key"].encode()).digest()[:4]) % 600
        return self._ago(line["days_ago"]) - timedelta(minutes=minutes if line["days_ago"] >= 1 else 0)

    def _ago(self, days: float) -> datetime:
        return self.now - timedelta(days=days)


def _name(scope: str, key: str) -> str:
    return f"demo:{scope}:{key}"


def _successor(line: Told) -> str | None:
    found: str | None = line.get("retired", {}).get("replaced_by")
    return found


def _reinforcement(signals: tuple[SignalRecord, ...]) -> ReinforcementRecord | None:
    if not signals:
        return None
    useful = sum(signal.confidence for signal in signals if signal.useful)
    misled = sum(signal.confidence for signal in signals if signal.misled)
    multiplier = ranking.reinforcement_multiplier(useful, misled)
    return ReinforcementRecord(multiplier, useful, misled, computed_at=max(signal.at for signal in signals))
