"""PURE. What becomes of two memories that resemble each other: nothing, an automatic act, a person, or a judge.

Similarity alone never decides. What an automatic act would take away is queued for a person instead when it is pinned,
of a protected kind, or holds when what would stay does not.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from memories.protection import PROVISIONAL, is_protected
from memories.sameness import adds_nothing, says_the_same
from reflections.naming import named_apart


class Relation(StrEnum):
    DUPLICATE = "duplicate"
    A_SUPERSEDES_B = "a_supersedes_b"
    B_SUPERSEDES_A = "b_supersedes_a"
    CONTRADICTION = "contradiction"
    COMPLEMENTARY = "complementary"
    UNRELATED = "unrelated"


class Action(StrEnum):
    NOTHING = "nothing"
    FORGET = "forget"
    SUPERSEDE = "supersede"
    QUEUE = "queue"
    JUDGE = "judge"


class Reason(StrEnum):
    KNOWN_PAIR = "this pair was queued before"
    TWO_PROJECTS = "they belong to two projects"
    COMPATIBLE = "they can stand beside each other"
    SAME_SESSION = "said again in the same session"
    AUTHORITY = "a provisional note against an authoritative one"
    BOTH_PROVISIONAL = "the newer of two provisional notes"
    DUPLICATE = "the same statement twice"
    SAME_TEXT = "the same text twice"
    ADDS_NOTHING = "a provisional note that adds nothing to an authoritative one"
    SUPERSEDES = "one replaces the other"
    CONTRADICTION = "they contradict each other"
    UNSURE = "the judge is not sure enough"
    PROTECTED = "what would go is of a protected kind"
    PINNED = "what would go is pinned"
    OUTLASTS = "what would go holds when what would stay does not"
    NOT_JUDGED = "nobody has judged them yet"


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Least confidences of a judge, and the cosines from which a provisional note may give way and a session corrects
    itself."""

    duplicate: float = 0.90
    supersedes: float = 0.95
    authority: float = 0.2
    provisional: float = 0.4
    same_words_cosine: float = 0.92
    same_session_cosine: float = 0.95


