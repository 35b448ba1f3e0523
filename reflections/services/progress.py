"""The heartbeat of a run, and how a worker learns that it has lost one."""

from typing import Any

from django.utils import timezone

from reflections.models import Run


class TakenOverError(Exception):
    """The run was taken from this worker, which had been silent for too long."""


def beat(run: Run, **progress: Any) -> None:
    """Write *progress* and the time; raises TakenOverError when the run is no longer this worker's."""
    # The number of the attempt is the worker's ticket: whoever takes the run up again counts it on.
    mine = Run.objects.filter(pk=run.pk, state=Run.State.RUNNING, attempts=run.attempts)
    if not mine.update(heartbeat_at=timezone.now(), **progress):
        raise TakenOverError
