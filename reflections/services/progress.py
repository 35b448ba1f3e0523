"""The heartbeat of a run, what its steps count, and how a worker learns that it has lost one or is to stop."""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

from django.db import DatabaseError, connection, models
from django.db.models import F
from django.utils import timezone

from reflections.models import Run, RunStep

logger = logging.getLogger(__name__)
EVERY_SECONDS: Final = 8.0
WRITTEN_EVERY_SECONDS: Final = 0.5


class TakenOverError(Exception):
    """The run was taken from this worker, which had been silent for too long."""


class CancelledError(Exception):
    """Somebody asked for the run to stop."""


def beat(run: Run, **progress: Any) -> None:
    """Write *progress* and the time. Raises TakenOverError when the run is no longer this worker's, CancelledError when
    it is to stop."""
    # The number of the attempt is the worker's ticket: whoever takes the run up again counts it on.
    mine = Run.objects.filter(pk=run.pk, state=Run.State.RUNNING, attempts=run.attempts)
    if not mine.update(heartbeat_at=timezone.now(), **progress):
        raise TakenOverError
    if mine.filter(cancel_asked_at__isnull=False).exists():
        raise CancelledError


class Progress:
    """What a step reports while it works. A report is written twice a second at most, and each is a heartbeat, so it
    may raise what ``beat`` raises; what was counted until then is kept."""

    def __init__(self, run: Run, step: RunStep) -> None:
        self.run = run
        self.step = step
        self._counted: Counter[str] = Counter()
        self._scopes_done = 0
        self._written_at = time.monotonic()

    def count(self, *, found: int = 0, done: int = 0, skipped: int = 0, failed: int = 0) -> None:
        """So many more of each."""
        self._counted.update(found=found, done=done, skipped=skipped, failed=failed)
        self._write_in_time()

    def scope_done(self) -> None:
        self._scopes_done += 1
        self._write_in_time()

    def note(self, sentence: str) -> None:
        self._mine().update(note=sentence[:2000])

    def note_also(self, sentence: str) -> None:
        """Beside what was noted before, such as of other scopes."""
        self.step.refresh_from_db(fields=["note"])
        self.note(f"{self.step.note} {sentence}".strip())

    def write(self) -> None:
        counted, self._counted = self._counted, Counter()
        self._written_at = time.monotonic()
        more = {name: F(name) + number for name, number in counted.items() if number}
        if more:
            self._mine().update(**more)
        beat(self.run, scopes_done=self._scopes_done)

    def _mine(self) -> models.QuerySet[RunStep]:
        return RunStep.objects.filter(pk=self.step.pk, run__attempts=self.run.attempts)

    def _write_in_time(self) -> None:
        if time.monotonic() - self._written_at >= WRITTEN_EVERY_SECONDS:
            self.write()


@contextmanager
def heard_of(run: Run, every: float = EVERY_SECONDS) -> Iterator[None]:
    """Beat from a thread meanwhile: comparing tens of thousands of episodes takes minutes and is not a lost worker.

    The thread ends with the process, so a killed worker does fall silent.
    """
    with kept_alive(partial(beat, run), f"Run {run.pk}", every):
        yield


@contextmanager
def kept_alive(beat: Callable[[], None], name: str, every: float = EVERY_SECONDS) -> Iterator[None]:
    """Call *beat* from a thread meanwhile. It may raise what the ``beat`` of a run does."""
    done = threading.Event()
    thread = threading.Thread(target=_keep_beating, args=(beat, name, done, every), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _keep_beating(beat: Callable[[], None], name: str, done: threading.Event, every: float) -> None:
    while not done.wait(every):
        try:
            beat()
        except TakenOverError:
            return  # the worker learns it from its own next beat
        except CancelledError:
            continue  # it may be waiting for a model; until its own next beat it is no lost worker
        except DatabaseError as error:
            logger.warning("%s could not be heard of: %s", name, error)
        finally:
            connection.close()
