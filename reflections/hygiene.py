"""The cycle of care: named steps in order. Each writes one report line for each thing it did or would do."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from memories.errors import Conflict
from memories.models import Scope
from reflections.models import Run
from reflections.presentation import counted
from reflections.services import start_run, survey, work_on

type Step = Callable[[Sequence[Scope], bool], Iterator[str]]


def reflection(scopes: Sequence[Scope], dry_run: bool) -> Iterator[str]:
    """Propose drafts from clusters of episodes; with *dry_run* only count them."""
    if dry_run:
        yield from (_would_propose(scope) for scope in scopes)
        return
    run, is_new = start_run(actor=None, scopes=scopes, ring=False)
    if not is_new:
        state = run.get_state_display().lower()
        raise Conflict(f"A search for clusters is already {state}. Try again when it is done.")
    work_on(run.pk)
    run.refresh_from_db()
    yield f"reflection: {_report(run)}"


STEPS: Final[dict[str, Step]] = {"reflection": reflection}


def _would_propose(scope: Scope) -> str:
    groups = list(survey(scope))
    episodes = sum(len(group.episodes) for group in groups)
    clusters = sum(len(group.clusters) for group in groups)
    return f"reflection: {scope}: would propose {counted(clusters, 'draft')} from {counted(episodes, 'free episode')}"


def _report(run: Run) -> str:
    if run.state != Run.State.DONE:
        return f"{run.get_state_display().lower()}, another worker has taken it over"
    return (
        f"{counted(run.candidates_made, 'new draft')} from {counted(run.episodes_seen, 'free episode')} "
        f"in {counted(run.scopes_done, 'scope')}"
    )
