from celery import shared_task

from zeromemory.lib import heartbeat


@shared_task(name="zeromemory.heartbeat")
def beat() -> None:
    """Runs in the worker, so a fresh heartbeat means that broker and worker both work."""
    heartbeat.beat()
