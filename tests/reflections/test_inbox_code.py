"""Changed code in the inbox, and the question that comes before it where much changed at once."""

import pytest
from django.urls import reverse

from memories.models import Anchor, AuditEntry, CodeLook
from reflections.models import Dispute
from tests.factories import make_member, make_scope, make_user
from tests.memories.code.trees import RANKING, commit, make_tree, register, write
from tests.memories.pages import Html, text_of
from tests.reflections.anchored import about, asked, functions, in_force, look, module
from tests.reflections.stepping import fresh

pytestmark = pytest.mark.django_db

REWRITTEN = RANKING.replace("match / (1 + age)", "match - age  # <b>bold</b>")


@pytest.fixture
def tree(tmp_path, scope):
    made = make_tree(tmp_path / "shop")
    register(scope, made)
    return made


@pytest.fixture
def row(tree, scope):
    about(scope, "rank.py", "relevance", content="Ordered by relevance.")
    write(tree, {"rank.py": REWRITTEN})
    commit(tree, "Subtract <i>the</i> age")
    look(scope)
    return asked()[0]


@pytest.fixture
def mine(client_of, owner):
    return client_of(owner)


def shown(client, row):
    return client.get("/inbox/", {"item": f"dispute.{row.pk}"})


def act(client, row, name, version=1, **sent):
    address = reverse("inbox_act", args=["dispute", row.pk, name])
    return client.post(address, {"version": version} | sent, follow=True)


def labels(response):
    return [button.text for button in Html(response).classed("button")]


# Opening an item -----------------------------------------------------------------------------


@pytest.mark.behaviour("X3")
def test_the_item_names_symbol_and_commit_and_shows_the_code_then_and_now(mine, row):
    answer = shown(mine, row)
    assert "relevance in rank.py has changed since" in text_of(answer)
    assert ": Subtract &lt;i&gt;the&lt;/i&gt; age" in answer.text
    code = Html(answer).classed("evidence-code")[0]
    assert "return match / (1 + age)" in code.text
    assert "return match - age # <b>bold</b>" in code.text
    assert [each.text for each in Html(answer).all("ins")] == ["return match - age # <b>bold</b>"]
    offered = " ".join(labels(answer))
    for label in ("Retire it; it can be restored", "Still holds for the code as it is now", "Rewrite it", "Snooze"):
        assert label in offered


@pytest.mark.behaviour("X3")
def test_looking_at_an_item_whose_code_is_back_says_so_and_changes_nothing(mine, row, tree):
    write(tree, {"rank.py": RANKING})
    before = Dispute.objects.values().get(pk=row.pk)
    answer = shown(mine, row)
    assert "The code is back. The memory ranks as it did before. This closes by itself" in text_of(answer)
    assert Dispute.objects.values().get(pk=row.pk) == before
    offered = " ".join(labels(answer))
    assert "Close it: the code is back" in offered
    assert "Still holds" not in offered
    closed = text_of(act(mine, row, "passed"))
    assert "Closed: the code is back." in closed
    assert asked("dismissed")[0].resolution == "passed"
    assert "Closed by itself: the code is back" in text_of(shown(mine, row))


def test_an_item_whose_code_is_not_back_cannot_be_closed_as_if_it_were(mine, row):
    answer = act(mine, row, "passed")
    assert answer.status_code == 409
    assert "The code is not back, so this waits." in text_of(answer)
    assert asked() == [row]


@pytest.mark.behaviour("F53")
def test_what_cannot_be_read_is_said_and_what_was_seen_stays(mine, row, tree, tmp_path):
    tree.rename(tmp_path / "away")
    answer = shown(mine, row)
    assert "The code cannot be read at the moment." in text_of(answer)
    assert "+ return match - age" in text_of(answer)
    assert "Close it" not in " ".join(labels(answer))
    refused = act(mine, row, "uphold")
    assert (refused.status_code, asked()) == (409, [row])


