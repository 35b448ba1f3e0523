"""The pages of repositories: what is registered, and what hangs on its code."""

import pytest
from django.urls import reverse

from memories import anchored
from memories.access import actor_for_user
from memories.models import Repository
from memories.services import AnchorSpec, forget, remember
from tests.factories import make_member, make_memory, make_user
from tests.memories.code.trees import RANKING, make_tree, register, write
from tests.memories.pages import Html, text_of
from tests.queries import queries_of, recorded_queries

pytestmark = pytest.mark.django_db

REWRITTEN = RANKING.replace("match / (1 + age)", "match - age")


@pytest.fixture
def tree(tmp_path):
    return make_tree(tmp_path / "shop", {"rank.py": RANKING, "web/page.js": "function show() { return 1; }\n"})


@pytest.fixture
def shop(tree, scope):
    return register(scope, tree)


@pytest.fixture
def mine(client_of, owner, scope):
    return client_of(owner)


def anchored_to(scope, content, *places):
    anchors = [AnchorSpec("shop", *place.split("#")) for place in places]
    return remember(actor=actor_for_user(scope.owner), scope=scope, content=content, anchors=anchors, ring=False).memory


def page(client, query="", name="shop"):
    return client.get(reverse("repository_detail", args=[name]) + query)


def test_an_empty_list_says_what_a_repository_is_for(mine, client_of):
    assert "No repository is registered" in text_of(mine.get("/repositories/"))
    assert "Staff register repositories" in text_of(client_of(make_user()).get("/repositories/"))


def test_staff_register_with_a_plain_form(mine, scope, tree):
    sent = {"name": "shop", "path": str(tree), "scopes": [scope.pk]}
    answer = mine.post("/repositories/", sent)
    assert answer.headers["Location"] == reverse("repository_detail", args=["shop"])
    assert list(Repository.objects.get().scopes.all()) == [scope]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"name": "a b"}, "Use letters, digits"),
        ({"path": "/nowhere/at/all"}, "The server cannot read this folder"),
        ({"name": "SHOP"}, "registered already"),
        ({"scopes": []}, "This field is required."),
    ],
)
def test_what_is_refused_is_said_and_what_was_typed_is_kept(mine, scope, tree, shop, wrong, said):
    sent = {"name": "other", "path": str(tree), "scopes": [scope.pk]} | wrong
    answer = mine.post("/repositories/", sent)
    assert answer.status_code == 422
    assert said in text_of(answer)
    assert (Html(answer).field("name"), Html(answer).field("path")) == (sent["name"], sent["path"])
    assert Repository.objects.count() == 1


def test_nobody_but_staff_registers_changes_or_removes(client_of, scope, shop, tree):
    theirs = client_of(make_member(scope, "admin"))
    assert theirs.post("/repositories/", {"name": "x", "path": str(tree), "scopes": [scope.pk]}).status_code == 403
    for act in ("change", "remove"):
        sent = {"path": "/srv", "scopes": [scope.pk]}
        answer = theirs.post(reverse(f"repository_{act}", args=["shop"]), sent)
        assert answer.status_code in (403, 422)
    assert Repository.objects.get().path == str(tree)


def test_the_path_is_for_staff_and_the_rest_for_readers_of_its_scopes(client_of, mine, scope, shop, tree):
    reader = client_of(make_member(scope))
    for address in ("/repositories/", reverse("repository_detail", args=["shop"])):
        assert str(tree) in mine.get(address).text
        assert "shop" in text_of(reader.get(address))
        assert str(tree.parent) not in reader.get(address).text
    assert page(client_of(make_user(is_staff=True))).status_code == 404


@pytest.mark.behaviour("H14")
def test_the_list_counts_anchors_by_verdict_as_of_now(mine, scope, shop, tree):
    anchored_to(scope, "By relevance.", "rank.py#relevance")
    anchored_to(scope, "Newest first.", "rank.py#newest_first")
    anchored_to(scope, "The page shows.", "web/page.js")
    assert "3 in force 3 unchanged" in text_of(mine.get("/repositories/"))
    write(tree, {"rank.py": REWRITTEN})
    (tree / "web/page.js").unlink()
    shown = text_of(mine.get("/repositories/"))
    assert "3 in force 1 changed 1 gone 1 unchanged" in shown
    assert "javascript, python" in shown
    write(tree, {"rank.py": RANKING})
    assert "1 gone 2 unchanged" in text_of(mine.get("/repositories/"))


