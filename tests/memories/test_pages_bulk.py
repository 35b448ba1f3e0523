"""Forgetting many on the pages and on the command line: counted, done, still to be undone after a reload."""

import io
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from memories.models import Memory, Role
from tests.factories import make_member, make_memory, make_scope, make_user
from tests.memories.pages import Html, text_of

pytestmark = pytest.mark.django_db

PAGE = "/memories/bulk/"
MARCH = datetime(2025, 3, 1, tzinfo=UTC)


@pytest.fixture
def mine(client_of, owner, scope):
    return client_of(owner)


def ten_in(scope):
    return {make_memory(scope=scope, created_at=MARCH - timedelta(days=1 + n)).pk for n in range(10)}


def live_in(scope):
    return set(Memory.objects.live().filter(scope=scope).values_list("pk", flat=True))


def form_of(answer):
    """What a browser would send with the button that forgets."""
    fields = [one.attributes for one in Html(answer).all("input", type="hidden")]
    return {one["name"]: one.get("value", "") for one in fields if one["name"] not in ("csrfmiddlewaretoken",)}


def counted(client, **query):
    return client.get(f"{PAGE}?{urlencode(query)}")


@pytest.mark.behaviour("F2")
@pytest.mark.behaviour("F14")
def test_the_list_leads_to_the_count_the_act_and_its_undo(mine, owner, scope):
    other = make_scope(owner, slug="other")
    ids, theirs = ten_in(scope), ten_in(other)
    (link,) = [
        one for one in Html(mine.get("/memories/?scope=HOME&kind=fact")).all("a") if one.text.startswith("Forget all")
    ]
    shown = mine.get(link.attributes["href"] + "&before=2025-03-01")
    assert "Forget 10 memories of home?" in text_of(shown)
    assert live_in(scope) == ids
    done = mine.post(PAGE, form_of(shown) | {"reason": "An old project."}, follow=True)
    assert "10 memories of this act are forgotten" in text_of(done)
    assert "Learned before 2025-03-01" in text_of(done)
    assert (live_in(scope), live_in(other)) == (set(), theirs)
    address = done.redirect_chain[-1][0]
    (undo,) = [form for form in Html(mine.get(address)).all("form", method="post") if "Undo" in form.text]
    undone = mine.post(undo.attributes["action"], follow=True)
    assert "Brought back 10." in text_of(undone)
    assert (live_in(scope), live_in(other)) == (ids, theirs)


@pytest.mark.behaviour("F2")
@pytest.mark.parametrize(
    "sent",
    [
        {}, {"scope": ""}, {"scope": "*"}, {"scope": "null"}, {"scope": "theirs"}, {"scope": "home"},
        {"scope": "home", "state": "live"}, {"scope": "home", "before": ""}, {"scope": "home", "before": "*"},
        {"scope": "home", "kind": "*"}, {"scope": "home", "author": "*"}, {"scope": "home", "state": "*"},
        {"scope": "home", "age": "null"}, {"before": "2025-03-01"}, {"scope": ["home", "*"], "before": "2025-03-01"},
    ],
    ids=repr,
)  # fmt: skip
def test_an_empty_or_boundless_filter_is_refused_and_never_means_all(sent, mine, scope):
    theirs = make_scope(make_user(), slug="theirs")
    ids, foreign = ten_in(scope), ten_in(theirs)
    assert mine.post(PAGE, sent | {"expected": "10"}).status_code == 422
    assert (live_in(scope), live_in(theirs)) == (ids, foreign)


def test_another_number_than_the_one_shown_is_told_and_nothing_is_done(mine, scope):
    ten_in(scope)
    sent = form_of(counted(mine, scope="home", before="2025-03-01"))
    ids = ten_in(scope) | live_in(scope)
    refused = mine.post(PAGE, sent)
    assert refused.status_code == 409
    assert "20 match by now, not 10. Look again first." in text_of(refused)
    assert "Forget 20 memories of home?" in text_of(refused)
    assert live_in(scope) == ids


def test_without_the_number_nothing_is_done(mine, scope):
    ids = ten_in(scope)
    sent = form_of(counted(mine, scope="home", before="2025-03-01"))
    assert mine.post(PAGE, sent | {"expected": ""}).status_code == 409
    assert live_in(scope) == ids


def test_a_scope_alone_asks_for_a_date(mine, scope):
    ten_in(scope)
    assert "Say which: a date before which they were learned" in text_of(counted(mine, scope="home"))


