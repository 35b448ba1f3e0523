"""Recall over REST: what an answer says of itself, and what giving it leaves behind."""

import math
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection, connections, transaction
from django.urls import reverse
from django.utils import timezone

from memories.access import actor_for_user
from memories.models import AuditEntry, FusionConfig, Memory
from memories.services.accesses import Answered, Given, note_recall
from tests.factories import make_memory, make_scope

pytestmark = pytest.mark.django_db

DOUBT = 5.0


def recalled(api, query="harbour light", **asked):
    answer = api.post("/recall", {"query": query, **asked})
    assert answer.status_code == 200, answer.content
    return answer.json()


def ids(answer):
    return [result["id"] for result in answer["results"]]


def accesses(*memories):
    return [Memory.objects.get(pk=memory.pk).access_count for memory in memories]


@pytest.fixture
def harbour(scope):
    """Eight memories that match the question more and less."""
    words = ("light", "light is green", "wall", "master", "light at night", "is deep", "light, old", "bell")
    return [
        make_memory(f"The harbour {word}.", scope=scope, kind=("fact", "episode")[number % 2], age_days=number * 20)
        for number, word in enumerate(words)
    ]


# What giving it leaves behind ----------------------------------------------------------------


@pytest.mark.behaviour("G24")
def test_only_what_was_returned_is_accessed_and_once_each(api, scope):
    before = timezone.now()
    best = make_memory("The harbour light is green.", scope=scope, age_days=9)
    second = make_memory("The harbour wall.", scope=scope, age_days=9)
    unrelated = make_memory("Something else.", scope=scope, age_days=9)
    assert ids(recalled(api, k=1)) == [str(best.pk)]
    assert accesses(best, second, unrelated) == [1, 0, 0]
    assert len(recalled(api)["results"]) == 2
    assert accesses(best, second, unrelated) == [2, 1, 0]
    assert Memory.objects.get(pk=best.pk).accessed_at >= before
    assert Memory.objects.get(pk=unrelated.pk).accessed_at == unrelated.accessed_at


@pytest.mark.behaviour("G24")
def test_an_access_is_no_change(api, scope):
    memory = make_memory("The harbour light is green.", scope=scope, age_days=9, weight=0.4)
    recalled(api)
    after = Memory.objects.get(pk=memory.pk)
    assert after.access_count == 1
    moved = {"access_count", "accessed_at"}
    for field in Memory._meta.concrete_fields:
        assert field.attname in moved or getattr(after, field.attname) == getattr(memory, field.attname), field.attname
    assert not AuditEntry.objects.exists()


@pytest.mark.behaviour("G24")
def test_looking_at_a_page_accesses_nothing(client_of, owner, scope):
    memory = make_memory("The harbour light is green.", scope=scope, age_days=9)
    mine = client_of(owner)
    for path in ("?q=harbour+light", "?q=harbour+light&all=1", "?q=harbour&kind=fact", ""):
        page = mine.get(reverse("memory_list") + path)
        assert len(page.context["rows"]) == 1
    assert mine.get(reverse("memory_detail", args=[memory.pk])).status_code == 200
    after = Memory.objects.get(pk=memory.pk)
    assert (after.access_count, after.accessed_at) == (0, memory.accessed_at)


@pytest.mark.behaviour("G24")
def test_reading_one_or_listing_over_rest_is_no_recall(api, scope):
    memory = make_memory("The harbour light is green.", scope=scope)
    api.get(f"/memories/{memory.pk}")
    api.get("/memories", q="harbour")
    assert accesses(memory) == [0]


def test_noting_a_recall_costs_one_statement(api, scope, harbour, django_assert_num_queries):
    actor, given = actor_for_user(scope.owner), [Given(memory.pk, 0.0, False) for memory in harbour]
    for answered in (Answered(given), Answered()):
        with django_assert_num_queries(1):
            note_recall(actor=actor, query="harbour", k=10, answered=answered)


def test_a_count_at_the_end_of_its_column_stays_there(api, scope):
    full = make_memory("The harbour light is green.", scope=scope, access_count=2**31 - 1)
    assert ids(recalled(api)) == [str(full.pk)]
    assert accesses(full) == [2**31 - 1]


@pytest.mark.behaviour("G24")
@pytest.mark.django_db(transaction=True)
def test_a_memory_that_somebody_is_changing_is_given_without_waiting_and_the_others_are_counted(api, scope):
    held, free = (make_memory(f"The harbour light {name}.", scope=scope) for name in ("one", "two"))
    with ThreadPoolExecutor(1) as elsewhere, transaction.atomic():
        Memory.objects.select_for_update().get(pk=held.pk)
        answer = elsewhere.submit(apart, lambda: recalled(api)).result(timeout=20)
    assert set(ids(answer)) == {str(held.pk), str(free.pk)}
    assert accesses(held, free) == [0, 1]


@pytest.mark.behaviour("G24")
@pytest.mark.django_db(transaction=True)
def test_sixteen_recalls_at_once_never_fail_and_count_no_more_than_they_gave(api, scope, harbour):
    start = threading.Barrier(16)

    def ask():
        start.wait(timeout=30)
        return recalled(api, k=8)

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(apart, [ask] * 16))
    assert {len(answer["results"]) for answer in answers} == {8}
    assert all(1 <= count <= 16 for count in accesses(*harbour))


