"""Before a cluster becomes one statement: what its episodes say of differently named things goes to the inbox first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, Final
from uuid import UUID

from memories.models import Memory, Scope
from reflections.extractive import split_sentences
from reflections.models import Dispute, Judged, Run
from reflections.naming import texts_named_apart
from reflections.nearest import ends_of
from reflections.services.asking import ask
from reflections.services.disputes import open_pair
from reflections.services.disputes.pairs import shown
from zeromemory.llm import JudgePair, ModelRejected

PAIRS: Final = "disagreements"  # under which pairs are remembered that were judged here
SCANNER: Final = "cluster search"
MOST_ASKED: Final = 3  # pairs of one cluster and run that the model is asked about
_WORDS: Final = (
    "Episodes of one matter that name different things; nothing is distilled from them until this is settled."
)


def is_held_back(scope: Scope, members: Sequence[Memory], run: Run | None, *, job: str, asks: bool) -> bool:
    """Whether nothing is to be distilled from *members* yet: a doubt about two of them waits in the inbox.

    Pairs that say the same of differently named things are judged here, or parked for a person where no model is asked,
    one of a cluster at a time. With a model no transaction may be open, and its tokens go to *job*. Raises ModelError.
    """
    if _is_in_doubt(members):
        return True
    found = _unsettled(members)
    if not asks:
        return any(_opened(pair, "unjudged") for pair in found)
    return any(_contradict(scope, pair, run, job) for pair, _ in zip(found, range(MOST_ASKED), strict=False))


def _is_in_doubt(members: Sequence[Memory]) -> bool:
    """Whether two of them stand against each other in an open dispute of this search, or in a contradiction."""
    ids = [member.pk for member in members]
    pairs = Dispute.objects.unsettled().pairs().filter(subject__in=ids, other__in=ids)
    return any(row.type == "contradiction" or row.scanner == SCANNER for row in pairs)


def _unsettled(members: Sequence[Memory]) -> Iterator[tuple[Memory, Memory]]:
    """Pairs that name things apart, and that nobody was asked about yet."""
    ids = [member.pk for member in members]
    known = Dispute.objects.known_pairs(ids) | Judged.objects.filter(scanner=PAIRS).pairs_with(ids)
    sentences = {member.pk: list(split_sentences(member.content)) for member in members}
    for one, another in combinations(members, 2):
        if ends_of(one.pk, another.pk) in known:
            continue
        if texts_named_apart(sentences[one.pk], sentences[another.pk]):
            yield one, another


def _contradict(scope: Scope, pair: tuple[Memory, Memory], run: Run | None, job: str) -> bool:
    """What the model says; where its answer cannot be used, a person says it."""
    one, another = pair
    run_id: UUID | None = run.pk if run else None
    try:
        answer = ask(JudgePair(shown(one), shown(another)), job=job, scope=scope, run_id=run_id)
    except ModelRejected:
        return _opened(pair, "unjudged")
    found = answer.value
    if found.relation == "contradiction":
        return _opened(
            pair, "contradiction", model=answer.model, confidence=found.confidence, rationale=found.rationale
        )
    Judged.objects.note(
        PAIRS,
        ends_of(one.pk, another.pk),
        verdict=found.relation,
        confidence=found.confidence,
        model=answer.model,
    )
    return False


def _opened(pair: tuple[Memory, Memory], type: str, **judged: Any) -> bool:
    one, another = pair
    judged = {"rationale": _WORDS} | judged
    return open_pair(one=one, another=another, type=type, scanner=SCANNER, **judged) is not None
