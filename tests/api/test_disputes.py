"""Disputes over REST: raised by agents, read by whoever reads the scope, settled by tokens made for it."""

import json
import uuid

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memories.models import AuditEntry, Memory, UsageEvent
from reflections.models import Dispute
from reflections.services import disputes as services
from tests.factories import make_memory, make_scope
from tests.reflections.disputing import make_pair, make_single, queued
from tests.reflections.factories import person

pytestmark = pytest.mark.django_db


@pytest.fixture
def judge(api_of, owner, scope):
    """A token that settles disputes."""
    return api_of(owner, scope, can_adjudicate=True)


def challenge(api, memory, **body):
    return api.post(f"/memories/{memory.pk}/challenge", body)


def recalled(api, query):
    return {result["id"]: result for result in api.post("/recall", {"query": query}).json()["results"]}


# Challenge -----------------------------------------------------------------------------------


@pytest.mark.behaviour("Z34")
def test_challenging_twice_is_one_dispute_and_the_memory_stays_flagged_and_lower(api, scope):
    memory = make_memory("The harbour crane lifts forty tonnes.", scope=scope)
    other = make_memory("The harbour crane was painted.", scope=scope)
    before = recalled(api, "harbour crane")[str(memory.pk)]
    first = challenge(api, memory, reason="It lifts thirty.", evidence="The plate on the crane says 30 t.").json()
    again = challenge(api, memory, reason="It lifts thirty!").json()
    assert (first["already_pending"], again["already_pending"]) == (False, True)
    assert first["dispute_id"] == again["dispute_id"]
    after = recalled(api, "harbour crane")
    shown = after[str(memory.pk)]
    assert (shown["disputed"], shown["dispute_id"]) == (True, first["dispute_id"])
    assert shown["factors"]["reinforcement"] == pytest.approx(0.82671, abs=5e-6)
    assert shown["score"] < before["score"]
    assert (after[str(other.pk)]["disputed"], after[str(other.pk)]["dispute_id"]) == (False, None)
    whole = api.get(f"/memories/{memory.pk}").json()
    assert (whole["state"], whole["disputed"], whole["dispute_id"]) == ("live", True, first["dispute_id"])
    assert UsageEvent.objects.filter(memory=memory, misled=True, source="challenge").count() == 1


@pytest.mark.behaviour("F18")
def test_what_a_person_doubted_does_not_climb_back_by_being_recalled(api, owner, scope):
    doubted = make_memory("The harbour opens at six.", scope=scope, age_days=1)
    make_memory("The harbour opens at six, says the sign.", scope=scope, age_days=30)
    first = next(iter(recalled(api, "harbour opens at six")))
    assert first == str(doubted.pk)
    services.challenge(actor=person(owner), memory=doubted, reason="Not any more.")
    places = [list(recalled(api, "harbour opens at six")).index(str(doubted.pk)) for _ in range(100)]
    assert set(places) == {1}


@pytest.mark.behaviour("Z39")
@pytest.mark.parametrize("field", ["evidence", "reason"])
def test_a_secret_in_a_challenge_is_refused_and_not_repeated(api, scope, caplog, field):
    secret = "ghp_" + "Zq8" * 13
    memory = make_memory(scope=scope)
    answer = challenge(api, memory, **{field: f"See {secret}."})
    assert answer.status_code == 400
    assert answer.json()["code"] == "validation_failed"
    assert answer.json()["message"].startswith(f"secret_content_rejected: {field} github_token ghp_…")
    rows = [*Dispute.objects.values(), *AuditEntry.objects.values(), *UsageEvent.objects.values()]
    assert secret not in answer.content.decode() + caplog.text + str(rows)
    assert not Dispute.objects.exists()


def test_what_is_retired_or_foreign_cannot_be_challenged(api, scope):
    memory, foreign = make_memory(scope=scope), make_memory(scope=make_scope())
    api.post(f"/memories/{memory.pk}/forget")
    assert challenge(api, memory).status_code == 409
    absent = api.post(f"/memories/{uuid.uuid4()}/challenge")
    assert (challenge(api, foreign).status_code, challenge(api, foreign).json()) == (404, absent.json())


def test_a_token_that_only_reads_challenges_nothing(api_of, owner, scope):
    reading = api_of(owner, scope, can_write=False)
    assert challenge(reading, make_memory(scope=scope)).status_code == 403
    assert not UsageEvent.objects.exists()


@pytest.mark.parametrize(
    "body", [{"evidence": "x" * 4001}, {"reason": "x" * 2001}, {"because": "x"}, {"reason": 1}, {"evidence": "\x00"}]
)
def test_a_challenge_that_does_not_fit_is_refused(api, scope, body):
    memory = make_memory(scope=scope)
    assert challenge(api, memory, **body).json()["code"] == "validation_failed"
    assert not Dispute.objects.exists()