@pytest.mark.django_db(transaction=True)
def test_where_accesses_cannot_be_noted_the_answer_comes_all_the_same(api, scope, caplog):
    memory = make_memory("The harbour light is green.", scope=scope)
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE memories ADD CONSTRAINT never_accessed CHECK (access_count = 0)")
    try:
        assert ids(recalled(api)) == [str(memory.pk)]
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE memories DROP CONSTRAINT never_accessed")
    assert "A recall that gave 1 memories could not be noted" in caplog.text
    assert accesses(memory) == [0]


def apart(act):
    """*act* on a connection of its own."""
    try:
        return act()
    finally:
        connections.close_all()


# How many, and in which order ----------------------------------------------------------------


@pytest.mark.behaviour("G23")
def test_ten_are_given_unless_another_number_is_asked_for(api, scope):
    for number in range(14):
        make_memory(f"The harbour light, note {number}.", scope=scope)
    assert [len(recalled(api, **asked)["results"]) for asked in ({}, {"k": 8}, {"k": 12})] == [10, 8, 12]


@pytest.mark.behaviour("G26")
def test_what_ties_keeps_its_order_from_one_recall_to_the_next(api, scope):
    moment = timezone.now() - timedelta(days=3)
    for name in ("one", "two", "three", "four", "five", "six"):
        make_memory(f"The harbour light, {name}.", scope=scope, created_at=moment)
    orders = [ids(recalled(api)) for _ in range(5)]
    assert orders == [sorted(orders[0])] * 5


@pytest.mark.behaviour("G25")
def test_recalling_one_of_two_equals_again_and_again_does_not_lift_it(api, scope):
    moment = timezone.now() - timedelta(days=3)
    first, second = sorted(
        (make_memory(f"The harbour light, {name}.", scope=scope, created_at=moment) for name in ("one", "two")),
        key=lambda memory: memory.pk,
    )
    second.access_count, second.accessed_at, first.weight = 1000, timezone.now(), 0.001
    first.save()
    second.save()
    answer = recalled(api)
    assert ids(answer) == [str(first.pk), str(second.pk)]
    assert answer["results"][0]["score"] == pytest.approx(answer["results"][1]["score"], rel=1e-9)


# What an answer says of itself ---------------------------------------------------------------


def squeezed(behind):
    return math.exp(-(behind**2 / (2 * DOUBT) if behind < DOUBT else behind - DOUBT / 2))


@pytest.mark.behaviour("G28")
def test_the_parts_of_a_log_linear_answer_reproduce_what_was_fused(api, harbour):
    results = recalled(api, k=20)["results"]
    assert len(results) == 8
    for result in results:
        fusion = result["fusion"]
        assert math.fsum(fusion["parts"].values()) == pytest.approx(fusion["total"], abs=1e-9)
        assert squeezed(fusion["best"] - fusion["total"]) == pytest.approx(result["fused"], abs=1e-9)
    assert max(result["fusion"]["total"] for result in results) == results[0]["fusion"]["best"]


@pytest.mark.behaviour("G28")
def test_the_parts_of_a_reciprocal_rank_answer_reproduce_what_was_fused(api, harbour):
    FusionConfig.objects.update(method="rrf", recency_weight=0.5)
    weights = {"vector": 1, "text": 1, "recency": 0.5}
    for result in recalled(api, k=20)["results"]:
        parts = {name: weights[name] / (60 + rank) for name, rank in result["ranks"].items() if rank}
        assert result["fusion"]["parts"] == pytest.approx(parts)
        assert result["fused"] == pytest.approx(sum(parts.values())) == pytest.approx(result["fusion"]["total"])


@pytest.mark.behaviour("G28")
@pytest.mark.parametrize("method", ["log_linear", "rrf"])
def test_the_page_that_explains_gives_the_same_order_as_a_recall(api, client_of, owner, harbour, method):
    FusionConfig.objects.update(method=method)
    shown = client_of(owner).get(reverse("memory_list"), {"q": "harbour light"}).context["rows"]
    assert [str(row["id"]) for row in shown] == ids(recalled(api, k=20))


# What filters hide ---------------------------------------------------------------------------


@pytest.mark.behaviour("F30")
def test_an_empty_answer_says_what_each_filter_hides(api_of, owner, scope):
    api = api_of(owner, scope, make_scope(owner, slug="empty"))
    for number in range(7):
        make_memory(f"The harbour light, note {number}.", scope=scope)
    for asked, said in (
        ({"kinds": ["task"]}, ["0 with this kind, 7 without"]),
        ({"scopes": ["empty"]}, ["0 in this scope, 7 without"]),
        ({"kinds": ["fact"], "scopes": ["empty"]}, ["0 with this kind, 0 without", "0 in this scope, 7 without"]),
    ):
        answer = recalled(api, k=3, **asked)
        assert (answer["results"], answer["notices"][-len(said) :]) == ([], said)


@pytest.mark.behaviour("F30")
def test_counting_what_a_filter_hides_stops_at_twenty(api, scope):
    for number in range(25):
        make_memory(f"The harbour light, note {number}.", scope=scope)
    assert recalled(api, kinds=["task"])["notices"][-1] == "0 with this kind, 20 or more without"


@pytest.mark.behaviour("F30")
def test_what_may_not_be_read_is_not_hidden_by_a_filter(api, scope):
    make_memory("The harbour light is green.")
    assert recalled(api, kinds=["task"])["notices"][-1] == "0 with this kind, 0 without"


def test_an_answer_that_holds_something_or_has_no_filters_says_nothing_of_them(api, harbour):
    for asked in ({}, {"kinds": ["fact"]}, {"query": "zebra"}):
        assert not [notice for notice in recalled(api, **asked)["notices"] if "without" in notice]
