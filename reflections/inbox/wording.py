"""What the inbox says about an item: its type, its question, what a button will do."""

from __future__ import annotations

from typing import Final

from memories.models import Memory
from memories.presentation import with_article
from reflections.models import Dispute, DisputeType

_SHORT: Final = {
    "duplicate": "Duplicate",
    "supersedes": "Replacement",
    "contradiction": "Contradiction",
    "unjudged": "Not judged",
    "challenged": "Challenged",
    "stale_suspect": "Misled",
    "outdated": "Outdated",
    "code_changed": "Code changed",
}
TYPES: Final = {type: _SHORT.get(type, label) for type, label in DisputeType.choices}
QUESTIONS: Final = {
    "duplicate": "Do these two say the same?",
    "supersedes": "Does one of these replace the other?",
    "contradiction": "Which of these holds?",
    "unjudged": "These two are much alike. Do both stay?",
    "challenged": "This was challenged. Does it still hold?",
    "stale_suspect": "This misled more than once. Does it still hold?",
    "outdated": "The world has changed. Does this still hold?",
    "code_changed": "The code has changed. Does this still hold?",
    "loop_done": "This seems to be done. Is it closed?",
    "misfiled": "Is this of another kind?",
}
# Why something is here, where nobody wrote it down.
REASONS: Final = {
    "duplicate": "They say the same",
    "supersedes": "One seems to replace the other",
    "contradiction": "They cannot both be true",
    "unjudged": "Much alike; no language model has judged them",
    "challenged": "Somebody says that it misled",
    "stale_suspect": "Several signals say that it misled",
    "outdated": "What it says of the world was checked, and has changed",
    "code_changed": "The code it is about has changed or is gone",
    "loop_done": "Newer memories say that it is done",
    "misfiled": "It reads like a memory of another kind",
}
DONE: Final = {
    "kept_both": "Kept both",
    "forgot": "Forgot one; it can be restored",
    "superseded": "Replaced one by the other",
    "merged": "Merged both into a new text",
    "retired": "Retired; it can be restored",
    "refiled": "Filed as another kind",
    "upheld": "Upheld: the doubt is dismissed",
    "swept": "Closed: a side was gone",
    "passed": "Closed by itself: the code is back",
    "approved": "Approved: written as a memory",
    "promoted": "Promoted to a standing rule",
    "revoked": "Revoked: no rule any more",
    "dismissed": "Dismissed",
    "": "Waits for a decision",
}


def side_word(dispute: Dispute, side: Memory) -> str:
    """``older`` or ``newer``; of one memory nothing."""
    if not dispute.is_pair:
        return ""
    return "older" if side.pk == dispute.subject_id else "newer"


def other_side(dispute: Dispute, side: Memory) -> Memory:
    return next(one for one in dispute.sides if one.pk != side.pk)


def proposal(dispute: Dispute) -> tuple[str, Memory] | None:
    """The resolution that is proposed about a pair with the side that stays; None where nothing is."""
    winner = next((side for side in dispute.sides if side.pk == dispute.proposed_winner_id), None)
    if winner is None or not dispute.is_pair:
        return None
    return ("forget" if dispute.type == "duplicate" else "supersede"), winner


def will(dispute: Dispute, resolution: str, winner: Memory) -> str:
    """What a button about one side does, before it is pressed."""
    stays = side_word(dispute, winner)
    goes = side_word(dispute, other_side(dispute, winner))
    if resolution == "forget":
        return f"Forget the {goes} one; it can be restored"
    return f"Let the {stays} one replace the {goes}"


def settles(dispute: Dispute) -> tuple[str, str]:
    """Of one memory the resolution that agrees with the doubt, and what its button says."""
    if dispute.type == "misfiled":
        return "refile", f"File it as {with_article(dispute.proposed_kind)}"
    if dispute.type == "loop_done":
        return "retire", "Close it; it can be restored"
    return "retire", "Retire it; it can be restored"


def upholds(dispute: Dispute, *, is_gone: bool) -> str:
    """Of one memory, what the button says that lets it stay; of code that is gone there is nothing to take anew."""
    if dispute.type != "code_changed":
        return "Uphold it: it stays as it is"
    if is_gone:
        return "Still holds, without the code that is gone"
    return "Still holds for the code as it is now"


def found_by(dispute: Dispute) -> str:
    """Who opened it: a person or an agent by name, a scanner with its model."""
    if not dispute.scanner:
        return dispute.opened_actor
    return f"{dispute.scanner}, with the model {dispute.model}" if dispute.model else f"{dispute.scanner}, no model"
