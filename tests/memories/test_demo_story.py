"""The story of the demonstration: one question, three ways of remembering, and a function that is rewritten."""

import shutil

import pytest
from django.core.management import call_command
from django.urls import reverse
from django.utils import timezone

from memories import embedding_queue
from memories.access import actor_for_user
from memories.errors import Conflict
from memories.models import Anchor, Memory, Repository
from memories.services.repositories import demo_folder
from memories.transfer.demo import story
from tests.factories import make_member, make_memory, make_scope, make_user
from tests.memories.code.trees import git, make_tree, register
from tests.memories.pages import Html, text_of
from tests.queries import queries_of, recorded_queries

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def folder(settings, tmp_path):
    settings.DATA_FOLDER = tmp_path
    return tmp_path / "demo-code" / "shop"


def tell(user):
    return story.tell(actor=actor_for_user(user), now=timezone.now())


def compare(client, **asked):
    return client.get(reverse("memory_compare"), {"q": story.QUESTION, "scope": story.SLUG} | asked)


def firsts(answer):
    """What each way begins with."""
    ways = Html(answer).classed("compare-rows")
    return [way.text.split(" Search ")[1].split(":")[0] for way in ways]


NEWEST, RELEVANCE = "results are ordered newest first", "results are ordered by relevance"


def test_the_page_says_what_it_is_for_and_where_the_story_is(owner, client_of):
    mine = client_of(owner)
    assert "Ask a question" in text_of(mine.get(reverse("memory_compare")))
    assert "Play the story" not in text_of(mine.get(reverse("memory_compare")))
    tell(owner)
    assert "Play the story" in text_of(mine.get(reverse("memory_compare")))
    assert "None of the memories you may read" in text_of(compare(mine, kind="task"))
    assert "This cannot be asked" in text_of(compare(mine, kind="nothing"))
    assert compare(mine, scope="elsewhere").status_code == 404
    search = Html(mine.get("/memories/", {"q": story.QUESTION, "scope": story.SLUG, "ignore_age": "1"}))
    assert f"scope={story.SLUG}" in next(
        each.attributes["href"] for each in search.all("a") if "Compare with" in each.text
    )


def test_its_queries_do_not_grow_with_the_memories(owner, client_of):
    tell(owner)
    mine = client_of(owner)
    compare(mine)
    assert queries_of(lambda: compare(mine)) == recorded_queries("memory_compare")
    scope = story.scope_of(actor_for_user(owner))
    for number in range(8):
        make_memory(f"Search results of shelf {number} are ordered by name.", scope=scope)
    assert queries_of(lambda: compare(mine)) == recorded_queries("memory_compare")


@pytest.mark.behaviour("H5", "H6", "H7")
def test_it_is_played_by_asking_reverting_and_asking_again(owner, client_of, folder):
    assert tell(owner) == 3
    while embedding_queue.embed_waiting():
        pass
    mine = client_of(owner)
    for _ in range(2):
        rewritten = compare(mine)
        assert firsts(rewritten) == [NEWEST, RELEVANCE]
        assert "stopped applying: newest_first in search.py has changed since" in text_of(rewritten)
        git(folder, "revert", "--no-edit", "HEAD")
        before = compare(mine)
        assert firsts(before) == [NEWEST, NEWEST]
        assert "No code that these memories name has changed." in text_of(before)
        git(folder, "revert", "--no-edit", "HEAD")
    assert "Nothing is known." in text_of(rewritten)


def test_whoever_may_know_folders_is_told_how_to_play(owner, client_of, folder):
    tell(owner)
    assert f"git -C {folder} revert --no-edit HEAD" in text_of(compare(client_of(owner)))
    member = make_member(story.scope_of(actor_for_user(owner)))
    theirs = compare(client_of(member), scope=f"{owner.username}/{story.SLUG}")
    assert "newest first" in text_of(theirs)
    assert str(folder) not in theirs.text


def test_the_anchors_have_the_dates_of_the_story_and_the_repository_can_be_read(owner, client_of, folder):
    tell(owner)
    assert [anchor.created_at == anchor.memory.created_at for anchor in Anchor.objects.all()] == [True] * 3
    page = text_of(client_of(owner).get(reverse("repository_detail", args=[story.REPOSITORY])))
    assert "cannot be read" not in page
    assert "1 changed" in page
    assert git(folder, "log", "--format=%s").splitlines() == [each.commit for each in reversed(story.CHAPTERS)]


def test_a_second_time_adds_nothing_and_leaves_the_folder_as_somebody_left_it(owner, folder):
    tell(owner)
    (folder / story.FILE).write_text("def newest_first(items): ...\n")
    assert tell(owner) == 0
    assert (folder / story.FILE).read_text() == "def newest_first(items): ...\n"
    shutil.rmtree(folder)
    assert tell(owner) == 0
    assert (folder / story.FILE).exists()


def test_another_person_has_memories_of_their_own_beside_the_same_code(owner):
    tell(owner)
    other = make_user()
    assert tell(other) == 3
    assert Repository.objects.get().scopes.count() == 2
    assert not Memory.objects.visible_to(actor_for_user(other)).filter(scope__owner=owner).exists()


def test_it_never_mixes_with_what_is_somebodys_own(owner, tmp_path):
    mine = make_scope(owner, slug=story.SLUG)
    make_memory("My own.", scope=mine)
    with pytest.raises(Conflict, match="holds memories of your own"):
        tell(owner)
    theirs = make_scope()
    register(theirs, make_tree(tmp_path / "real"), story.REPOSITORY)
    with pytest.raises(Conflict, match="another repository"):
        tell(make_user())
    assert Repository.objects.get().scopes.get() == theirs


def test_the_demo_says_so_when_the_folder_cannot_be_written(owner, folder, capsys, settings):
    settings.EMBEDDER = "none"
    folder.parent.write_text("in the way")
    call_command("load_demo", owner=owner.username)
    assert "The story about code was not loaded" in capsys.readouterr().out
    assert demo_folder() == folder.parent
