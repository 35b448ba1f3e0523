"""What agents and pages see of decaying scopes: tombstones, several scopes together, and what is not there."""

import uuid

import pytest
from django.db import OperationalError, connection
from django.urls import reverse
from django.utils import timezone

from insights.activity import Choice, agents_of, lines_of, narrowed
from insights.writers import writers
from memories.access import actor_for_user
from memories.agents import canonical_agent
from memories.decaying import statistics
from memories.models import AuditEntry, Memory, RecallActivity
from memories.services import forget
from tests.factories import add_entity, make_memory, make_scope
from tests.memories.pages import Html
from tests.memories.test_pages_errors import broken

pytestmark = pytest.mark.django_db


def given(api, query="harbour light", **asked):
    answer = api.post("/recall", {"query": query, **asked})
    assert answer.status_code == 200, answer.content
    return [result["id"] for result in answer.json()["results"]]


@pytest.fixture
def decaying(scope):
    scope.retention = "decaying"
    scope.save()
    return scope


# Tombstones ------------------------------------------------------------------------------------


@pytest.mark.behaviour("G17")
@pytest.mark.parametrize("weight", [1.0, 0.5, 0.0])
def test_a_tombstone_is_never_recalled_and_always_listed(api, client_of, owner, decaying, weight):
    dead = make_memory("The harbour light is green.", scope=decaying, weight=weight)
    live = make_memory("The harbour light is red.", scope=decaying)
    forget(actor=actor_for_user(owner), memory=dead)

    assert given(api) == [str(live.pk)]
    assert str(dead.pk) not in given(api, str(dead.pk))
    listed = api.get("/memories", state="all").json()["memories"]
    assert {row["id"]: row["state"] for row in listed}[str(dead.pk)] == "invalidated"
    assert api.get(f"/memories/{dead.pk}").json()["state"] == "invalidated"
    exported = b"".join(api.get("/export", format="jsonl").streaming_content).decode()
    (line,) = [line for line in exported.splitlines() if str(dead.pk) in line]
    assert '"state": "invalidated"' in line
    page = Html(client_of(owner).get(reverse("memory_list"), {"state": "all"}))
    assert "forgotten" in [badge.text for badge in page.classed("badge")]
    assert statistics(decaying).tombstones == 1


@pytest.mark.behaviour("G17")
def test_a_tombstone_comes_back_neither_by_what_it_is_tied_to_nor_by_a_twin(api, owner, decaying):
    dead = make_memory("The harbour light is green.", scope=decaying)
    live = make_memory("The harbour wall is old.", scope=decaying)
    for memory in (dead, live):
        add_entity(memory, "Harbour")
    api.post("/memories", {"content": "Paint the harbour wall.", "links": [{"type": "relates_to", "target": dead.pk}]})
    forget(actor=actor_for_user(owner), memory=dead)
    twin = make_memory("The harbour light is green.", scope=decaying, kind="episode")

    found = given(api, "harbour light green wall")
    briefing = api.post("/briefing", {"topic": "harbour light"}).json()

    assert str(dead.pk) not in found
    assert str(twin.pk) in found
    assert str(dead.pk) not in str([briefing[part] for part in ("memories", "linked", "recent", "open_loops")])


# Several scopes --------------------------------------------------------------------------------


@pytest.mark.behaviour("G29")
@pytest.mark.parametrize(("of_agent", "shared", "found"), [(2, 2, 4), (0, 2, 2), (2, 0, 2), (0, 0, 0)])
def test_what_an_agent_and_all_agents_know_is_one_answer(api_of, owner, of_agent, shared, found):
    scopes = [make_scope(owner, slug=slug, retention="decaying") for slug in ("pilot", "shared")]
    for scope, number in zip(scopes, (of_agent, shared), strict=True):
        for n in range(number):
            make_memory(f"The harbour light {n} of {scope.slug}.", scope=scope)

    assert len(given(api_of(owner, *scopes), scopes=["pilot", "shared"])) == found


@pytest.mark.behaviour("G29")
def test_what_both_say_is_given_once(api_of, owner):
    scopes = [make_scope(owner, slug=slug, retention="decaying") for slug in ("pilot", "shared")]
    for scope in scopes:
        make_memory("The harbour light is green.", scope=scope)

    assert len(given(api_of(owner, *scopes))) == 1


# What is not there -----------------------------------------------------------------------------


