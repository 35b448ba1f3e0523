"""Plain functions that make clusters and candidates for tests."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import numpy as np
from django.utils import timezone

from memories.access import Actor, actor_for_user
from memories.models import Memory, Scope, User
from reflections.eligible import Stamp
from reflections.hygiene import start_cycle
from reflections.models import Candidate, CandidateMember, FailedCluster, ModelCall, Run
from reflections.services.failed_clusters import key_of
from tests.factories import DIMENSIONS, MODEL, MODEL_VERSION, at_cosine, make_memory

STAMP = Stamp(MODEL, MODEL_VERSION, DIMENSIONS)


def pairwise(cosine: float, count: int) -> list[np.ndarray]:
    """Unit vectors of which any two have exactly this cosine."""
    return [at_cosine(np.sqrt(cosine), axis=1 + number) for number in range(count)]


def make_episodes(
    scope: Scope,
    count: int = 3,
    *,
    cosine: float = 0.80,
    entities: Sequence[str] = ("cache",),
    newest_days: float = 1,
    **overrides: Any,
) -> list[Memory]:
    """Episodes a day apart, oldest first, any two of them at *cosine*."""
    overrides = {"author": scope.owner} | overrides
    return [
        make_memory(
            f"Step {number}: the cache of service {number} was rebuilt after incident {number}.",
            kind="episode",
            scope=scope,
            vector=vector,
            entities=entities,
            age_days=newest_days + count - 1 - number,
            **overrides,
        )
        for number, vector in enumerate(pairwise(cosine, count))
    ]


def make_candidate(
    scope: Scope,
    *,
    sources: Sequence[Memory] | None = None,
    draft: str = "The cache is rebuilt after every incident.",
    **overrides: Any,
) -> Candidate:
    """A pending draft that quotes its newest source."""
    sources = make_episodes(scope) if sources is None else sources
    values = {
        "draft": draft,
        "sentences": [{"text": draft, "source": str(sources[-1].pk)}],
        "similarity": 0.8,
        "rationale": "One sentence word for word from 1 of 3 episodes.",
    } | overrides
    candidate = Candidate.objects.create(scope=scope, **values)
    CandidateMember.objects.bulk_create(
        CandidateMember(candidate=candidate, memory=source, position=position)
        for position, source in enumerate(sources)
    )
    return candidate


def make_cycle(scope: Scope, **overrides: Any) -> Run:
    """A full cycle that has ended, with a step that failed."""
    run = start_cycle(actor=person(scope.owner), scopes=[scope], ring=False).run
    run.steps.update(state="done", found=1204, done=3, skipped=1201, finished_at=timezone.now())
    failed = {"state": "failed", "note": "The model does not answer. Nothing was changed."}
    run.steps.filter(position=0).update(**failed)
    ended = {"state": "failed", "error": failed["note"], "finished_at": timezone.now(), "started_at": timezone.now()}
    Run.objects.filter(pk=run.pk).update(**ended | overrides)
    run.run_scopes.update(is_open=overrides.get("state") in ("queued", "running"))
    run.refresh_from_db()
    return run


def make_failed_cluster(
    scope: Scope, episodes: Sequence[Memory], *, raw: str = "no", **overrides: Any
) -> FailedCluster:
    """A cluster that the model could not draft, by default parked."""
    call = ModelCall.objects.create(
        job="reflection", scope=scope, model="test:model", seconds=1.0, outcome="rejected", raw=raw
    )
    values = {"failures": 3, "failed_at": timezone.now(), "reason": "No answer could be used.", "call": call}
    cluster = FailedCluster.objects.create(
        scope=scope, key=key_of([episode.pk for episode in episodes]), **values | overrides
    )
    cluster.episodes.set(episodes)
    return cluster


def person(user: User) -> Actor:
    return actor_for_user(user)


def in_days(days: float) -> Any:
    return timezone.now() + timedelta(days=days)
