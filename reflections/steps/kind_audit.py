"""Ask of memories that no person wrote whether they are of the kind they say."""

from __future__ import annotations

from typing import Final

from django.db.models import Exists, OuterRef

from memories.models import Kind, Memory, Scope
from memories.models.memory import AuthorKind
from memories.querysets import MemoryQuerySet
from reflections import configuration
from reflections.models import Dispute, Examined, HygieneConfig, Run
from reflections.presentation import counted
from reflections.services import asking
from reflections.services.disputes.pairs import shown
from reflections.services.kinds import JOB, note_audited, settle
from reflections.services.progress import Progress
from reflections.steps import with_model
from zeromemory.llm import KindAudit, ModelRejected

MEANINGS: Final[dict[str, str]] = {
    Kind.FACT: "something that holds, about the work or the world",
    Kind.PREFERENCE: "how somebody likes things to be",
    Kind.DECISION: "what was chosen, with or without the reason",
    Kind.CONVENTION: "how things are to be done here, as a rule",
    Kind.GOTCHA: "a trap: what goes wrong, and how to avoid it",
    Kind.REFERENCE: "where something is found: an address, a path, a document, a contact",
    Kind.EPISODE: "what happened once, at a time",
    Kind.TASK: "something still to be done",
    Kind.OPEN_QUESTION: "a question that has no answer yet",
}
WRITTEN_BY: Final = (AuthorKind.AGENT, AuthorKind.IMPORT)


def work(scope: Scope, progress: Progress) -> None:
    if not with_model.is_ready(progress):
        return
    rule = configuration.hygiene()
    left = rule.kind_most - _audited_by(progress.run)
    for memory in subjects_of(scope).select_related("scope")[: max(left, 0)]:
        _audit(scope, progress, rule, memory)


def survey(scope: Scope) -> str:
    if not asking.is_model_configured():
        return with_model.SURVEY
    number = min(subjects_of(scope).count(), configuration.hygiene().kind_most)
    return f"would ask about {counted(number, 'kind')}, of the newest memories first"


def subjects_of(scope: Scope) -> MemoryQuerySet:
    """Newest first: each once as the kind it has, and never again when a person has decided about its kind."""
    audited = Examined.objects.filter(scanner=JOB, memory=OuterRef("pk"), matter=OuterRef("kind"))
    asked = Dispute.objects.filter(type=Dispute.Type.MISFILED, subject=OuterRef("pk"))
    rows = Memory.objects.live().filter(scope=scope, author_kind__in=WRITTEN_BY)
    return rows.exclude(Exists(audited)).exclude(Exists(asked)).order_by("-recorded_at", "-pk")


def _audited_by(run: Run) -> int:
    """So far. No other run looks after one of its scopes meanwhile."""
    rows = Examined.objects.filter(scanner=JOB, at__gte=run.requested_at)
    return rows.filter(memory__scope__in=run.scopes.all()).count()


def _audit(scope: Scope, progress: Progress, rule: HygieneConfig, memory: Memory) -> None:
    """Raises ModelError where the model does not answer."""
    question = KindAudit(shown(memory), MEANINGS)
    try:
        answer = asking.ask(question, job=JOB, scope=scope, run_id=progress.run.pk)
    except ModelRejected:
        note_audited(memory=memory, model=asking.model_name())
        progress.count(found=1, failed=1)
        return
    dispute = settle(memory=memory, verdict=answer.value, model=answer.model, proposes_from=rule.kind_confidence)
    progress.count(found=1, done=int(dispute is not None), skipped=int(dispute is None))