def test_a_duplicate_or_an_unjudged_pair_casts_no_doubt(api, scope):
    pair = make_pair(scope, "duplicate")
    assert api.get(f"/memories/{pair.subject_id}").json()["disputed"] is False
    other = queued(make_memory(scope=scope), pair.other, type="contradiction")
    assert api.get(f"/memories/{pair.other_id}").json()["dispute_id"] == str(other.pk)


def test_flags_cost_one_query_however_many_memories_are_returned(api, scope):
    memories = [make_memory(f"The harbour has basin {number}.", scope=scope) for number in range(8)]
    for memory in memories[:5]:
        make_single(scope, memory=memory)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        found = recalled(api, "harbour basin")
    assert sum(result["disputed"] for result in found.values()) == 5
    assert sum('FROM "dispute"' in query["sql"] for query in queries) == 1


# Reading -------------------------------------------------------------------------------------


def test_disputes_are_listed_oldest_first_by_status_type_and_scope(api, judge, owner, scope):
    pair, single = make_pair(scope), make_single(scope, memory=make_memory(scope=scope))
    make_pair(make_scope())
    listed = api.get("/disputes").json()
    assert [row["id"] for row in listed["disputes"]] == [str(pair.pk), str(single.pk)]
    assert listed["next_cursor"] is None
    assert [row["id"] for row in api.get("/disputes", type="stale_suspect").json()["disputes"]] == [str(single.pk)]
    assert len(api.get("/disputes", scope="home").json()["disputes"]) == 2
    assert api.get("/disputes", status="resolved").json()["disputes"] == []
    judge.post(f"/disputes/{single.pk}/resolve", {"version": 1, "resolution": "uphold"})
    dismissed = api.get("/disputes", status="dismissed").json()["disputes"]
    assert [(row["id"], row["resolution"]) for row in dismissed] == [(str(single.pk), "upheld")]


def test_pages_of_disputes_follow_each_other(api, scope, monkeypatch):
    monkeypatch.setattr("reflections.dispute_api.PAGE_SIZE", 2)
    made = [str(make_single(scope, memory=make_memory(scope=scope)).pk) for _ in range(5)]
    seen, cursor = [], None
    for _ in range(3):
        page = api.get("/disputes", **({"cursor": cursor} if cursor else {})).json()
        seen += [row["id"] for row in page["disputes"]]
        cursor = page["next_cursor"]
    assert (seen, cursor) == (made, None)
    assert api.get("/disputes", cursor="x").json()["field"] == "cursor"


def texts_read(act) -> list[str]:
    """The statements that bring whole texts of memories along."""
    with CaptureQueriesContext(connection) as captured:
        act()
    return [q["sql"] for q in captured if '"content", "' in q["sql"] or '"verbatim"' in q["sql"]]


def test_a_list_of_disputes_brings_no_whole_text_along(api, scope):
    make_pair(scope)
    make_single(scope, memory=make_memory("Short.\nAnd the rest.", scope=scope))
    assert texts_read(lambda: api.get("/disputes")) == []
    rows = api.get("/disputes").json()["disputes"]
    assert [row["subject"]["headline"] for row in rows] == ["The API listens on port 8080.", "Short."]
    assert not any("content" in row["subject"] for row in rows)


@pytest.mark.parametrize("query", [{"status": "open"}, {"type": "quarrel"}, {"scope": ""}])
def test_a_filter_that_is_not_known_is_refused(api, query):
    assert api.get("/disputes", **query).status_code == 400


def test_one_dispute_shows_both_texts_and_why_it_is_here(api, scope):
    pair = make_pair(scope, "supersedes", model="some:model", confidence=0.9, rationale="Both name the port.")
    whole = api.get(f"/disputes/{pair.pk}").json()
    assert [whole["subject"]["content"], whole["other"]["content"]] == [side.content for side in pair.sides]
    assert (whole["scanner"], whole["model"], whole["confidence"]) == ("pair scan", "some:model", 0.9)
    assert (whole["rationale"], whole["opened_by"]) == ("Both name the port.", "pair scan (some:model)")
    assert api.get(f"/disputes/{uuid.uuid4()}").status_code == 404


# Settling ------------------------------------------------------------------------------------


@pytest.mark.behaviour("F36")
def test_only_a_token_made_for_it_settles_and_the_audit_names_its_person(api, judge, owner, scope):
    pair = make_pair(scope)
    body = {"version": 1, "resolution": "forget", "winner": str(pair.other_id)}
    assert api.post(f"/disputes/{pair.pk}/resolve", body).status_code == 403
    answer = judge.post(f"/disputes/{pair.pk}/resolve", body).json()
    assert (answer["status"], answer["resolution"], answer["winner"]) == ("resolved", "forgot", str(pair.other_id))
    assert Memory.objects.get(pk=pair.subject_id).state == "invalidated"
    assert set(AuditEntry.objects.filter(action__in=["forget", "settle_dispute"]).values_list("user", flat=True)) == {
        owner.pk
    }


