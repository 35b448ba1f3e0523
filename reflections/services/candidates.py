"""Find clusters of episodes and propose a draft for each. Nothing here writes a memory."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import F

from memories.embedder_in_use import query_embedder
from memories.models import Entity, Memory, Scope
from memories.services.audit import record
from reflections import extractive
from reflections.clustering import Cluster, Episode, find_clusters
from reflections.configuration import cluster_rule
from reflections.eligible import Stamp, episodes_by_owner, stamp_of
from reflections.models import Candidate, CandidateMember, Run
from reflections.services.progress import beat
from zeromemory.embedding import EmbedderError

logger = logging.getLogger(__name__)
NO_EMBEDDER = "Episodes are compared by meaning, and no embedder is configured. Set ZEROMEMORY_EMBEDDER to have one."


@dataclass(frozen=True, slots=True)
class Group:
    """What the eligible episodes of one owner in one scope hold."""

    episodes: Mapping[UUID, Episode]
    clusters: Sequence[Cluster]


def find_candidates(*, scope: Scope, run: Run | None = None, stamp: Stamp | None = None) -> int:
    """Propose a draft for each cluster of the scope; the number of new candidates.

    Vectors of *stamp* are compared, by default those of the configured embedder. With *run*, its progress is kept.
    A cluster that another run claimed meanwhile is passed over. Raises EmbedderError without an embedder.
    """
    made = 0
    for group in survey(scope, stamp):
        _note(run, episodes_seen=F("episodes_seen") + len(group.episodes))
        for cluster in group.clusters:
            if _propose(scope, cluster, group.episodes, run):
                made += 1
                _note(run, candidates_made=F("candidates_made") + 1)
    return made


def survey(scope: Scope, stamp: Stamp | None = None) -> Iterator[Group]:
    """The clusters that a run would propose drafts for; reads only."""
    rule = cluster_rule()
    for episodes in episodes_by_owner(scope, stamp or _current_stamp()):
        yield Group({cast("UUID", episode.id): episode for episode in episodes}, find_clusters(episodes, rule))


def _current_stamp() -> Stamp:
    embedder = query_embedder()
    if embedder is None:
        raise EmbedderError(NO_EMBEDDER)
    return stamp_of(embedder)


def _note(run: Run | None, **progress: Any) -> None:
    if run:
        beat(run, **progress)


def _propose(scope: Scope, cluster: Cluster, episodes: Mapping[UUID, Episode], run: Run | None) -> Candidate | None:
    """The new candidate; None when a member was claimed or retired meanwhile, or there are no words to draft from."""
    try:
        with transaction.atomic():
            members = _held(cluster)
            if members is None:
                return None
            draft = _draft(members, cluster, episodes)
            return _stored(scope, cluster, members, draft, run) if draft.content else None
    except IntegrityError as error:
        if not _is_claimed_elsewhere(error):
            raise
        logger.info("A cluster of scope %s was claimed by another run.", scope.pk)
        return None


def _held(cluster: Cluster) -> list[Memory] | None:
    """The members in time order, still live and held so until the candidate is stored."""
    ids = cast("tuple[UUID, ...]", cluster.members)
    rows = Memory.objects.live().filter(pk__in=ids).order_by("pk").select_for_update(no_key=True)
    found = {row.pk: row for row in rows}
    return [found[member] for member in ids] if len(found) == len(ids) else None


def _draft(members: Sequence[Memory], cluster: Cluster, episodes: Mapping[UUID, Episode]) -> extractive.Draft:
    sources = [
        extractive.Source(member.pk, member.created_at, member.content, episodes[member.pk].vector)
        for member in members
    ]
    names = Entity.objects.in_bulk(cluster.shared_entities)
    return extractive.draft(sources, [names[entity].name for entity in cluster.shared_entities])


def _stored(
    scope: Scope, cluster: Cluster, members: Sequence[Memory], draft: extractive.Draft, run: Run | None
) -> Candidate:
    candidate = Candidate.objects.create(
        scope=scope,
        kind=draft.kind,
        draft=draft.content,
        sentences=[{"text": sentence.text, "source": str(sentence.source_id)} for sentence in draft.sentences],
        rationale=draft.rationale,
        similarity=cluster.similarity_mean,
        run=run,
    )
    CandidateMember.objects.bulk_create(
        CandidateMember(candidate=candidate, memory=member, position=position)
        for position, member in enumerate(members)
    )
    record(
        actor=None,
        label="cluster search",
        action="propose",
        subject=candidate,
        scope=scope,
        members=len(members),
        run=str(run.pk) if run else None,
    )
    return candidate


def _is_claimed_elsewhere(error: IntegrityError) -> bool:
    diagnosis = getattr(error.__cause__, "diag", None)
    return getattr(diagnosis, "table_name", None) == CandidateMember._meta.db_table
