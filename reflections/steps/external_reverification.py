"""Look up on the web whether the facts of the world that nobody has looked at for long still hold."""

from __future__ import annotations

from typing import Any, Final

from django.db.models import Exists, F, OuterRef, Subquery, Value
from django.db.models.functions import Coalesce, Greatest
from django.utils import timezone

from memories import looks
from memories.models import FreshnessConfig, Memory, Scope
from memories.querysets import MemoryQuerySet
from reflections.models import Dispute, Examined
from reflections.presentation import counted
from reflections.services import asking
from reflections.services.disputes.pairs import shown
from reflections.services.progress import Progress
from reflections.services.reverification import (
    JOB,
    Outcome,
    looked_at_by,
    note_looked,
    note_skipped,
    provider_without_search,
    settle,
)
from reflections.steps import with_model
from zeromemory.llm import CheckWorldFact, LookUp, ModelRejected, SearchUnsupported

NO_SEARCH: Final = "{model} has no web search, so nothing was looked up. Name a model whose provider has one."


def work(scope: Scope, progress: Progress) -> None:
    if with_model.is_ready(progress):
        Check(scope, progress).work()


def survey(scope: Scope) -> str:
    if not asking.is_model_configured():
        return with_model.SURVEY
    row = looks.config()
    number = min(due(scope, row).count(), row.most_memories)
    return f"would look up {counted(number, 'fact')} of the world on the web"


def due(scope: Scope, row: FreshnessConfig) -> MemoryQuerySet:
    """The most reinforced first, then those whose last look is the longest ago. What already is a question to a person
    is none to the web."""
    asked = Dispute.objects.unsettled().singles().filter(subject=OuterRef("pk"))
    looked = Examined.objects.filter(scanner=JOB, memory=OuterRef("pk")).order_by("-at").values("at")[:1]
    rows = Memory.objects.filter(looks.is_stale(looks.budgets(row), timezone.now()), scope=scope)
    return (
        rows.exclude(Exists(asked))
        .annotate(
            multiplier=Coalesce(F("reinforcement__multiplier"), Value(1.0)),
            # A look that told nothing leaves no check; it counts here, so that the same few do not come first for ever.
            last_look=Greatest(looks.last_look(), Coalesce(Subquery(looked), F("created_at"))),
        )
        .order_by("-multiplier", "last_look", "pk")
    )


class Check:
    """One scope being looked up."""

    def __init__(self, scope: Scope, progress: Progress) -> None:
        self.scope, self.progress, self.run = scope, progress, progress.run
        self.config = looks.config()

    def work(self) -> None:
        left = max(0, self.config.most_memories - looked_at_by(self.run))
        seen = Examined.objects.filter(scanner=JOB, matter=str(self.run.pk), memory=OuterRef("pk"))
        memories = list(due(self.scope, self.config).exclude(Exists(seen)).select_related("scope")[:left])
        if memories and (provider := provider_without_search(self.run)):
            self._skip(provider, len(memories))
            return
        for place, memory in enumerate(memories):
            try:
                self._look_up(memory)
            except SearchUnsupported as error:
                self._skip(error.provider, len(memories) - place)
                return

    def _skip(self, provider: str, number: int) -> None:
        model = asking.model_name()
        note_skipped(scope=self.scope, run=self.run, provider=provider, model=model, due=number)
        self.progress.note(NO_SEARCH.format(model=model))
        self.progress.count(found=number, skipped=number)

    def _look_up(self, memory: Memory) -> None:
        """Raises ModelError where the model does not answer."""
        looked_at = timezone.now()
        about: dict[str, Any] = {"job": JOB, "scope": self.scope, "run_id": self.run.pk}
        try:
            searched = asking.search(LookUp(shown(memory), self.config.most_searches), **about)
            if searched.is_exhausted:
                self._note(memory, skipped=1)
                return
            answer = asking.ask(CheckWorldFact(shown(memory), searched.findings), **about)
        except ModelRejected:
            self._note(memory, failed=1)
            return
        outcome = settle(
            memory=memory,
            verdict=answer.value,
            looked_at=looked_at,
            run=self.run,
            model=answer.model,
            counts_from=self.config.confidence,
        )
        self.progress.count(found=1, done=int(outcome != Outcome.LEFT), skipped=int(outcome == Outcome.LEFT))

    def _note(self, memory: Memory, **counts: int) -> None:
        note_looked(memory=memory, run=self.run, model=asking.model_name())
        self.progress.count(found=1, **counts)
