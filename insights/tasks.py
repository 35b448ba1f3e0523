"""Background work of the pages: ids in, one call, return. Safe to run twice and to lose."""

from celery import shared_task
from django.core.management import call_command


@shared_task
def prepare_demo(username: str) -> None:
    """Embed the demo corpus and find the clusters in it. The sweep and a person do the same, only later."""
    call_command("load_demo", owner=username)
