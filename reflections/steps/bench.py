"""What every step does that compares two memories: ask the judge, carry out what is decided, and count it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from memories.models import Memory, Scope
from reflections.ladder import Decision, Pair, Relation, Thresholds, Verdict, decide
from reflections.models import Dispute
from reflections.services import asking
from reflections.services.disputes import carry_out
from reflections.services.disputes.pairs import shown
from reflections.services.progress import Progress
from zeromemory.llm import JudgePair


class Judgement(NamedTuple):
    verdict: Verdict
    model: str
    rationale: str


@dataclass(frozen=True, slots=True)
class Bench:
    """*scanner* is named on what it opens, *job* on what it asks."""

    scope: Scope
    progress: Progress
    thresholds: Thresholds
    scanner: str
    job: str

    def judge(self, one: Memory, another: Memory) -> Judgement:
        """Raises ModelError where the model does not answer, ModelRejected where its answer cannot be used."""
        question = JudgePair(shown(one), shown(another))
        answer = asking.ask(question, job=self.job, scope=self.scope, run_id=self.progress.run.pk)
        found = answer.value
        return Judgement(Verdict(Relation(found.relation), found.confidence), answer.model, found.rationale)

    def settle(self, pair: Pair, one: Memory, another: Memory, judgement: Judgement) -> Dispute | None:
        """Do what the ladder says of what was judged."""
        return self.carry_out(
            one,
            another,
            decide(pair, judgement.verdict, self.thresholds),
            model=judgement.model,
            confidence=judgement.verdict.confidence,
            rationale=judgement.rationale,
        )

    def carry_out(
        self, one: Memory, another: Memory, decision: Decision, *, model: str = "", **judged: object
    ) -> Dispute | None:
        dispute = carry_out(one=one, another=another, decision=decision, scanner=self.scanner, model=model, **judged)
        self.progress.count(found=1, done=int(dispute is not None), skipped=int(dispute is None))
        return dispute
