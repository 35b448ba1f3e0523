"""Load the demo corpus, embed it, and find the clusters in it."""

import time
from argparse import ArgumentParser
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from memories import embedding_queue
from memories.access import Actor, actor_for_user, scope_for
from memories.errors import ZeroMemoryError
from memories.models import Memory, Scope
from memories.transfer import demo
from memories.transfer.acting import actor_called
from memories.transfer.demo import story
from reflections.services import find_candidates
from zeromemory.embedding import EmbedderError, get_embedder
from zeromemory.lib.counting import counted

PATIENCE_SECONDS: Final = 20.0
PAUSE_SECONDS: Final = 0.5


class Command(BaseCommand):
    help = "Load the demo corpus into two scopes of a person. A second run adds nothing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--owner", help="Whose scopes these become; by default the only person there is.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            actor = actor_called(options["owner"])
            report = demo.load(actor=actor, now=timezone.now())
        except ZeroMemoryError as error:
            raise CommandError(error.message) from error
        self.stdout.write(f"{counted(report.written, 'memory', 'memories')} loaded, {report.existing:,} there already.")
        self.stdout.write(_story(actor))
        scopes = [scope_for(actor_for_user(actor.user), f"{actor.user.get_username()}/{name}") for name in demo.SCOPES]
        try:
            self.stdout.write(_reflect(scopes, story.scope_of(actor)))
        except EmbedderError as error:
            self.stdout.write(f"No reflections yet: {error}")


def _story(actor: Actor) -> str:
    """It needs a scope of that name and a folder that can be written to, and the rest of the demo needs neither."""
    try:
        new = story.tell(actor=actor, now=timezone.now())
    except ZeroMemoryError as error:
        return error.message
    except OSError as error:
        return f"The story about code was not loaded: {error.filename}: {error.strerror}."
    return f"A story about code: {counted(new, 'memory', 'memories')} loaded into {story.SLUG}."


def _reflect(scopes: list[Scope], beside: Scope | None) -> str:
    if get_embedder() is not None and (waiting := _embedded([*scopes, *filter(None, [beside])])):
        left = counted(waiting, "memory", "memories")
        return f"{left} not embedded yet; look for clusters on the page when that is done."
    # A demo spends no tokens that nobody asked for, and works while a configured model does not.
    found = sum(find_candidates(scope=scope, may_ask=False) for scope in scopes)
    return f"{counted(found, 'new reflection')} {'waits' if found == 1 else 'wait'} for you."


def _embedded(scopes: list[Scope]) -> int:
    """Embed what waits; how many are left when nothing moves any more."""
    waiting, moved_at = _without_vectors(scopes), time.monotonic()
    while waiting and time.monotonic() < moved_at + PATIENCE_SECONDS:
        # A worker may hold some of them at this moment; then there is nothing to take up, and they are soon done.
        if not embedding_queue.embed_waiting():
            time.sleep(PAUSE_SECONDS)
        left = _without_vectors(scopes)
        if left < waiting:
            waiting, moved_at = left, time.monotonic()
    return waiting


def _without_vectors(scopes: list[Scope]) -> int:
    return embedding_queue.waiting(Memory.objects.live().in_scopes([scope.pk for scope in scopes])).count()