def test_a_folder_that_went_away_is_said_and_nothing_is_stale(mine, scope, shop, tree, tmp_path):
    anchored_to(scope, "By relevance.", "rank.py#relevance")
    mine.get("/repositories/")
    read = Repository.objects.get().read_at
    assert read is not None
    tree.rename(tmp_path / "away")
    shown = text_of(mine.get("/repositories/"))
    assert "cannot be read" in shown
    assert "1 in force 1 unknown" in shown
    assert "nothing here is known to be fresh or stale" in text_of(page(mine))
    assert Repository.objects.get().read_at == read


def test_what_hangs_on_a_function_is_found_by_path_and_symbol(mine, scope, shop):
    by = anchored_to(scope, "By relevance.", "rank.py#relevance")
    first = anchored_to(scope, "Newest first.", "rank.py#newest_first")
    whole = anchored_to(scope, "The page shows.", "web/page.js")
    all_of_them = Html(page(mine))
    links = {link.attributes["href"] for link in all_of_them.all("a")}
    assert {reverse("memory_detail", args=[memory.pk]) + "#code" for memory in (by, first, whole)} <= links
    assert [path.text for path in all_of_them.classed("hanging-path")] == ["rank.py", "web/page.js"]
    assert "the whole file unchanged" in text_of(page(mine))
    narrowed = text_of(page(mine, "?path=rank.py&symbol=newest"))
    assert "Newest first." in narrowed
    assert "By relevance." not in narrowed
    assert "Nothing hangs on that" in text_of(page(mine, "?path=%00nowhere"))


def test_only_live_memories_of_scopes_that_i_read_hang_on_it(mine, client_of, scope, shop, owner):
    memory = anchored_to(scope, "By relevance.", "rank.py#relevance")
    stranger = make_user()
    shop.owner = stranger
    shop.save()
    assert "By relevance." not in text_of(page(client_of(stranger)))
    forget(actor=actor_for_user(owner), memory=memory)
    assert "No memory names this code yet" in text_of(page(mine))


def test_no_more_code_is_read_than_is_said(mine, scope, shop, monkeypatch):
    for symbol in ("relevance", "newest_first"):
        anchored_to(scope, f"About {symbol}.", f"rank.py#{symbol}")
    monkeypatch.setattr(anchored, "MOST_LOOKED_AT", 1)
    assert "The code of 1 of 2 anchors was read" in text_of(page(mine))
    assert "2 in force 1 unchanged 1 not looked at here" in text_of(mine.get("/repositories/"))


def test_it_is_changed_and_removed_by_forms(mine, scope, shop, tmp_path):
    moved = make_tree(tmp_path / "moved")
    refused = mine.post(reverse("repository_change", args=["shop"]), {"path": "/nowhere", "scopes": [scope.pk]})
    assert (refused.status_code, Html(refused).field("path") != "") == (422, True)
    mine.post(reverse("repository_change", args=["shop"]), {"path": str(moved), "scopes": [scope.pk]})
    assert Repository.objects.get().path == str(moved.resolve())
    answer = mine.post(reverse("repository_remove", args=["shop"]), follow=True)
    assert "Removed shop." in text_of(answer)
    assert not Repository.objects.exists()


def test_the_queries_do_not_grow_with_rows(mine, scope, shop, tree, tmp_path):
    anchored_to(scope, "By relevance.", "rank.py#relevance")
    few, few_inside = queries_of(lambda: mine.get("/repositories/")), queries_of(lambda: page(mine))
    register(scope, make_tree(tmp_path / "other"), "other")
    for number in range(4):
        anchored_to(scope, f"Newest first, said {number} times.", "rank.py#newest_first", "web/page.js")
        make_memory(scope=scope)
    assert queries_of(lambda: mine.get("/repositories/")) == few == recorded_queries("repositories")
    assert queries_of(lambda: page(mine)) == few_inside == recorded_queries("repository")
