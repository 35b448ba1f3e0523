"""What a recall over REST leaves in the log, and for whom; that it costs no round trip and never fails a recall."""

from contextlib import contextmanager
from datetime import timedelta
from statistics import median

import pytest
from django.db import connection
from django.urls import reverse
from django.utils import timezone

from memories.models import RecallActivity, Reinforcement, Token
from memories.services import accesses
from memories.tasks import forget_activity
from tests.factories import make_memory, make_scope, make_user
from tests.insights.asking import make_recall
from tests.queries import queries_of, recorded_queries

pytestmark = pytest.mark.django_db

GITHUB_TOKEN = "ghp_" + "a1B2" * 9


def asked(api, query="harbour light", **more):
    return api.post("/recall", {"query": query, **more})


def logged():
    return RecallActivity.objects.get()


# What is kept --------------------------------------------------------------------------------


def test_a_line_says_who_asked_what_where_and_what_was_given(api, owner, scope):
    before = timezone.now()
    best = make_memory("The harbour light is green.", scope=scope, age_days=9)
    second = make_memory("The harbour wall.", scope=scope, age_days=20)
    Reinforcement.objects.create(memory=second, multiplier=1.1, useful=2)
    api.headers["X-Agent"] = "builder"
    answer = asked(api, session="s-1", k=5).json()
    line = logged()
    assert [str(memory) for memory in line.memories] == [result["id"] for result in answer["results"]]
    assert set(line.memories) == {best.pk, second.pk}
    assert dict(zip(line.memories, line.reinforced, strict=True)) == {best.pk: False, second.pk: True}
    assert median(line.ages) == pytest.approx(14.5, abs=0.01)
    assert (line.user, line.token, line.agent, line.session) == (owner, Token.objects.get(), "builder", "s-1")
    assert (line.sort, line.query, line.k, line.scopes) == ("recall", "harbour light", 5, [scope.pk])
    assert (line.outcome, line.error, line.hits) == ("hits", "", 2)
    assert line.took_ms == pytest.approx(answer["took_ms"])
    assert before <= line.at <= timezone.now()


def test_only_the_scopes_that_were_asked_for_are_named(api_of, owner, scope):
    garden = make_scope(owner, slug="garden")
    both = api_of(owner, scope, garden)
    asked(both)
    asked(both, scopes=["garden"])
    lines = RecallActivity.objects.order_by("at")
    assert [line.scopes for line in lines] == [sorted([scope.pk, garden.pk]), [garden.pk]]


def test_nothing_found_is_logged_too(api, scope):
    assert asked(api).json()["results"] == []
    assert (logged().outcome, logged().memories, logged().error) == ("empty", [], "")


def test_without_an_embedder_the_line_says_that_words_alone_were_searched(api, scope, settings):
    make_memory("The harbour light is green.", scope=scope)
    settings.EMBEDDER = "none"
    assert asked(api).json()["notices"][0].startswith("Searching by words only")
    assert (logged().words_only, logged().outcome) == (True, "hits")


def test_what_was_asked_wrongly_is_no_recall(api, scope):
    for wrong in ({"query": " "}, {"k": 99}, {"scopes": []}, {"query": "x", "surprise": 1}):
        assert asked(api, **wrong).status_code == 400
    assert not RecallActivity.objects.exists()


def test_a_scope_that_is_not_there_is_logged_as_a_failure_and_refused_as_before(api, scope):
    make_scope(make_user(), slug="foreign")
    assert asked(api, scopes=["foreign"]).status_code == 404
    assert (logged().outcome, logged().error, logged().scopes) == ("error", "not_found", [])


@pytest.mark.django_db(transaction=True)
def test_a_recall_that_the_database_ends_is_logged_as_unavailable(api, scope):
    """By a real end: the statement is cancelled after a millisecond, the log's own comes after."""
    with cancelled("FROM shown"):
        assert asked(api).status_code == 503
    assert (logged().outcome, logged().error) == ("error", "unavailable")


@contextmanager
def cancelled(statement):
    """Every statement that holds *statement* is given a millisecond that it does not have."""

    def wrap(execute, sql, params, many, context):
        if statement not in str(sql):
            return execute(sql, params, many, context)
        with connection.connection.cursor() as raw:
            raw.execute("SET statement_timeout = 1")
        try:
            return execute("SELECT pg_sleep(5)", None, False, context)
        finally:
            with connection.connection.cursor() as raw:
                raw.execute("RESET statement_timeout")

    with connection.execute_wrapper(wrap):
        yield