DEFAULTS: Final = Thresholds()


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One memory of a pair. ``project`` is empty where it is not known; ``entities`` are canonical names."""

    id: object
    content: str
    created_at: datetime
    kind: str = "fact"
    provenance: int = 1
    pinned: bool = False
    session: str = ""
    project: str = ""
    entities: frozenset[str] = frozenset()
    valid_from: datetime | None = None
    valid_until: datetime | None = None

    @property
    def is_protected(self) -> bool:
        return is_protected(self.kind, self.provenance)

    def outlasts(self, other: "Side") -> bool:
        """Whether it holds after the end of *other*, or before a beginning that was still to come when that was
        noted."""
        if other.valid_until and (self.valid_until is None or self.valid_until > other.valid_until):
            return True
        if other.valid_from is None or other.valid_from <= other.created_at:
            return False
        return self.valid_from is None or self.valid_from < other.valid_from


@dataclass(frozen=True, slots=True)
class Pair:
    """``known``: the pair stands in the queue already, in whatever status. ``cosine``: of the two as wholes, None where
    only parts of them were compared."""

    a: Side
    b: Side
    cosine: float | None = None
    known: bool = False

    @property
    def in_order(self) -> tuple[Side, Side]:
        """The older and the newer one."""
        older, newer = sorted((self.a, self.b), key=lambda side: (side.created_at, str(side.id)))
        return older, newer


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge found; its confidence from 0 to 1."""

    relation: Relation
    confidence: float

    def __post_init__(self) -> None:
        if not 0 <= self.confidence <= 1:
            raise ValueError(f"A confidence lies between 0 and 1, not at {self.confidence!r}.")


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do. ``type`` is that of the dispute to queue; with JUDGE, of the one to park where there is no judge."""

    action: Action
    reason: Reason
    type: str = ""
    winner: Side | None = None
    loser: Side | None = None


def decide(pair: Pair, verdict: Verdict | None = None, thresholds: Thresholds = DEFAULTS) -> Decision:
    """What to do about *pair*, given what a judge found, or None before anybody was asked."""
    if pair.known:
        return Decision(Action.NOTHING, Reason.KNOWN_PAIR)
    if _of_two_projects(pair):
        return Decision(Action.NOTHING, Reason.TWO_PROJECTS)
    if verdict is None:
        return _unjudged(pair, thresholds)
    if verdict.relation in (Relation.COMPLEMENTARY, Relation.UNRELATED):
        return Decision(Action.NOTHING, Reason.COMPATIBLE)
    return _judged(pair, verdict, thresholds)


def _of_two_projects(pair: Pair) -> bool:
    return bool(pair.a.project and pair.b.project and pair.a.project != pair.b.project)


# Without a judge -----------------------------------------------------------------------------


def _unjudged(pair: Pair, thresholds: Thresholds) -> Decision:
    if (weaker := _swallowed(pair, thresholds)) is not None:
        winner = pair.b if weaker is pair.a else pair.a
        return _act(Action.SUPERSEDE, Reason.ADDS_NOTHING, "duplicate", winner, weaker)
    if says_the_same(pair.a.content, pair.b.content):
        winner, loser = _duplicate_winner(pair)
        return _act(Action.FORGET, Reason.SAME_TEXT, "duplicate", winner, loser)
    if _corrects_itself(pair, thresholds):
        older, newer = pair.in_order
        return _act(Action.SUPERSEDE, Reason.SAME_SESSION, "supersedes", newer, older)
    return Decision(Action.JUDGE, Reason.NOT_JUDGED, "unjudged")


def _swallowed(pair: Pair, thresholds: Thresholds) -> Side | None:
    """The provisional one of the two, where it says no more than the authoritative one, word for word."""
    provisional = [side for side in (pair.a, pair.b) if side.provenance == PROVISIONAL]
    if len(provisional) != 1:
        return None
    near = pair.cosine is not None and pair.cosine >= thresholds.same_words_cosine
    same = adds_nothing if near else says_the_same
    return provisional[0] if same(pair.a.content, pair.b.content) else None


def _corrects_itself(pair: Pair, thresholds: Thresholds) -> bool:
    """One session said nearly the same twice, with authority, and not of two things that it names apart."""
    a, b = pair.a, pair.b
    if not a.session or a.session != b.session or PROVISIONAL in (a.provenance, b.provenance):
        return False
    if (a.entities and b.entities and not a.entities & b.entities) or named_apart(a.content, b.content):
        return False
    return pair.cosine is not None and pair.cosine >= thresholds.same_session_cosine


# With a verdict ------------------------------------------------------------------------------


def _judged(pair: Pair, verdict: Verdict, thresholds: Thresholds) -> Decision:
    provisional = [side for side in (pair.a, pair.b) if side.provenance == PROVISIONAL]
    if len(provisional) == 1:
        return _by_authority(pair, verdict, provisional[0], thresholds)
    if len(provisional) == 2:
        return _newer_provisional(pair, verdict, thresholds)
    if verdict.relation == Relation.DUPLICATE:
        return _duplicate(pair, verdict, thresholds)
    if verdict.relation == Relation.CONTRADICTION:
        return Decision(Action.QUEUE, Reason.CONTRADICTION, "contradiction")
    return _supersedes(pair, verdict, thresholds)


def _by_authority(pair: Pair, verdict: Verdict, loser: Side, thresholds: Thresholds) -> Decision:
    winner = pair.b if loser is pair.a else pair.a
    if verdict.confidence < thresholds.authority:
        return Decision(Action.QUEUE, Reason.UNSURE, _type_of(verdict), winner, loser)
    return _act(_way_out(verdict), Reason.AUTHORITY, _type_of(verdict), winner, loser)


def _newer_provisional(pair: Pair, verdict: Verdict, thresholds: Thresholds) -> Decision:
    older, newer = pair.in_order
    if verdict.confidence < thresholds.provisional:
        return Decision(Action.QUEUE, Reason.UNSURE, _type_of(verdict), newer, older)
    return _act(_way_out(verdict), Reason.BOTH_PROVISIONAL, _type_of(verdict), newer, older)


def _duplicate(pair: Pair, verdict: Verdict, thresholds: Thresholds) -> Decision:
    winner, loser = _duplicate_winner(pair)
    if verdict.confidence < thresholds.duplicate:
        return Decision(Action.QUEUE, Reason.UNSURE, "duplicate", winner, loser)
    return _act(Action.FORGET, Reason.DUPLICATE, "duplicate", winner, loser)


def _duplicate_winner(pair: Pair) -> tuple[Side, Side]:
    """The winner and the loser of two that say the same: the newer one stays, unless the older wording has more
    authority, as a person's has beside an agent's."""
    older, newer = pair.in_order
    return (older, newer) if older.provenance > newer.provenance else (newer, older)


def _supersedes(pair: Pair, verdict: Verdict, thresholds: Thresholds) -> Decision:
    winner, loser = (pair.a, pair.b) if verdict.relation == Relation.A_SUPERSEDES_B else (pair.b, pair.a)
    if verdict.confidence < thresholds.supersedes:
        return Decision(Action.QUEUE, Reason.UNSURE, "supersedes", winner, loser)
    return _act(Action.SUPERSEDE, Reason.SUPERSEDES, "supersedes", winner, loser)


def _act(action: Action, reason: Reason, type: str, winner: Side, loser: Side) -> Decision:
    """The last rung: what a person marked as lasting, or what nothing would stand in for, is a person's to give up."""
    if loser.pinned:
        return Decision(Action.QUEUE, Reason.PINNED, type, winner, loser)
    if loser.is_protected:
        return Decision(Action.QUEUE, Reason.PROTECTED, type, winner, loser)
    if loser.outlasts(winner):
        return Decision(Action.QUEUE, Reason.OUTLASTS, type, winner, loser)
    return Decision(action, reason, type, winner, loser)


def _way_out(verdict: Verdict) -> Action:
    return Action.FORGET if verdict.relation == Relation.DUPLICATE else Action.SUPERSEDE


def _type_of(verdict: Verdict) -> str:
    if verdict.relation in (Relation.DUPLICATE, Relation.CONTRADICTION):
        return str(verdict.relation)
    return "supersedes"
