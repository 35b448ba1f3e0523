"""Compare what agents are given most with its nearest of any age, as a judge sees it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from uuid import UUID

from django.db.models import Exists, OuterRef, Sum
from django.utils import timezone

from memories.models import Memory, Scope
from memories.querysets import MemoryQuerySet
from memories.services.accesses import forget_old_surfacings
from reflections import configuration
from reflections.eligible import current_stamp
from reflections.ladder import Action, Pair, decide
from reflections.models import Examined, HygieneConfig
from reflections.nearest import Near, nearest_pairs
from reflections.presentation import counted
from reflections.services import asking
from reflections.services.disputes import pair_of
from reflections.services.progress import Progress
from reflections.services.reexamining import (
    JOB,
    SCANNER,
    examined_by,
    known_pairs,
    note_examined,
    note_judged,
    opened_by,
)
from reflections.steps import with_model
from reflections.steps.bench import Bench
from zeromemory.llm import ModelRejected


def work(scope: Scope, progress: Progress) -> None:
    rule = configuration.hygiene()
    forget_old_surfacings(scope, keep_days=rule.reexamine_days)
    if with_model.is_ready(progress):
        Examination(scope, progress, rule).work()


def survey(scope: Scope) -> str:
    if not asking.is_model_configured():
        return with_model.SURVEY
    rule = configuration.hygiene()
    number = min(subjects_of(scope, rule, asking.model_name()).count(), rule.reexamine_subjects)
    return f"would look again at {counted(number, 'text')} that agents were given often"


def subjects_of(scope: Scope, rule: HygieneConfig, model: str) -> MemoryQuerySet:
    """Most often given first: those that *model* has not examined."""
    since = timezone.now().date() - timedelta(days=rule.reexamine_days)
    rows = Memory.objects.live().filter(scope=scope, surfacings__day__gt=since).exclude(kind="episode")
    often = rows.annotate(surfaced=Sum("surfacings__count")).filter(surfaced__gte=rule.reexamine_surfacings)
    examined = Examined.objects.filter(scanner=JOB, memory=OuterRef("pk"), matter=model)
    return often.exclude(Exists(examined)).order_by("-surfaced", "pk")


class Examination:
    """One scope being looked through."""

    def __init__(self, scope: Scope, progress: Progress, rule: HygieneConfig) -> None:
        self.scope, self.progress, self.rule = scope, progress, rule
        self.bench = Bench(scope, progress, configuration.thresholds(rule), SCANNER, JOB)
        self.model = asking.model_name()

    def work(self) -> None:
        left = self.rule.reexamine_subjects - examined_by(self.progress.run)
        subjects = subjects_of(self.scope, self.rule, self.model).values_list("pk", flat=True)[: max(left, 0)]
        for subject in list(subjects):
            for near in self._unknown_pairs(subject):
                if opened_by(self.progress.run) >= self.rule.reexamine_rows:
                    opened = counted(self.rule.reexamine_rows, "new dispute")
                    self.progress.note(f"It stopped at {opened}. The next run goes on from here.")
                    return
                self._compare(near)
            note_examined(memory_id=subject, model=self.model)

    def _unknown_pairs(self, subject: UUID) -> Iterator[Near]:
        near = nearest_pairs(
            [subject], stamp=current_stamp(), cosine=self.rule.pair_cosine, nearest=self.rule.pair_candidates
        )
        known = known_pairs([subject], model=self.model)
        return (pair for pair in near if pair.ends not in known)

    def _compare(self, near: Near) -> None:
        rows = Memory.objects.live().select_related("scope").prefetch_related("entities")
        found = rows.in_bulk([near.subject, near.other])
        if len(found) < 2:
            return  # one of the two was retired meanwhile, perhaps by the comparison before
        one, another = found[near.subject], found[near.other]
        pair = pair_of(one, another, cosine=near.cosine, known=False)
        decision = decide(pair, thresholds=self.bench.thresholds)
        if decision.action == Action.JUDGE:
            self._judge(pair, one, another)
            return
        self.bench.carry_out(one, another, decision)

    def _judge(self, pair: Pair, one: Memory, another: Memory) -> None:
        """Raises ModelError where the model does not answer."""
        try:
            judgement = self.bench.judge(one, another)
        except ModelRejected:
            note_judged(one=one, another=another, model=self.model, verdict="rejected", confidence=0)
            self.progress.count(found=1, failed=1)
            return
        self.bench.settle(pair, one, another, judgement)
        verdict = judgement.verdict
        note_judged(
            one=one,
            another=another,
            model=judgement.model,
            verdict=verdict.relation,
            confidence=verdict.confidence,
        )
