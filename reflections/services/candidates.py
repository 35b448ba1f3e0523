"""Find clusters of episodes and propose a draft for each. Nothing here writes a memory."""

import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Count, F
from django.utils import timezone

from memories.models import Entity, Memory, Scope
from memories.services.audit import record
from reflections import extractive
from reflections.clustering import Cluster, Episode, look_for_clusters
from reflections.configuration import cluster_rule
from reflections.distil import Drafted, drafted, question, quoted
from reflections.eligible import Stamp, current_stamp, episodes_by_owner
from reflections.models import Candidate, CandidateMember, FailedCluster, ModelCall, Run
from reflections.services.asking import ask, is_model_configured
from reflections.services.disagreements import is_held_back
from reflections.services.failed_clusters import forget_failures, key_of, note_failure
from reflections.services.progress import beat
from zeromemory.llm import ModelError, ModelRejected, ModelTimedOut

logger = logging.getLogger(__name__)
JOB: Final = "reflection"


@dataclass(frozen=True, slots=True)
class Group:
    """What the eligible episodes of one owner in one scope hold."""

    episodes: Mapping[UUID, Episode]
    clusters: Sequence[Cluster]
    too_small: int = 0
    parked: int = 0


class NotDrafted(ModelError):
    """The model gave no usable answer about some clusters; the others were drafted."""


def find_candidates(*, scope: Scope, run: Run | None = None, stamp: Stamp | None = None, may_ask: bool = True) -> int:
    """Propose a draft for each cluster of the scope; the number of new candidates that wait for a person.

    Vectors of *stamp* are compared, by default those of the configured embedder. With *run*, its progress is kept.
    A cluster that another run claimed meanwhile is passed over. Raises EmbedderError without an embedder; ModelError
    where the model does not answer, after keeping what was made. With a model no transaction may be open. Without
    *may_ask* every draft quotes its episodes, and no model is asked.
    """
    asks = may_ask and is_model_configured()
    made, failures, came_of_it = 0, list[ModelRejected](), Counter[str]()
    for group in survey(scope, stamp):
        came_of_it.update(seen=len(group.episodes), too_small=group.too_small, parked=group.parked)
        _note(run, episodes_seen=F("episodes_seen") + len(group.episodes))
        for cluster in group.clusters:
            try:
                candidate = _propose(scope, cluster, group.episodes, run, asks=asks)
            except ModelRejected as error:
                failures.append(error)
                came_of_it["failed"] += 1
                continue
            came_of_it[_what_became(candidate)] += 1
            if candidate and candidate.state == Candidate.State.PENDING:
                made += 1
                _note(run, candidates_made=F("candidates_made") + 1)
    _keep(run, scope, came_of_it)
    _raise_about(failures)
    return made


def _what_became(candidate: Candidate | None) -> str:
    if candidate is None:
        return "left"
    return "made" if candidate.state == Candidate.State.PENDING else "unsure"


def _keep(run: Run | None, scope: Scope, came_of_it: Counter[str]) -> None:
    """Scope by scope, so that a run that is taken up again counts nothing twice."""
    if run is None:
        return
    episodes = Memory.objects.live().filter(scope=scope, kind="episode")
    came_of_it.update(episodes.aggregate(stored=Count("pk"), drafted=Count("candidacy")))
    if came_of_it["stored"]:
        run.looked[str(scope.pk)] = {name: count for name, count in came_of_it.items() if count}
        _note(run, looked=run.looked)


def survey(scope: Scope, stamp: Stamp | None = None) -> Iterator[Group]:
    """The clusters that a run would propose drafts for; reads only."""
    rule = cluster_rule()
    parked = FailedCluster.objects.parked_keys(scope) if is_model_configured() else set[str]()
    for episodes in episodes_by_owner(scope, stamp or current_stamp()):
        found = look_for_clusters(episodes, rule)
        clusters = [cluster for cluster in found.clusters if key_of(cluster.members) not in parked]
        yield Group(
            {cast("UUID", episode.id): episode for episode in episodes},
            clusters,
            too_small=found.too_small,
            parked=len(found.clusters) - len(clusters),
        )


def _note(run: Run | None, **progress: Any) -> None:
    if run:
        beat(run, **progress)