@pytest.mark.behaviour("Z37")
def test_refusals_over_rest_are_told_apart(judge, scope):
    pair, single = make_pair(scope), make_single(scope, memory=make_memory(scope=scope))
    foreign = make_pair(make_scope())
    upheld = {"version": 1, "resolution": "uphold"}
    judge.post(f"/disputes/{single.pk}/resolve", upheld)
    answers = [
        judge.post(f"/disputes/{pair.pk}/resolve", {"version": 1, "resolution": "retire"}),
        judge.post(f"/disputes/{pair.pk}/resolve", {"version": 1, "resolution": "forget", "winner": str(uuid.uuid4())}),
        judge.post(f"/disputes/{single.pk}/resolve", upheld),
        judge.post(f"/disputes/{foreign.pk}/resolve", upheld),
    ]
    assert [answer.status_code for answer in answers] == [400, 400, 409, 404]
    assert len({answer.json()["message"] for answer in answers}) == 4
    assert answers[3].json() == judge.post(f"/disputes/{uuid.uuid4()}/resolve", upheld).json()


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"resolution": "keep_both"},
        {"version": 1, "resolution": "erase"},
        {"version": 1, "resolution": "forget", "winner": "x"},
        {"version": 0, "resolution": "keep_both"},
        {"version": 1, "resolution": "keep_both", "force": True},
    ],
)
def test_a_resolution_that_does_not_fit_is_refused(judge, scope, body):
    pair = make_pair(scope)
    assert judge.post(f"/disputes/{pair.pk}/resolve", body).status_code == 400


# In bulk -------------------------------------------------------------------------------------


@pytest.mark.behaviour("Z38")
def test_in_bulk_each_dispute_settles_or_fails_for_itself(judge, scope):
    pairs = [queued(make_memory(scope=scope, age_days=2), make_memory(scope=scope)) for _ in range(3)]
    foreign = make_pair(make_scope())
    asked = [{"dispute": str(pair.pk), "version": 1, "resolution": "keep_both"} for pair in pairs]
    asked[1] |= {"resolution": "retire"}
    asked.append({"dispute": str(foreign.pk), "version": 1, "resolution": "keep_both"})
    answer = judge.post("/disputes/resolve", {"resolutions": asked}).json()
    assert [row["id"] for row in answer["resolved"]] == [str(pairs[0].pk), str(pairs[2].pk)]
    assert [(row["dispute"], row["code"]) for row in answer["failed"]] == [
        (str(pairs[1].pk), "validation_failed"),
        (str(foreign.pk), "not_found"),
    ]
    assert answer["skipped"] == []
    assert [row["version"] for row in answer["resolved"]] == [2, 2]
    assert not any("content" in row["subject"] for row in answer["resolved"])


@pytest.mark.behaviour("Z38")
@pytest.mark.parametrize(
    "body",
    [
        {},
        {"policy": "newer"},
        {"policy": "newer", "disputes": []},
        {"policy": "newer", "disputes": None},
        {"policy": "newest", "disputes": ["x"]},
        {"disputes": ["x"]},
        {"policy": "newer", "resolutions": [{"dispute": "x", "version": 1, "resolution": "keep_both"}]},
        {"policy": "newer", "disputes": ["x"] * 101},
        {"resolutions": [{"dispute": "x", "version": 1, "resolution": "keep_both"}] * 101},
    ],
    ids=lambda body: json.dumps(body)[:40],
)
def test_a_bulk_that_names_nothing_too_much_or_both_ways_is_refused(judge, scope, body):
    make_pair(scope)
    assert judge.post("/disputes/resolve", body).status_code == 400
    assert Dispute.objects.filter(status="pending").count() == 1


@pytest.mark.parametrize("sent", ["x", "<script>", "y" * 10_000, 1, "not-a-uuid\n"])
def test_what_is_no_id_is_refused_and_not_repeated(judge, scope, sent):
    pair = make_pair(scope)
    one = {"dispute": sent, "version": 1, "resolution": "keep_both"}
    for body in ({"policy": "newer", "disputes": [str(pair.pk), sent]}, {"resolutions": [one]}):
        answer = judge.post("/disputes/resolve", body)
        assert (answer.status_code, answer.json()["code"]) == (400, "validation_failed")
        assert len(answer.content) < 300
        assert "<script>" not in answer.content.decode()
    assert Dispute.objects.filter(status="pending").count() == 1
