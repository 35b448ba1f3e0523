"""What agents asked: the list, its filters, what stands for memories that are gone, and for whom."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from memories.access import actor_for_user
from memories.services import forget
from tests.factories import make_member, make_memory, make_scope, make_token, make_user
from tests.insights.asking import make_recall
from tests.memories.pages import Html, text_of
from tests.queries import queries_of, recorded_queries

pytestmark = pytest.mark.django_db


@pytest.fixture
def person(client_of, owner, scope):
    return client_of(owner)


@pytest.fixture
def notes(scope):
    return [make_memory(f"Note {number} of the harbour.", scope=scope) for number in range(9)]


def shown(person, **query):
    return text_of(person.get("/activity/", query))


def questions(person, **query):
    return [row["line"].query for row in person.get("/activity/", query).context["rows"]]


# A row ---------------------------------------------------------------------------------------


@pytest.mark.behaviour("Z86")
def test_a_row_says_who_asked_what_and_what_came_of_it(person, owner, notes):
    make_recall(owner, notes, query="where is the harbour", agent="builder", session="s-7", took_ms=41.6)
    page = Html(person.get("/activity/"))
    (row,) = page.classed("asked-row")
    for said in ("where is the harbour", "builder", "in home", "session s-7", "9 memories", "42 ms"):
        assert said in row.text
    assert not [element for element in page.classed("asked-query") if "details" in element.tag]


def test_a_briefing_says_that_it_was_one_and_that_it_had_no_topic(person, owner, notes):
    make_recall(owner, notes)
    assert "asked for a briefing" not in shown(person)
    make_recall(owner, notes, sort="briefing", query="")
    assert "No topic builder asked for a briefing in home" in shown(person)
    assert "2 requests, newest first" in shown(person)


@pytest.mark.behaviour("Z86")
def test_three_are_named_and_the_rest_stand_behind_a_summary(person, owner, notes):
    make_recall(owner, notes)
    page = Html(person.get("/activity/"))
    first, rest = page.classed("asked-given")
    assert [first.text.count("Note"), rest.text.count("Note")] == [3, 6]
    (more,) = page.classed("asked-more")
    assert (more.tag, "open" in more.attributes) == ("details", False)
    assert more.text.startswith("+6 more")
    assert rest.attributes["start"] == "4"


def test_the_memories_stand_in_the_order_they_were_given(person, owner, notes):
    make_recall(owner, notes[::-1])
    text = shown(person)
    places = [text.index(f"Note {number} of") for number in range(9)]
    assert places == sorted(places, reverse=True)


def test_three_or_fewer_have_nothing_behind_them(person, owner, notes):
    make_recall(owner, notes[:3])
    assert not Html(person.get("/activity/")).classed("asked-more")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({}, "Nothing found"),
        ({"error": "not_found"}, "Failed: it asked for a scope that is not there"),
        ({"error": "unavailable"}, "Failed: the database was busy or away"),
        ({"error": "internal"}, "Failed: the server's log has the details"),
        ({"words_only": True}, "by words only, no embedder answered"),
        ({"agent": ""}, "an agent without a name"),
    ],
)
def test_what_went_wrong_is_said_in_the_row(person, owner, scope, values, said):
    make_recall(owner, scopes=[scope], **values)
    assert said in shown(person).replace("&#x27;", "'")


def test_how_many_use_had_moved_is_said_where_there_were_any(person, owner, notes):
    make_recall(owner, notes[:3], reinforced=[True, False, True])
    make_recall(owner, notes[:1])
    assert shown(person).count("moved by use") == 1
    assert "2 moved by use" in shown(person)


# Memories that changed since -----------------------------------------------------------------


def test_what_was_forgotten_since_is_a_link_that_says_so(person, owner, notes):
    make_recall(owner, notes[:1])
    forget(actor=actor_for_user(owner), memory=notes[0], reason="wrong")
    page = person.get("/activity/").content.decode()
    assert f'href="/memories/{notes[0].pk}/"' in page
    assert "forgotten" in text_of(person.get("/activity/"))


@pytest.mark.behaviour("Z79")
def test_what_may_no_longer_be_read_is_neither_named_nor_linked(client_of, scope, notes):
    member = make_member(scope)
    make_recall(member, notes[:2])
    scope.memberships.filter(user=member).delete()
    page = client_of(member).get("/activity/").content.decode()
    assert "Note 0" not in page
    assert str(notes[0].pk) not in page
    assert page.count("A memory that is gone, or that you may no longer read") == 2
    assert "in home" not in page


def test_what_was_removed_for_good_is_said_to_be_gone(person, owner, notes):
    make_recall(owner, notes[:2])
    notes[0].delete()
    assert shown(person).count("A memory that is gone") == 1


# The list ------------------------------------------------------------------------------------


def test_the_newest_stands_first_and_what_is_older_than_thirty_days_nowhere(person, owner, scope):
    for days in (3, 0, 29.9, 30.1, 10):
        make_recall(owner, query=f"asked {days} days ago", days_ago=days, scopes=[scope])
    assert questions(person) == [f"asked {days} days ago" for days in (0, 3, 10, 29.9)]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"agent": "builder"}, ["light"]),
        ({"agent": "without a name"}, ["nameless"]),
        ({"outcome": "hits"}, ["light"]),
        ({"outcome": "empty"}, ["nameless", "words", "garden Gate"]),
        ({"outcome": "error"}, ["broken"]),
        ({"outcome": "words"}, ["words"]),
        ({"scope": "garden"}, ["garden Gate"]),
        ({"q": "gate"}, ["garden Gate"]),
        ({"q": "100%"}, []),
        ({"agent": "reader", "outcome": "empty", "q": "w"}, ["words"]),
    ],
)
def test_a_filter_leaves_what_it_names(person, owner, scope, notes, query, found):
    garden = make_scope(owner, slug="garden")
    make_recall(owner, scopes=[garden], query="garden Gate", agent="reader", days_ago=4)
    make_recall(owner, error="unavailable", query="broken", agent="reader", days_ago=3)
    make_recall(owner, scopes=[scope], words_only=True, query="words", agent="reader", days_ago=2)
    make_recall(owner, scopes=[scope], query="nameless", agent="", days_ago=1)
    make_recall(owner, notes[:1], query="light", agent="builder")
    assert questions(person, **query) == found


def test_filters_stay_in_the_address_of_each_other_and_of_the_next_page(person, owner, scope):
    for number in range(45):
        make_recall(owner, scopes=[scope], days_ago=number / 100)
    page = person.get("/activity/", {"agent": "builder", "outcome": "empty"})
    links = [one.attributes["href"] for one in Html(page).classed("filter-option")]
    assert "/activity/?outcome=empty" in links
    assert "/activity/?agent=builder&outcome=hits" in links
    assert page.context["next_url"].startswith("/activity/?agent=builder&outcome=empty&cursor=")


def test_the_pages_follow_each_other_without_a_gap_and_a_new_line_shifts_nothing(person, owner, scope):
    at = timezone.now() - timedelta(days=1)
    for number in range(95):
        make_recall(owner, scopes=[scope], query=f"{number}", at=at - timedelta(seconds=number // 3))
    seen, address = [], "/activity/"
    while address:
        page = person.get(address)
        seen += [row["line"].query for row in page.context["rows"]]
        address = page.context["next_url"]
        make_recall(owner, scopes=[scope], query="new")
    assert sorted(seen, key=int) == [str(number) for number in range(95)]
    assert len(seen) == 95


def test_a_fragment_is_rows_alone(person, owner, scope):
    make_recall(owner, scopes=[scope])
    part = person.get("/activity/", headers={"HX-Request": "true"}).content.decode()
    assert "asked-row" in part
    assert "<main" not in part
    assert "filter-group" not in part


@pytest.mark.parametrize("query", [{"cursor": "x"}, {"outcome": "great"}])
def test_what_cannot_be_shown_is_said_with_a_way_out(person, query):
    answer = person.get("/activity/", query)
    assert answer.status_code == 400
    assert "This cannot be shown." in text_of(answer)


def test_nothing_asked_yet_says_what_to_do(person):
    assert "No agent has asked anything in 30 days" in shown(person)
    assert "Nothing here under these filters" in shown(person, q="zebra")


@pytest.mark.parametrize("query", [{"q": "\x00"}, {"q": "%_\\"}, {"agent": "a" * 5000}, {"agent": "<b>"}])
def test_a_strange_filter_is_no_failure(person, query):
    assert person.get("/activity/", query).status_code == 200


def test_the_page_costs_its_recorded_queries_however_much_there_is(person, owner, scope, notes):
    make_recall(owner, notes[:1])
    person.get("/activity/")
    few = queries_of(lambda: person.get("/activity/"))
    for number in range(60):
        make_recall(owner, notes, agent=f"agent {number}")
    assert queries_of(lambda: person.get("/activity/")) == few == recorded_queries("activity")


@pytest.mark.behaviour("F32")
def test_hidden_characters_of_a_question_are_marks(person, owner, scope):
    make_recall(owner, scopes=[scope], query="a\u202egreen light", agent="<script>alert(1)</script>")
    page = person.get("/activity/").content.decode()
    assert "\u202e" not in page.split('class="asked-row"')[1].split("</li>")[0]
    assert "<script>alert" not in page


# For whom ------------------------------------------------------------------------------------


@pytest.mark.behaviour("Z79")
def test_nobody_else_sees_a_line_neither_members_of_the_scope_nor_staff(client_of, owner, scope, notes):
    make_recall(make_member(scope), notes, query="zanzibar", agent="spice-agent")
    for user in (owner, make_member(scope), make_user(is_staff=True, is_superuser=True)):
        page = client_of(user).get("/activity/").content.decode()
        assert "zanzibar" not in page
        assert "spice-agent" not in page
        assert questions(client_of(user), q="zanzibar") == questions(client_of(user), agent="spice-agent") == []


@pytest.mark.behaviour("Z79")
def test_a_foreign_scope_in_the_filter_is_not_found(person):
    make_scope(make_user(), slug="secret")
    assert person.get("/activity/", {"scope": "secret"}).status_code == 404


def test_somebody_signed_out_is_sent_to_sign_in(client, db):
    assert client.get("/activity/").headers["Location"] == "/sign-in/?next=/activity/"


def test_the_page_only_reads(person):
    assert person.post("/activity/").status_code == 405


# Ways here -----------------------------------------------------------------------------------


def test_insights_and_today_lead_here(person, owner, notes):
    make_recall(owner, notes)
    make_recall(owner, scopes=[notes[0].scope], days_ago=0.5)
    make_recall(owner, error="internal", days_ago=0.9)
    make_recall(owner, notes, days_ago=1.1)
    assert 'href="/activity/"' in person.get("/insights/").content.decode()
    assert "3 recalls in 24 hours, 1 found nothing, 1 failed. See what they asked" in shown_on_today(person)


def test_today_says_that_nobody_asked(person, notes):
    assert "Nothing in 24 hours." in shown_on_today(person)


def shown_on_today(person):
    return re.sub(r" ([.,])", r"\1", text_of(person.get("/")))


# REST ----------------------------------------------------------------------------------------


def test_rest_lists_what_was_asked_page_by_page(api_of, owner, scope, notes):
    api = api_of(owner, scope)
    api.post("/recall", {"query": "harbour note", "session": "s-1"})
    for number in range(60):
        make_recall(owner, notes[:2], reinforced=[True, False], query=f"{number}", days_ago=1 + number / 100)
    first = api.get("/activity").json()
    assert (first["recalls"][0]["query"], first["recalls"][0]["session"]) == ("harbour note", "s-1")
    assert set(first["recalls"][0]["memories"]) == {str(memory.pk) for memory in notes}
    second = api.get("/activity", cursor=first["next_cursor"]).json()
    assert (len(first["recalls"]), len(second["recalls"]), second["next_cursor"]) == (50, 11, None)
    last = second["recalls"][-1]
    assert (last["hits"], last["reinforced"], last["scopes"]) == (2, 1, ["home"])
    assert last["median_age_days"] == pytest.approx(0, abs=0.1)


def test_rest_refuses_a_strange_cursor(api_of, owner, scope):
    assert api_of(owner, scope).get("/activity", cursor="x").json()["code"] == "validation_failed"


@pytest.mark.behaviour("Z79")
def test_over_rest_a_token_sees_its_own_and_what_was_asked_only_where_it_may_read(api_of, owner, scope, notes):
    garden = make_scope(owner, slug="garden")
    other, _ = make_token(owner, [scope, garden])
    make_recall(owner, notes[:1], query="mine elsewhere", token=other)
    make_recall(owner, scopes=[scope, garden], query="wider", token=other)
    make_recall(owner, scopes=[garden], query="another scope", token=other)
    make_recall(owner, error="internal", query="nobody knows where", token=other)
    make_recall(make_member(scope), notes[:1], query="of somebody else")
    api = api_of(owner, scope)
    api.post("/recall", {"query": "asked here"})
    assert {line["query"] for line in api.get("/activity").json()["recalls"]} == {"asked here", "mine elsewhere"}


@pytest.mark.behaviour("Z79")
def test_over_rest_what_may_not_be_read_is_counted_and_not_named(api_of, owner, scope, notes):
    hidden = make_memory()
    make_recall(owner, [notes[0], hidden], scopes=[scope])
    (line,) = api_of(owner, scope).get("/activity").json()["recalls"]
    assert (line["hits"], line["memories"]) == (2, [str(notes[0].pk)])