def test_what_is_left_alone_is_counted_in_words(mine, scope):
    make_memory(scope=scope, created_at=MARCH - timedelta(days=9), pinned=True)
    make_memory(scope=scope, created_at=MARCH - timedelta(days=9), kind="gotcha")
    told = text_of(counted(mine, scope="home", before="2025-03-01"))
    assert "Nothing to forget in home" in told
    assert "1 pinned, 1 of a protected kind" in told


def test_a_secret_in_the_reason_is_refused_in_words(mine, scope):
    ids = ten_in(scope)
    sent = form_of(counted(mine, scope="home", before="2025-03-01"))
    refused = mine.post(PAGE, sent | {"reason": "ghp_" + "a" * 36})
    assert refused.status_code == 400
    assert "github_token" in text_of(refused)
    assert live_in(scope) == ids


def test_a_reader_is_offered_nothing(client_of, scope):
    ten_in(scope)
    reader = client_of(make_member(scope, Role.READER))
    assert "Forget all" not in text_of(reader.get("/memories/"))
    assert "You may not write to any scope." in text_of(reader.get(PAGE))


def test_the_page_of_a_memory_leads_to_the_act_that_forgot_it(mine, scope):
    ids = ten_in(scope)
    done = mine.post(PAGE, form_of(counted(mine, scope="home", before="2025-03-01")))
    page = Html(mine.get(reverse("memory_detail", args=[next(iter(ids))])))
    assert done["Location"] in [link.attributes["href"] for link in page.all("a") if link.text == "with others"]


def test_today_tells_of_the_memories_and_not_of_the_act_beside_them(mine, scope):
    ten_in(scope)
    mine.post(PAGE, form_of(counted(mine, scope="home", before="2025-03-01")))
    assert "together" not in text_of(mine.get("/"))


# The command ---------------------------------------------------------------------------------


def run(*arguments):
    out = io.StringIO()
    call_command("forget_memories", *arguments, stdout=out)
    return out.getvalue()


@pytest.mark.behaviour("F2")
@pytest.mark.behaviour("F14")
def test_the_command_counts_acts_and_takes_back(owner, scope):
    other = make_scope(owner, slug="other")
    ids, theirs = ten_in(scope), ten_in(other)
    chosen = ["--scope", "home", "--before", "2025-03-01", "--user", "owner"]
    assert run(*chosen).startswith("10 memories of home match;")
    assert live_in(scope) == ids
    told = run(*chosen, "--kind", "fact", "--expect", "10")
    assert told.startswith("Forgot 10 memories of home.")
    assert (live_in(scope), live_in(other)) == (set(), theirs)
    assert run("--user", "owner", "--undo", told.split()[-1]).startswith("Brought back 10 memories.")
    assert (live_in(scope), live_in(other)) == (ids, theirs)


@pytest.mark.behaviour("F2")
@pytest.mark.parametrize(
    "sent",
    [
        ["--scope", "home"], ["--before", "2025-03-01"], ["--scope", "", "--before", "2025-03-01"],
        ["--scope", "*", "--before", "2025-03-01"], ["--scope", "theirs", "--before", "2025-03-01"],
        ["--scope", "home", "--before", ""], ["--scope", "home", "--before", "*"],
        ["--scope", "home", "--before", "2025-03-01", "--kind", "*"],
    ],
    ids=repr,
)  # fmt: skip
def test_the_command_refuses_what_names_no_bounds(sent, owner, scope):
    theirs = make_scope(make_user(), slug="theirs")
    ids, foreign = ten_in(scope), ten_in(theirs)
    with pytest.raises(CommandError):
        run(*sent, "--user", "owner", "--expect", "10")
    assert (live_in(scope), live_in(theirs)) == (ids, foreign)


@pytest.mark.parametrize("listed", [13, 200])
def test_everything_that_would_go_is_listed_the_first_ten_in_sight(mine, scope, monkeypatch, listed):
    monkeypatch.setattr("memories.views.bulk.MOST_NAMED", listed)
    for n in range(15):
        make_memory(f"Tide {n} was high.", scope=scope, created_at=MARCH - timedelta(days=1 + n))
    shown = counted(mine, scope="home", before="2025-03-01")
    done = mine.post(PAGE, form_of(shown), follow=True)
    for text in (text_of(shown), text_of(done)):
        assert "The newest 10 of them" in text
        assert text.index("Tide 9 was high.") < text.index(f"And {min(listed, 15) - 10} more")
        assert text.index(" more ") < text.index("Tide 12 was high.")
        assert ("2 older ones are not listed." in text) is (listed == 13)
        assert ("Tide 14 was high." in text) is (listed == 200)
