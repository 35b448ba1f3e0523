"""The code of a memory on its page and in a search."""

import pytest
from django.urls import reverse

from memories.access import actor_for_user
from memories.models import Anchor
from memories.services import AnchorSpec, remember
from tests.factories import make_member, make_memory
from tests.memories.code.trees import RANKING, commit, make_tree, register, write
from tests.memories.pages import Html, text_of

pytestmark = pytest.mark.django_db

REWRITTEN = RANKING.replace("match / (1 + age)", "match - age  # <b>bold</b>")


@pytest.fixture
def tree(tmp_path, scope):
    made = make_tree(tmp_path / "shop")
    register(scope, made)
    return made


@pytest.fixture
def memory(tree, scope):
    anchors = [AnchorSpec("shop", "rank.py", "relevance")]
    content = "Search results are ordered by relevance."
    return remember(actor=actor_for_user(scope.owner), scope=scope, content=content, anchors=anchors, ring=False).memory


def page(client, memory):
    return client.get(reverse("memory_detail", args=[memory.pk]))


def still_holds(client, memory, reason=""):
    (anchor,) = Anchor.objects.filter(memory=memory, retired_at=None)
    return client.post(reverse("memory_reanchor", args=[memory.pk, anchor.pk]), {"reason": reason}, follow=True)


@pytest.mark.behaviour("H16", "H19", "H20")
def test_changed_code_is_shown_then_and_now_until_somebody_says_it_holds(client_of, scope, tree, memory):
    mine = client_of(scope.owner)
    assert "Still holds" not in text_of(page(mine, memory))
    write(tree, {"rank.py": REWRITTEN})
    commit(tree, "Subtract <i>the</i> age")
    changed = page(mine, memory)
    assert [each.text for each in Html(changed).all("del")] == ["return match / (1 + age)"]
    assert [each.text for each in Html(changed).all("ins")] == ["return match - age # <b>bold</b>"]
    assert ": Subtract &lt;i&gt;the&lt;/i&gt; age" in changed.text
    held = text_of(still_holds(mine, memory, "Looked <at> it."))
    assert "Says what it said." in held
    assert "1 former anchor" in held
    assert "by owner Still holds: Looked &lt;at&gt; it." in held
    assert 'id="code"' not in page(mine, make_memory(scope=scope)).text


@pytest.mark.behaviour("H13")
def test_a_renamed_symbol_is_taken_at_its_new_name_in_one_click(client_of, scope, tree, memory):
    write(tree, {"rank.py": RANKING.replace("def relevance", "def ranked")})
    mine = client_of(scope.owner)
    assert "Anchor it to the new place" in text_of(page(mine, memory))
    still_holds(mine, memory)
    assert Anchor.objects.get(memory=memory, retired_at=None).symbol == "ranked"


@pytest.mark.behaviour("H14", "H23", "H28")
def test_gone_code_ranks_low_with_a_badge_and_the_switch_leaves_that_out(client_of, scope, tree, memory):
    mine, query = client_of(scope.owner), "?q=search+results"
    (tree / "rank.py").unlink()
    found = text_of(mine.get("/memories/" + query))
    assert "code gone" in found
    assert "1 of these memories ranks lower" in found
    switched = Html(mine.get(f"/memories/{query}&ignore_code=1"))
    assert "checked" in switched.all("input", name="ignore_code")[0].attributes
    assert "ranks lower" not in " ".join(each.text for each in switched.classed("notice"))
    write(tree, {"rank.py": RANKING})
    assert "code gone" not in text_of(mine.get("/memories/" + query))


def test_a_reader_sees_the_code_and_cannot_say_that_it_holds(client_of, scope, tree, memory):
    write(tree, {"rank.py": REWRITTEN})
    theirs = client_of(make_member(scope))
    assert "Says something else now" in text_of(page(theirs, memory))
    assert still_holds(theirs, memory).status_code == 403
    assert Anchor.objects.count() == 1
