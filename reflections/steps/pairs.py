"""Compare what was written lately with its nearest, and settle or queue what does not go together."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import batched
from typing import Final
from uuid import UUID

from django.db.models import Min
from django.utils import timezone

from memories.embedding_queue import waiting
from memories.models import Memory, Scope
from reflections import configuration
from reflections.comparable import Comparable, comparable
from reflections.eligible import current_stamp
from reflections.ladder import Action, Decision, decide
from reflections.models import Dispute, HygieneConfig, Judged, Watermark
from reflections.nearest import nearest_pairs
from reflections.presentation import counted
from reflections.services import asking
from reflections.services.progress import Progress
from reflections.steps.bench import Bench
from zeromemory.llm import ModelRejected

SCANNER: Final = "pair scan"
JOB: Final = "pair_scan"
SUBJECTS_AT_ONCE: Final = 200
# A long write becomes visible behind the moment its rows name.
OVERLAP: Final = timedelta(minutes=10)


def work(scope: Scope, progress: Progress) -> None:
    scan = Scan(scope, progress)
    until = horizon(scope)  # before the subjects are read: a judge takes its time, and what comes meanwhile is new
    for subjects in batched(subjects_of(scope, scan.rule), SUBJECTS_AT_ONCE):
        scan.look_at(subjects)
        if scan.is_full:
            left = f"{counted(scan.parked, 'pair')} of {scope} were left for a person"
            progress.note(f"{left}. The next run goes on from here.")
            return
    Watermark.objects.update_or_create(scope=scope, scanner=JOB, defaults={"until": until})


def survey(scope: Scope) -> str:
    rule, found = configuration.hygiene(), 0
    for subjects in batched(subjects_of(scope, rule), SUBJECTS_AT_ONCE):
        found += sum(1 for _ in pairs_to_compare(scope, subjects, rule))
    return f"would compare {counted(found, 'pair')} of memories that lie near each other"


def subjects_of(scope: Scope, rule: HygieneConfig) -> list[UUID]:
    """Live memories written since the scan came by last, oldest first; no further back than the rule says."""
    since = timezone.now() - timedelta(days=rule.pair_days)
    reached = Watermark.objects.filter(scope=scope, scanner=JOB).values_list("until", flat=True).first()
    rows = Memory.objects.live().filter(scope=scope, recorded_at__gt=max(since, reached or since))
    return list(rows.exclude(kind="episode").order_by("recorded_at", "pk").values_list("pk", flat=True))


def horizon(scope: Scope) -> datetime:
    """How far a scan that begins now will have come: not past what waits for its vectors."""
    until = timezone.now() - OVERLAP
    first_waiting = waiting(Memory.objects.filter(scope=scope)).aggregate(first=Min("recorded_at"))["first"]
    return min(until, first_waiting - timedelta(microseconds=1)) if first_waiting else until


def pairs_to_compare(scope: Scope, subjects: Sequence[UUID], rule: HygieneConfig) -> Iterator[Comparable]:
    """Each pair once, without those that were queued or judged before. Where there is no judge, none is further apart
    than ``pair_cosine``: it would only wait."""
    lowest = min(rule.pair_cosine, rule.pair_cosine_alike) if asking.is_model_configured() else rule.pair_cosine
    near = nearest_pairs(subjects, stamp=current_stamp(), cosine=lowest, nearest=rule.pair_candidates)
    pairs = {pair.ends: pair for pair in near}
    known = Dispute.objects.known_pairs(subjects) | judged_pairs(subjects)
    return comparable(scope, [pair for ends, pair in pairs.items() if ends not in known], rule)


def judged_pairs(subjects: Sequence[UUID]) -> set[tuple[UUID, UUID]]:
    return Judged.objects.filter(scanner=JOB).pairs_with(subjects)


class Scan:
    """One scope being looked through."""

    def __init__(self, scope: Scope, progress: Progress) -> None:
        self.scope, self.progress = scope, progress
        self.rule = configuration.hygiene()
        self.bench = Bench(scope, progress, configuration.thresholds(self.rule), SCANNER, JOB)
        self.has_judge = asking.is_model_configured()
        self.parked = 0

    def look_at(self, subjects: Sequence[UUID]) -> None:
        for found in pairs_to_compare(self.scope, subjects, self.rule):
            if self.is_full:
                return
            self._settle(found)

    @property
    def is_full(self) -> bool:
        return self.parked >= self.rule.pair_most

    def _settle(self, found: Comparable) -> None:
        decision = decide(found.pair, thresholds=self.bench.thresholds)
        if decision.action == Action.JUDGE and self.has_judge:
            self._judge(found, decision)
            return
        # Only a judge opens anything about two that lie further apart.
        if decision.action == Action.NOTHING or not found.is_near:
            self.progress.count(found=1, skipped=1)
            return
        self._park(found, decision)

    def _judge(self, found: Comparable, unjudged: Decision) -> None:
        """Raises ModelError where the model does not answer; an answer that cannot be used leaves it to a person."""
        try:
            judgement = self.bench.judge(found.one, found.another)
        except ModelRejected as error:
            self._without_an_answer(found, unjudged, error)
            return
        self.bench.settle(found.pair, found.one, found.another, judgement)
        self._note(found, judgement.verdict.relation, judgement.verdict.confidence, judgement.model)

    def _without_an_answer(self, found: Comparable, unjudged: Decision, error: ModelRejected) -> None:
        self.progress.count(failed=1)
        if found.is_near:
            self._park(found, unjudged, rationale=f"The model was asked and gave no usable answer. {error}")
            return
        self.progress.count(found=1, skipped=1)
        self._note(found, "rejected", 0, asking.model_name())

    def _note(self, found: Comparable, verdict: str, confidence: float, model: str) -> None:
        """So that nobody is asked again."""
        Judged.objects.note(JOB, found.near.ends, verdict=verdict, confidence=confidence, model=model)

    def _park(self, found: Comparable, decision: Decision, *, rationale: str = "") -> None:
        """What no judge decided; of that a person looks at so much in one run."""
        dispute = self.bench.carry_out(found.one, found.another, decision, rationale=rationale)
        self.parked += decision.action == Action.JUDGE and dispute is not None
