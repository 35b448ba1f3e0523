"""Today: what needs a person, what changed since they were last here, whether everything runs."""

from datetime import timedelta

import pytest
import time_machine
from django.urls import reverse
from django.utils import timezone

from insights.tasks import prepare_demo
from memories import services
from memories.access import actor_for_token, actor_for_user
from memories.embedding_queue import stamp_of
from memories.models import AuditEntry, Memory, Role, User
from memories.services.visits import note_visit
from reflections.models import Candidate
from reflections.services.disputes import challenge
from reflections.services.rules import promote
from tests.factories import make_member, make_memory, make_scope, make_token, make_user
from tests.memories.pages import Html, text_of
from tests.queries import queries_of, recorded_queries
from tests.reflections.factories import make_candidate
from tests.reflections.ruling import make_proposal
from zeromemory.embedding import get_embedder
from zeromemory.lib import heartbeat

pytestmark = pytest.mark.django_db


@pytest.fixture
def mine(client_of, owner, scope):
    return client_of(owner)


def queue_of(answer):
    return [row.text for row in Html(answer).classed("queue-row")]


# The first time ------------------------------------------------------------------------------


def test_an_empty_corpus_is_a_welcome_that_says_what_to_do(mine):
    answer = mine.get("/")
    assert "Welcome to Zero Memory" in text_of(answer)
    links = {link.attributes["href"] for link in Html(answer).all("a")}
    assert {reverse("memory_new"), reverse("token_new")} <= links
    assert "import_memories --repo" in text_of(answer)


def test_whoever_may_not_write_anywhere_is_sent_to_the_scopes(client_of):
    answer = client_of(make_user()).get("/")
    assert [link.text for link in Html(answer).classed("primary")] == ["Create a scope"]


def test_the_first_memory_ends_the_welcome(mine, scope):
    make_memory(scope=scope)
    assert "Welcome" not in text_of(mine.get("/"))


# What needs a person -------------------------------------------------------------------------


def test_drafts_and_memories_that_wait_are_counted_with_the_oldest(mine, scope):
    for days in (2, 5):
        candidate = make_candidate(scope)
        type(candidate).objects.filter(pk=candidate.pk).update(
            created_at=timezone.now() - timedelta(days=days, hours=1)
        )
    make_candidate(scope, state="dismissed")
    embedder = get_embedder()
    Memory.objects.update(embedded_with=stamp_of(embedder.name, embedder.version))
    make_memory(scope=scope)
    drafts, _doubts, _rules, waiting = queue_of(mine.get("/"))
    assert drafts.startswith("2 drafts to review")
    assert "oldest 5 days" in drafts
    assert waiting.startswith("1 memory without embedding")


def test_doubts_that_wait_are_counted_with_the_oldest(client_of, owner, scope):
    first = make_memory("The port is 8000.", scope=scope)
    challenge(actor=actor_for_user(owner), memory=first, reason="It moved.")
    challenge(actor=actor_for_user(owner), memory=make_memory("The port is 80.", scope=scope))
    page = client_of(owner).get(reverse("today")).text
    assert "doubts to settle" in page
    assert reverse("inbox") in page
    stranger = client_of(make_user())
    assert "doubts to settle</a>" not in stranger.get(reverse("today")).text


def test_proposals_of_rules_are_counted_and_named_in_what_changed(mine, scope):
    make_proposal(scope, "Test before you push.")
    writer = actor_for_user(make_member(scope, Role.WRITER))
    promote(actor=writer, rule=make_proposal(scope, "Name files plainly."), version=1)
    page = mine.get("/")
    assert queue_of(page)[2].startswith("1 rule to decide about")
    (link,) = [link for link in Html(page).all("a") if link.text == "rule to decide about"]
    assert len(mine.get(link.attributes["href"]).context["rows"]) == 1
    assert "1 rule promoted" in text_of(page)
    assert "Name files plainly." in text_of(page)


def test_the_numbers_lead_to_as_many_rows(mine, scope, owner):
    for _ in range(3):
        make_memory(scope=scope)
    services.forget(actor=actor_for_user(owner), memory=make_memory(scope=scope))
    html = Html(mine.get("/"))
    (link,) = [link for link in html.all("a") if link.text == "memories without embedding"]
    assert mine.get(link.attributes["href"]).context["total"] == 3


def test_nothing_that_waits_is_a_zero_without_a_link(mine, scope):
    make_memory(scope=scope, embedded_at=timezone.now())
    assert [row.split()[0] for row in queue_of(mine.get("/"))] == ["0"] * 4
    assert not [link for link in Html(mine.get("/")).all("a") if link.text == "drafts to review"]


# The demo corpus -----------------------------------------------------------------------------