@pytest.mark.behaviour("G31")
def test_an_empty_question_is_refused_in_words_and_an_empty_store_gives_nothing(api):
    refused = api.post("/recall", {"query": "  "})
    assert (refused.status_code, refused.json()["field"]) == (400, "query")
    assert given(api) == []


@pytest.mark.behaviour("G40")
@pytest.mark.parametrize("place", ["unknown", "foreign", "malformed"])
def test_what_is_done_to_a_memory_that_is_not_there_changes_nothing_and_says_so(api, place):
    foreign = make_memory(scope=make_scope())
    id = {"unknown": str(uuid.UUID(int=7)), "foreign": str(foreign.pk), "malformed": "no-id"}[place]
    before = list(Memory.objects.values())

    answers = [
        api.get(f"/memories/{id}"),
        api.patch(f"/memories/{id}", {"content": "Changed."}, version=1),
        *(api.post(f"/memories/{id}/{verb}") for verb in ("forget", "restore", "pin", "unpin", "close", "reanchor")),
    ]

    assert {(answer.status_code, answer.json()["code"]) for answer in answers} == {(404, "not_found")}
    assert list(Memory.objects.values()) == before
    assert not AuditEntry.objects.exists()


@pytest.mark.behaviour("G40")
def test_forgetting_twice_is_answered_and_changes_nothing_the_second_time(api, scope):
    memory = make_memory(scope=scope)
    first = api.post(f"/memories/{memory.pk}/forget")
    again = api.post(f"/memories/{memory.pk}/forget")

    assert first.status_code == 200
    assert again.status_code < 500
    assert Memory.objects.get().invalidated_at.isoformat()[:19] == first.json()["invalidated_at"][:19]


@pytest.mark.behaviour("G40")
def test_a_scope_and_an_agent_nobody_knows_are_an_answer(api, client_of, owner):
    assert api.get("/memories", scope="nobody").status_code == 404
    assert api.post("/recall", {"query": "light", "scopes": ["nobody"]}).status_code == 404
    assert client_of(owner).get("/insights/activity/", {"agent": "nobody"}).status_code in (200, 404)
    assert not RecallActivity.objects.filter(agent="nobody").exists()


# Agents ----------------------------------------------------------------------------------------

SPELLINGS = ("Build Bot", "build_bot", "BUILD-BOT", "build.bot")


@pytest.mark.behaviour("G41")
def test_all_spellings_of_an_agent_are_one():
    assert {canonical_agent(name) for name in SPELLINGS} == {"build-bot"}
    assert canonical_agent("buildbot") != "build-bot"


@pytest.mark.behaviour("G41")
def test_one_agent_under_several_spellings_is_one_in_filters_and_in_figures(api, owner, scope):
    for number, name in enumerate(SPELLINGS):
        api.headers["X-Agent"] = name
        api.post("/memories", {"content": f"The harbour light {number} is green."})
        given(api)
    actor = actor_for_user(owner)
    now = timezone.now()
    lines = lines_of(actor, now)

    assert len(agents_of(lines)) == 1
    for name in SPELLINGS:
        assert narrowed(lines, Choice(agent=name)).count() == 4
    (writer,) = writers(actor=actor, days=1, now=now)
    assert (canonical_agent(writer.agent), writer.written) == ("build-bot", 4)


@pytest.mark.behaviour("G41")
def test_what_was_given_under_one_spelling_is_known_again_under_another(api, scope):
    make_memory("The harbour light is green and stands on the outer wall.", scope=scope)
    api.headers["X-Agent"] = "Build Bot"
    given(api)
    api.headers["X-Agent"] = "build_bot"

    saved = api.post("/memories", {"content": "From memory: The harbour light is green and stands on the outer wall."})

    assert saved.json()["deduplicated"]
    assert Memory.objects.count() == 1


# A database that is away -----------------------------------------------------------------------


@pytest.mark.behaviour("G42")
@pytest.mark.parametrize("page", ["today", "insights", "scope_list", "memory_list"])
def test_a_dashboard_without_its_database_says_so_and_shows_no_zeros(client_of, owner, page):
    client = client_of(owner)
    client.raise_request_exception = False
    client.get(reverse("scope_list"))
    with connection.execute_wrapper(broken(OperationalError("gone"))):
        answer = client.get(reverse(page))
    assert answer.status_code == 503
    assert "The database does not answer" in answer.text
    assert not Html(answer).classed("stat")
    assert "It last answered at" in answer.text
