"""The heartbeat of a run, and how a worker learns that it has lost one."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from django.db import DatabaseError, connection
from django.utils import timezone

from reflections.models import Run

logger = logging.getLogger(__name__)
EVERY_SECONDS: Final = 30.0


class TakenOverError(Exception):
    """The run was taken from this worker, which had been silent for too long."""


def beat(run: Run, **progress: Any) -> None:
    """Write *progress* and the time; raises TakenOverError when the run is no longer this worker's."""
    # The number of the attempt is the worker's ticket: whoever takes the run up again counts it on.
    mine = Run.objects.filter(pk=run.pk, state=Run.State.RUNNING, attempts=run.attempts)
    if not mine.update(heartbeat_at=timezone.now(), **progress):
        raise TakenOverError


@contextmanager
def heard_of(run: Run, every: float = EVERY_SECONDS) -> Iterator[None]:
    """Beat from a thread meanwhile: comparing tens of thousands of episodes takes minutes and is not a lost worker.

    The thread ends with the process, so a killed worker does fall silent.
    """
    done = threading.Event()
    thread = threading.Thread(target=_keep_beating, args=(run, done, every), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _keep_beating(run: Run, done: threading.Event, every: float) -> None:
    while not done.wait(every):
        try:
            beat(run)
        except TakenOverError:
            return  # the worker learns it from its own next beat
        except DatabaseError as error:
            logger.warning("Run %s could not be heard of: %s", run.pk, error)
        finally:
            connection.close()
