"""``manage.py demo``: ``up`` with a corpus in which every page has something to show."""

from __future__ import annotations

from urllib.parse import urlencode

from django.core.management import call_command
from django.urls import reverse

from memories.services import people
from memories.transfer.demo import story
from zeromemory import launch
from zeromemory.management.commands import up


class Command(up.Command):
    help = "Start everything with a demo corpus loaded. Ctrl-C ends it all."
    with_demo = True

    def load_demo(self) -> None:
        self._step("demo", "loading the corpus")
        call_command("load_demo", owner=people.OWNER, stdout=self.stdout)

    def what_to_look_at(self) -> list[str]:
        address = launch.base_address()
        return [
            "Look first at:",
            f"  {address}/reflections/  drafts that wait for your judgement, with their sources beside them",
            f"  {address}/memories/     search with the ranker that agents use, and see why each result ranks there",
            f"  {address}/insights/     how the corpus ages",
            "Then play: rewrite a function, and see what an agent is told before and after.",
            f"  {address}{reverse('memory_compare')}?{urlencode({'q': story.QUESTION, 'scope': story.SLUG})}",
        ]
