"""The Celery application. Rows are the list of work; the queue is only a doorbell."""

from __future__ import annotations

import functools
import os
from typing import Any

from celery import Celery
from celery.contrib.django.task import DjangoTask
from celery.signals import worker_shutdown
from django.conf import settings
from django.db import transaction

from zeromemory.lib import broker_files, heartbeat

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "zeromemory.settings")


HEARTBEAT = "zeromemory.heartbeat"  # it is a file


class Doorbell(DjangoTask):
    """A task whose loss costs time and never work: a broker that cannot be reached does not fail the request."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if settings.READ_ONLY and self.name != HEARTBEAT:
            from memories.read_only import refuse_writes

            refuse_writes()
        return super().__call__(*args, **kwargs)

    def delay_on_commit(self, *args: Any, **kwargs: Any) -> None:
        # robust: Django logs the error and goes on; the periodic sweep finds the row
        transaction.on_commit(functools.partial(self.delay, *args, **kwargs), robust=True)

    def apply_async_on_commit(self, *args: Any, **kwargs: Any) -> None:
        transaction.on_commit(functools.partial(self.apply_async, *args, **kwargs), robust=True)


class ZeroMemoryCelery(Celery):
    def connection_for_write(self, *args: Any, **kwargs: Any) -> Any:
        make_broker_folders()
        # Without a limit every request waits six seconds for a broker that is down; the sweep does the work anyway.
        at_once = {"max_retries": 0} | (kwargs.pop("transport_options", None) or {})
        return super().connection_for_write(*args, transport_options=at_once, **kwargs)

    def connection_for_read(self, *args: Any, **kwargs: Any) -> Any:
        make_broker_folders()
        return super().connection_for_read(*args, **kwargs)


def make_broker_folders() -> None:
    """The file system transport expects its folders to exist. Other brokers need none."""
    if not settings.BROKER_URL.startswith("filesystem://"):
        return
    for name in ("queue", "control", "taken"):
        (settings.BROKER_FOLDER / name).mkdir(mode=0o700, parents=True, exist_ok=True)


@worker_shutdown.connect
def _say_that_it_stopped(**told: Any) -> None:
    heartbeat.stop()


broker_files.use()
app = ZeroMemoryCelery("zeromemory", task_cls=Doorbell)
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


def _each(task: str, seconds: int) -> dict[str, Any]:
    """A message that waited longer than its period is dropped: the next one does the same work."""
    return {"task": task, "schedule": seconds, "options": {"expires": seconds}}


# Everything that happens by the clock.
app.conf.beat_schedule = {
    "heartbeat": _each(HEARTBEAT, heartbeat.EVERY_SECONDS),
    "embed what is still waiting": _each("memories.tasks.embed_pending", 60),
    "pick up imports that wait": _each("memories.tasks.sweep_imports", 20),
    "forget old activity": _each("memories.tasks.forget_activity", 3600),
    "make the tables of coming months": _each("memories.tasks.make_months", 3600),
    "pick up what hygiene left waiting": _each("reflections.tasks.sweep", 20),
}

if settings.READ_ONLY:
    app.conf.beat_schedule = {"heartbeat": app.conf.beat_schedule["heartbeat"]}


def ring_all() -> None:
    """Send every scheduled task once, now: after a start nobody should wait for the first minute to pass."""
    for entry in app.conf.beat_schedule.values():
        app.send_task(entry["task"], **entry["options"])
