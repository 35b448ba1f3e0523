"""Three ways of remembering, in a window: the story of the demonstration, wide and on a phone."""

from __future__ import annotations

import pytest
from django.utils import timezone

from memories import embedding_queue
from memories.access import actor_for_user
from memories.transfer.demo import story
from tests.browser.conftest import NARROW, WIDE
from tests.memories.code.trees import git


@pytest.fixture
def folder(owner, settings, tmp_path):
    settings.DATA_FOLDER = tmp_path
    story.tell(actor=actor_for_user(owner), now=timezone.now())
    while embedding_queue.embed_waiting():
        pass
    return tmp_path / "demo-code" / "shop"


def test_the_story_is_played_by_keyboard_and_under_axe(owner, visit, folder):
    for size in (WIDE, NARROW):
        window = visit(owner, size=size)
        page = window.open(f"/memories/compare/?scope={story.SLUG}")
        page.keyboard.press("/")
        page.keyboard.type(story.QUESTION)
        page.keyboard.press("Enter")
        page.get_by_text("Time alone begins with a memory that stopped applying").wait_for()
        window.assert_no_sideways_scroll()
        window.assert_accessible()
    git(folder, "revert", "--no-edit", "HEAD")
    page.get_by_role("button", name="Ask again").click()
    page.get_by_text("Both orders begin with the same memory").wait_for()
