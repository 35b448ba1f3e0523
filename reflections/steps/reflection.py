"""Propose a draft for each cluster of episodes."""

from memories.models import Scope
from reflections.presentation import counted, nothing_drafted
from reflections.services.candidates import find_candidates
from reflections.services.candidates import survey as clusters_of
from reflections.services.progress import Progress


def work(scope: Scope, progress: Progress) -> None:
    before = progress.run.candidates_made, progress.run.episodes_seen
    try:
        find_candidates(scope=scope, run=progress.run)
    finally:
        progress.run.refresh_from_db(fields=["candidates_made", "episodes_seen"])
        made, seen = progress.run.candidates_made - before[0], progress.run.episodes_seen - before[1]
        progress.count(found=seen, done=made)
        if progress.run.looked:
            progress.note("" if progress.run.candidates_made else nothing_drafted(progress.run))


def survey(scope: Scope) -> str:
    groups = list(clusters_of(scope))
    episodes = sum(len(group.episodes) for group in groups)
    clusters = sum(len(group.clusters) for group in groups)
    return f"would propose {counted(clusters, 'draft')} from {counted(episodes, 'free episode')}"