def test_staff_load_the_demo_corpus_once_and_its_drafts_follow(mine, owner, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks() as rung:
        answer = mine.post(reverse("load_demo"), follow=True)
    assert answer.redirect_chain == [("/", 302)]
    loaded = Memory.objects.count()
    assert f"Loaded {loaded} memories into harbour and notes." in text_of(answer)
    assert [bell.args for bell in rung if "prepare_demo" in str(bell)] == [("owner",)]
    mine.post(reverse("load_demo"))
    assert Memory.objects.count() == loaded


def test_the_worker_embeds_the_demo_corpus_and_finds_its_clusters(mine, owner):
    prepare_demo(owner.username)
    assert not Memory.objects.live().filter(embedded_at=None).exists()
    assert Candidate.objects.pending().count() > 2
    prepare_demo(owner.username)
    assert queue_of(mine.get("/"))[0].startswith(f"{Candidate.objects.pending().count()} drafts to review")


def test_others_may_not_load_the_demo_corpus(client_of):
    person = client_of(make_user())
    assert person.post(reverse("load_demo")).status_code == 403
    assert not Memory.objects.exists()
    assert person.get(reverse("load_demo")).status_code == 405


def polled(answer):
    return [element.attributes["hx-get"] for element in Html(answer).elements if "data-poll" in element.attributes]


def test_the_queue_looks_again_only_while_memories_arrive(mine, scope):
    make_memory(scope=scope)
    assert polled(mine.get("/")) == ["/"]
    part = mine.get("/", headers={"HX-Request": "true"})
    assert [element.tag for element in Html(part).elements][:1] == ["ul"]
    assert polled(part) == ["/"]
    with at_time(timezone.now() + timedelta(minutes=3)):
        assert polled(mine.get("/")) == polled(mine.get("/", headers={"HX-Request": "true"})) == []


def test_looking_again_is_no_visit(mine, owner, scope):
    make_memory(scope=scope)
    mine.get("/", headers={"HX-Request": "true"})
    assert User.objects.get(pk=owner.pk).last_visit_at is None


# What changed --------------------------------------------------------------------------------


def changes_of(answer):
    return [change.text for change in Html(answer).elements if change.tag == "h3"]


def at_time(at):
    """The audit is append-only, so an older entry is written by an older clock."""
    return time_machine.travel(at, tick=False)


def test_what_others_did_since_the_last_visit_is_told_by_kind(mine, owner, scope):
    member = actor_for_user(make_member(scope, Role.WRITER, make_user(username="visitor")))
    now = timezone.now()
    with at_time(now - timedelta(days=9)):
        services.remember(actor=member, scope=scope, content="Long ago.")
    User.objects.filter(pk=owner.pk).update(last_visit_at=now - timedelta(days=1))
    for number in range(5):
        memory = services.remember(actor=member, scope=scope, content=f"Number {number}.").memory
    services.forget(actor=member, memory=memory)
    answer = mine.get("/")
    assert changes_of(answer) == ["1 memory forgotten", "5 memories remembered"]
    assert "What changed since your last visit" in text_of(answer)
    assert "and 2 more" in text_of(answer)
    assert "by visitor" in text_of(answer)
    entries = [link for link in Html(answer).all("a") if link.text == "Number 4."]
    assert entries[0].attributes["href"] == reverse("memory_detail", args=[memory.pk])


def test_on_the_first_visit_the_last_seven_days_are_told(mine, owner, scope):
    with at_time(timezone.now() - timedelta(days=8)):
        services.remember(actor=actor_for_user(owner), scope=scope, content="Before that.")
    services.remember(actor=actor_for_user(owner), scope=scope, content="Within that.")
    answer = mine.get("/")
    assert "What changed in the last 7 days" in text_of(answer)
    assert changes_of(answer) == ["1 memory remembered"]


def test_each_kind_of_change_says_what_was_changed_and_how_often(mine, scope):
    for action in ("import", "import", "propose", "propose", "undo", "create_scope"):
        AuditEntry.objects.create(actor="visitor", action=action, scope=scope, object_type="engine", object_id="1")
    make_memory(scope=scope)
    assert sorted(changes_of(mine.get("/"))) == [
        "1 decision undone",
        "1 scope created",
        "2 drafts proposed",
        "2 imports done",
    ]


def test_imports_are_counted_by_the_memories_they_brought(mine, owner, scope):
    for written in (1200, 34):
        AuditEntry.objects.create(
            actor="visitor", action="import", scope=scope, object_type="scope", object_id=scope.pk,
            detail={"format": "git", "written": written},
        )  # fmt: skip
    make_memory(scope=scope)
    answer = mine.get("/")
    assert changes_of(answer) == ["1,234 memories imported"]
    assert "1,200 memories into home" in text_of(answer)
    assert "34 memories into home" in text_of(answer)


def test_nothing_new_is_said_in_words(mine, owner, scope):
    make_memory(scope=scope)
    User.objects.filter(pk=owner.pk).update(last_visit_at=timezone.now() - timedelta(hours=1))
    assert "Nothing was written, changed or decided." in text_of(mine.get("/"))


def test_decisions_about_drafts_and_scopes_have_names_and_links(mine, owner, scope):
    candidate = make_candidate(scope, draft="The cache is cold.")
    AuditEntry.objects.create(
        actor="visitor", action="snooze", scope=scope, object_type="candidate", object_id=candidate.pk
    )
    AuditEntry.objects.create(
        actor="visitor", action="set_member", scope=scope, object_type="scope", object_id=scope.pk
    )
    AuditEntry.objects.create(actor="visitor", action="strange_thing", scope=scope, object_type="engine", object_id="7")
    links = {link.text: link.attributes["href"] for link in Html(mine.get("/")).all("a")}
    assert links["The cache is cold."] == reverse("reflection_detail", args=[candidate.pk])
    assert links["home"] == reverse("scope_detail", args=[scope.pk])
    assert changes_of(mine.get("/"))[0] == "Strange thing 1"


@pytest.mark.behaviour("Z79")
def test_what_was_done_elsewhere_is_not_told(mine, scope):
    make_memory(scope=scope)
    elsewhere = make_scope(make_user(username="stranger"))
    services.remember(actor=actor_for_user(elsewhere.owner), scope=elsewhere, content="Somewhere else.")
    assert "stranger" not in mine.get("/").text
    assert changes_of(mine.get("/")) == []


def test_an_agents_writes_are_told_under_its_name(mine, owner, scope):
    agent = actor_for_token(make_token(owner, [scope])[0], agent="release-bot")
    services.remember(actor=agent, scope=scope, content="Released.")
    assert "by release-bot (token of owner)" in text_of(mine.get("/"))


# Visits --------------------------------------------------------------------------------------


def test_pages_within_half_an_hour_are_one_visit(owner):
    start = timezone.now()
    assert note_visit(user=owner, now=start) is None
    assert note_visit(user=owner, now=start + timedelta(minutes=29)) is None
    assert note_visit(user=owner, now=start + timedelta(minutes=31)) == start
    assert note_visit(user=owner, now=start + timedelta(minutes=40)) == start
    assert note_visit(user=owner, now=start + timedelta(days=3)) == start + timedelta(minutes=31)


def test_two_tabs_opened_at_once_are_one_visit(owner):
    yesterday = timezone.now() - timedelta(days=1)
    User.objects.filter(pk=owner.pk).update(last_visit_at=yesterday)
    stale, now = User.objects.get(pk=owner.pk), timezone.now()
    assert note_visit(user=owner, now=now) == yesterday
    assert note_visit(user=stale, now=now) == yesterday


def test_a_visit_changes_nothing_but_the_two_times(mine, owner, scope):
    before = User.objects.values().get(pk=owner.pk)
    mine.get("/")
    after = User.objects.values().get(pk=owner.pk)
    assert {name for name in before if before[name] != after[name]} == {"last_visit_at"}


# Health, ageing, newest ----------------------------------------------------------------------


@pytest.fixture
def data_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ZEROMEMORY_DATA", str(tmp_path))
    return tmp_path


def health_of(answer):
    (strip,) = Html(answer).classed("health")
    return strip.text


def test_the_health_strip_tells_a_worker_that_never_came_that_works_and_that_fell_silent(mine, scope, data_folder):
    make_memory(scope=scope)
    assert "Worker has never answered: start it with make up" in health_of(mine.get("/"))
    heartbeat.beat()
    assert "Worker works" in health_of(mine.get("/"))
    with at_time(timezone.now() + timedelta(hours=2, minutes=5)):
        assert "Worker silent for 2 hours" in health_of(mine.get("/"))


def test_the_health_strip_tells_that_search_is_by_words(mine, scope, settings):
    make_memory(scope=scope)
    settings.EMBEDDER = "none"
    assert "Embedder switched off, search by words only" in health_of(mine.get("/"))
    settings.EMBEDDER, settings.EMBEDDER_MODEL_PATH = "local", "/nowhere"
    assert "ZEROMEMORY_EMBEDDER_PATH must be a folder" in health_of(mine.get("/"))


def test_how_it_ages_is_there_in_small(mine, scope):
    for days in (1, 20, 500):
        make_memory(scope=scope, age_days=days)
    shown = text_of(mine.get("/"))
    assert "Median age 20 days" in shown
    assert "1 of 3" in shown


def test_the_five_newest_live_memories_are_shown(mine, scope, owner):
    made = [make_memory(scope=scope, age_days=days) for days in range(7)]
    services.forget(actor=actor_for_user(owner), memory=made[0])
    shown = [row.attributes["id"].removeprefix("memory-") for row in Html(mine.get("/")).classed("memory-row")]
    assert shown == [str(memory.pk) for memory in made[1:6]]


def test_today_is_read(mine):
    assert mine.post("/").status_code == 405


def test_the_queries_do_not_grow_with_rows(mine, owner, scope):
    actor = actor_for_user(owner)
    services.remember(actor=actor, scope=scope, content="One.")
    candidate = make_candidate(scope)
    AuditEntry.objects.create(actor="a", action="snooze", scope=scope, object_type="candidate", object_id=candidate.pk)
    few = queries_of(lambda: mine.get("/"))
    for number in range(30):
        memory = services.remember(actor=actor, scope=scope, content=f"Number {number}.").memory
        services.pin(actor=actor, memory=memory)
        make_candidate(scope)
    assert queries_of(lambda: mine.get("/")) == few == recorded_queries("today")
