"""What becomes of a new memory as soon as it has vectors, before any hygiene cycle and without a judge.

What it says over again, or what its session corrects with it, gives way; what lies as near and says something else
waits for a person. Imports are left out: what came together was kept apart by whoever wrote it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import batched
from typing import Any, Final
from uuid import UUID

from memories.errors import Conflict
from memories.models import Memory, Scope
from memories.models.memory import AuthorKind
from reflections import configuration
from reflections.comparable import Comparable, with_memories
from reflections.eligible import current_stamp
from reflections.ladder import Action, decide
from reflections.models import Dispute, HygieneConfig
from reflections.nearest import nearest_pairs
from reflections.services import asking
from reflections.services.disputes import carry_out

SCANNER: Final = "writing"
AT_ONCE: Final = 100


def on_first_embedded(*, memories: Sequence[UUID], **_: Any) -> None:
    for some in batched(memories, AT_ONCE):
        settle(some)


def settle(memories: Sequence[UUID]) -> None:
    """Compare *memories* with what is nearest in their scopes. Done twice, it changes nothing the second time."""
    rule = configuration.hygiene()
    lowest = min(rule.same_words_cosine, rule.same_session_cosine)
    near = nearest_pairs(_newcomers(memories), stamp=current_stamp(), cosine=lowest, nearest=rule.pair_candidates)
    pairs = {pair.ends: pair for pair in near}
    known = Dispute.objects.known_pairs(memories)
    for found in with_memories([pair for ends, pair in pairs.items() if ends not in known], rule):
        _settle(found, rule)


def _newcomers(memories: Sequence[UUID]) -> list[UUID]:
    rows = Memory.objects.live().filter(pk__in=memories, external_id="")
    return list(rows.exclude(kind="episode").exclude(author_kind=AuthorKind.IMPORT).values_list("pk", flat=True))


def _settle(found: Comparable, rule: HygieneConfig) -> None:
    decision = decide(found.pair, thresholds=configuration.thresholds(rule))
    if decision.action == Action.JUDGE and not _may_wait_for_a_person(found.one.scope, rule):
        return
    try:
        carry_out(one=found.one, another=found.another, decision=decision, scanner=SCANNER)
    except Conflict:
        return  # somebody holds one of the two: the pair scan comes by


def _may_wait_for_a_person(scope: Scope, rule: HygieneConfig) -> bool:
    """Where there is a judge the pair scan asks it; and nobody looks at more than so many."""
    if asking.is_model_configured():
        return False
    waiting = Dispute.objects.unsettled().filter(scope=scope, type=Dispute.Type.UNJUDGED)
    return waiting.count() < rule.pair_most
