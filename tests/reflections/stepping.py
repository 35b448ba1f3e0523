"""Running single steps of the hygiene cycle in tests, and memories that lie near each other."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from memories.models import Embedding, Memory, Scope
from reflections import hygiene
from reflections.models import RunStep
from tests.factories import at_cosine, make_memory
from zeromemory.embedding import get_embedder


def near(scope: Scope, content: str, cosine: float = 1.0, *, axis: int = 1, **given: Any) -> Memory:
    """A memory at this similarity to every other one with a cosine of 1; embedded by the embedder in use."""
    memory = make_memory(content, scope=scope, vector=at_cosine(cosine, axis=axis), **given)
    embedder = get_embedder()
    assert embedder is not None
    Embedding.objects.filter(memory=memory).update(model=embedder.name, model_version=embedder.version)
    Memory.objects.filter(pk=memory.pk).update(embedded_with=embedder.stamp, embedded_at=timezone.now())
    return memory


def run_step(name: str, *scopes: Scope) -> RunStep:
    """One run of the step; what it reports."""
    run = hygiene.start_cycle(actor=None, scopes=scopes, steps=[name], ring=False).run
    hygiene.work_on(run.pk)
    return run.steps.get()


def fresh(memory: Memory) -> Memory:
    return Memory.objects.get(pk=memory.pk)