def _raise_about(failures: Sequence[ModelRejected]) -> None:
    if failures:
        raise NotDrafted(
            f"{len(failures)} of the clusters could not be drafted; their episodes are free for the next search. "
            f"The last one: {failures[-1]}"
        )


def _propose(
    scope: Scope, cluster: Cluster, episodes: Mapping[UUID, Episode], run: Run | None, *, asks: bool
) -> Candidate | None:
    """The new candidate; None when a member was claimed or retired meanwhile, when members disagree and nobody has
    settled it, or there are no words to draft from."""
    members = _free(cluster)
    if members is None or is_held_back(scope, members, run, job=JOB, asks=asks):
        return None
    # Asking takes seconds to minutes, so nothing is held meanwhile; whether the members are free is seen again below.
    draft = _asked(scope, members, run) if asks else _quoted(members, cluster, episodes)
    if not draft.content and not draft.refused:
        return None
    try:
        with transaction.atomic():
            return _stored(scope, cluster, members, draft, run) if _hold(members) else None
    except IntegrityError as error:
        if not _is_claimed_elsewhere(error):
            raise
        logger.info("A cluster of scope %s was claimed by another run.", scope.pk)
        return None


def _free(cluster: Cluster) -> list[Memory] | None:
    """The members in time order, where all are live and in no candidacy."""
    ids = cast("tuple[UUID, ...]", cluster.members)
    found = Memory.objects.live().filter(candidacy__isnull=True).in_bulk(ids)
    return [found[member] for member in ids] if len(found) == len(ids) else None


def _hold(members: Sequence[Memory]) -> bool:
    """Whether all are live still; they are then held so until the candidate is stored."""
    ids = [member.pk for member in members]
    return len(Memory.objects.live().filter(pk__in=ids).order_by("pk").select_for_update(no_key=True)) == len(ids)


def _asked(scope: Scope, members: Sequence[Memory], run: Run | None) -> Drafted:
    """The model's draft. Raises a ModelError; an answer that cannot be used, a refusal of this question and a time-out
    are counted against the cluster."""
    run_id = run.pk if run else None
    _note(run)
    try:
        return drafted(ask(question(members), job=JOB, scope=scope, run_id=run_id), members)
    except (ModelRejected, ModelTimedOut):
        failed = ModelCall.objects.laid_on_questions()
        call = failed.of_step(job=JOB, scope=scope, run_id=run_id).latest("pk")
        note_failure(scope=scope, members=members, call=call)
        raise


def _quoted(members: Sequence[Memory], cluster: Cluster, episodes: Mapping[UUID, Episode]) -> Drafted:
    sources = [
        extractive.Source(member.pk, member.created_at, member.content, episodes[member.pk].vector)
        for member in members
    ]
    names = Entity.objects.in_bulk(cluster.shared_entities)
    return quoted(extractive.draft(sources, [names[entity].name for entity in cluster.shared_entities]))


def _stored(scope: Scope, cluster: Cluster, members: Sequence[Memory], draft: Drafted, run: Run | None) -> Candidate:
    candidate = Candidate.objects.create(
        scope=scope,
        kind=draft.kind,
        draft=draft.content,
        sentences=draft.lines,
        origin=draft.origin,
        confidence=draft.confidence,
        rationale=draft.rationale,
        similarity=cluster.similarity_mean,
        run=run,
        **_outcome(draft),
    )
    CandidateMember.objects.bulk_create(
        CandidateMember(candidate=candidate, memory=member, position=position)
        for position, member in enumerate(members)
    )
    forget_failures(members)
    record(
        actor=None,
        label="cluster search",
        action="propose",
        subject=candidate,
        scope=scope,
        members=len(members),
        run=str(run.pk) if run else None,
        origin=draft.origin,
        dismissed=draft.refused,
    )
    return candidate


def _outcome(draft: Drafted) -> dict[str, Any]:
    if not draft.refused:
        return {}
    return {"state": Candidate.State.DISMISSED, "reason": draft.refused, "decided_at": timezone.now()}


def _is_claimed_elsewhere(error: IntegrityError) -> bool:
    diagnosis = getattr(error.__cause__, "diag", None)
    return getattr(diagnosis, "table_name", None) == CandidateMember._meta.db_table