@pytest.mark.behaviour("G24")
def test_a_person_who_looks_leaves_no_line(client_of, owner, scope):
    make_memory("The harbour light is green.", scope=scope)
    mine = client_of(owner)
    for path in ("?q=harbour+light", "?q=harbour+light&all=1", "?q=zebra"):
        assert mine.get(reverse("memory_list") + path).status_code == 200
    assert not RecallActivity.objects.exists()


# Secrets and length --------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["query", "session"])
def test_a_secret_is_masked_wherever_an_agent_says_it(api, scope, place):
    asked(api, **({"query": "light"} | {place: f"why is {GITHUB_TOKEN} refused"}))
    kept = getattr(logged(), place)
    assert GITHUB_TOKEN[4:] not in kept
    assert kept.startswith("why is ghp_…(")


def test_an_agent_that_is_called_by_a_secret_is_refused(api, scope):
    api.headers["X-Agent"] = GITHUB_TOKEN
    answer = api.post("/recall", {"query": "light"})
    assert (answer.status_code, answer.json()["field"]) == (400, "agent")
    assert not RecallActivity.objects.exists()


def test_a_secret_that_lies_across_the_cut_is_masked_before_it(api, scope):
    asked(api, query="w " * 240 + GITHUB_TOKEN)
    assert "a1B2" not in logged().query


def test_a_long_question_is_kept_to_its_beginning(api, scope):
    asked(api, query="light " * 3000)
    assert logged().query == ("light " * 3000)[:500]


def test_half_a_character_is_no_failure(api, scope):
    answer = api.client.post(
        "/api/v1/recall", b'{"query": "light \\ud83d here"}', content_type="application/json", headers=api.headers
    )
    assert answer.status_code == 200
    assert logged().query == "light   here"


# What it costs, and what it must never cost --------------------------------------------------


def test_a_recall_takes_as_many_round_trips_as_before(api, scope):
    for number in range(12):
        make_memory(f"The harbour light, note {number}.", scope=scope)
    asked(api)
    for k in (1, 12):
        assert queries_of(lambda k=k: asked(api, k=k)) == recorded_queries("rest_recall")


@pytest.mark.django_db(transaction=True)
@pytest.mark.behaviour("Z30")
@pytest.mark.parametrize(
    ("hurt", "heal"),
    [
        (
            "ALTER TABLE recall_activity ADD CONSTRAINT nothing_is_logged CHECK (k < 0) NOT VALID",
            "ALTER TABLE recall_activity DROP CONSTRAINT nothing_is_logged",
        ),
        ("ALTER TABLE recall_activity RENAME TO elsewhere", "ALTER TABLE elsewhere RENAME TO recall_activity"),
    ],
    ids=["a row is refused", "the table is away"],
)
@pytest.mark.parametrize("content", ["The harbour light is green.", "Nothing of the kind."], ids=["hits", "empty"])
def test_where_the_log_cannot_be_written_the_answer_comes_all_the_same(api, scope, caplog, hurt, heal, content):
    memory = make_memory(content, scope=scope)
    found = content.startswith("The")
    execute(hurt)
    try:
        answer = asked(api)
    finally:
        execute(heal)
    assert answer.status_code == 200
    assert [result["id"] for result in answer.json()["results"]] == [str(memory.pk)] * found
    assert "could not be noted" in caplog.text
    assert not RecallActivity.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_where_a_failure_cannot_be_logged_the_failure_is_answered_all_the_same(api, scope):
    execute("ALTER TABLE recall_activity RENAME TO elsewhere")
    try:
        assert asked(api, scopes=["nowhere"]).json()["code"] == "not_found"
    finally:
        execute("ALTER TABLE elsewhere RENAME TO recall_activity")


def execute(statement):
    with connection.cursor() as cursor:
        cursor.execute(statement)


# How long it is kept -------------------------------------------------------------------------


def test_lines_are_kept_for_thirty_days_and_removed_a_batch_at_a_time(owner, monkeypatch):
    monkeypatch.setattr(accesses, "ACTIVITY_A_BATCH", 2)
    for days in (0, 29, 29.9, 30.1, 31, 60, 90, 400):
        make_recall(owner, days_ago=days)
    assert accesses.forget_old_activity() == 5
    ages = sorted(
        (timezone.now() - at) / timedelta(days=1) for at in RecallActivity.objects.values_list("at", flat=True)
    )
    assert ages == pytest.approx([0, 29, 29.9], abs=0.01)


def test_the_clock_removes_old_lines(owner):
    make_recall(owner, days_ago=31)
    forget_activity()
    assert not RecallActivity.objects.exists()


def test_the_log_outlives_what_it_names(api, owner, scope):
    memory = make_memory("The harbour light is green.", scope=scope)
    asked(api)
    gone = memory.pk
    memory.delete()
    Token.objects.all().delete()
    assert (logged().memories, logged().token, logged().user) == ([gone], None, owner)