@pytest.mark.behaviour("F52", "F53")
def test_where_git_is_missing_the_item_says_that_no_commit_can_be_named(mine, row, monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    assert "Git could not be asked which commit that was" in text_of(shown(mine, row))


def test_of_code_that_is_gone_it_offers_to_hold_without_it(mine, row, tree, scope):
    (tree / "rank.py").unlink()
    assert "Still holds, without the code that is gone" in " ".join(labels(shown(mine, row)))
    act(mine, row, "uphold")
    assert in_force(row.subject) == []


@pytest.mark.behaviour("X3")
@pytest.mark.parametrize(
    ("name", "sent", "state"),
    [
        ("uphold", {}, "live"),
        ("retire", {}, "invalidated"),
        ("correct", {"text": "Ordered by difference.", "seen": 1}, "superseded"),
        ("snooze", {}, "live"),
    ],
)
def test_still_holds_retire_rewrite_and_snooze_do_what_they_say_and_can_be_undone(mine, row, name, sent, state):
    act(mine, row, name, **sent)
    row.refresh_from_db()
    assert (fresh(row.subject).state, row.status == "pending") == (state, False)
    act(mine, row, "undo", row.version)
    assert (len(asked()), fresh(row.subject).state) == (1, "live")
    assert "1 + age" in in_force(row.subject)[0].code


def test_a_reader_sees_the_code_and_decides_nothing(client_of, scope, row):
    theirs = client_of(make_member(scope))
    assert "You may read this scope" in text_of(shown(theirs, row))
    assert act(theirs, row, "uphold").status_code == 403
    assert Anchor.objects.count() == 1
    assert shown(client_of(make_user()), row).status_code == 404


def test_the_page_of_the_memory_leads_to_its_item_while_it_waits(mine, row):
    page = reverse("memory_detail", args=[row.subject_id])
    assert f"/inbox/?item=dispute.{row.pk}" in mine.get(page).text
    act(mine, row, "uphold")
    assert "It waits in the inbox" not in mine.get(page).text


# Much at once --------------------------------------------------------------------------------


@pytest.fixture
def much(scope, tmp_path):
    tree = make_tree(tmp_path / "shop")
    functions(scope, tree, 5)
    write(tree, module(5, changed=3))
    look(scope)
    return tree


def ask(client, name="shop"):
    return client.post(reverse("code_ask", args=[name]), follow=True)


@pytest.mark.behaviour("F53")
def test_inbox_and_repository_say_what_is_held_and_one_click_asks_about_it(mine, owner, scope, much):
    assert "Nobody was asked about 3 memories of home" in text_of(mine.get("/inbox/"))
    page = text_of(mine.get("/repositories/shop/"))
    assert "Of 5 memories of home anchored here, the code of 3 had changed or was gone" in page
    answer = text_of(ask(mine))
    assert "3 items came to the inbox." in answer
    assert "Much code changed at once" not in answer
    assert (len(asked()), CodeLook.objects.get().held) == (3, 0)
    entry = AuditEntry.objects.get(action="ask_about_code")
    assert (entry.user, entry.detail) == (owner, {"repository": "shop", "items": 3})
    look(scope)
    assert (len(asked()), CodeLook.objects.get().held) == (3, 0)


@pytest.mark.behaviour("F53")
def test_what_came_back_before_somebody_said_so_is_not_asked_about(mine, scope, much):
    write(much, module(5))
    assert "0 items came to the inbox." in text_of(ask(mine))
    assert asked() == []


def test_a_reader_sees_what_is_held_and_a_stranger_does_not(client_of, scope, much):
    theirs = client_of(make_member(scope))
    assert "Much changed at once" in text_of(theirs.get("/repositories/shop/"))
    assert "ask about them in the inbox" not in text_of(theirs.get("/repositories/shop/"))
    assert ask(theirs).status_code == 403
    stranger = make_user()
    make_scope(stranger)
    assert ask(client_of(stranger)).status_code == 404
    assert "Much code" not in text_of(client_of(stranger).get("/inbox/"))
    assert asked() == []


# Recall ------------------------------------------------------------------------------------------


@pytest.mark.behaviour("X3", "H7")
def test_an_item_about_code_does_not_doubt_what_a_revert_has_brought_back(row):
    assert Dispute.objects.doubted_among([row.subject_id]) == {}
