from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from memories.models import AuditEntry, Memory, Role
from tests.factories import make_member, make_memory, make_scope, make_user

pytestmark = pytest.mark.django_db

MARCH = datetime(2025, 3, 1, tzinfo=UTC)
BEFORE = MARCH.isoformat()


def ten_in(scope, **overrides):
    return [make_memory(scope=scope, created_at=MARCH - timedelta(days=1 + n), **overrides) for n in range(10)]


def live_in(scope):
    return Memory.objects.live().filter(scope=scope).count()


def dry_run(api, scope="home", before=BEFORE, **fields):
    return api.post("/memories/bulk", {"action": "forget", "scope": scope, "before": before, **fields})


def act(api, count, **fields):
    return dry_run(api, dry_run=False, expected_count=count, **fields)


@pytest.mark.behaviour("F2")
@pytest.mark.behaviour("F14")
def test_of_two_scopes_of_ten_one_is_emptied_and_comes_back_with_the_same_ids(api_of, owner, scope):
    other = make_scope(owner, slug="other")
    ids = {memory.pk for memory in ten_in(scope)}
    ten_in(other)
    api = api_of(owner, scope, other)
    counted = dry_run(api).json()
    assert (counted["count"], len(counted["sample"]), counted["operation"], live_in(scope)) == (10, 10, None, 10)
    done = act(api, 10, reason="An old project.").json()
    assert (done["count"], live_in(scope), live_in(other)) == (10, 0, 10)
    undone = api.post(f"/memories/bulk/{done['operation']}/undo").json()
    assert (undone["count"], undone["left"]) == (10, 0)
    assert set(Memory.objects.live().filter(scope=scope).values_list("pk", flat=True)) == ids


@pytest.mark.behaviour("F2")
@pytest.mark.parametrize(
    "sent",
    [
        {"scope": ""}, {"scope": None}, {"scope": "*"}, {"scope": " "}, {"scope": "%"}, {"scope": "theirs"},
        {"scope": ["home"]}, {"before": ""}, {"before": None}, {"before": "*"}, {"before": "2025-03-01T00:00:00"},
        {"kinds": []}, {"kinds": None}, {"kinds": "*"}, {"kinds": ["*"]}, {"kinds": [""]}, {"kinds": [None]},
        {"filter": {}}, {"action": ""}, {"action": "*"},
    ],
    ids=repr,
)  # fmt: skip
def test_an_empty_or_boundless_filter_is_refused_and_never_means_all(sent, api, scope):
    theirs = make_scope(slug="theirs")
    ten_in(scope), ten_in(theirs)
    body = {"action": "forget", "scope": "home", "before": BEFORE, "dry_run": False, "expected_count": 10, **sent}
    assert api.post("/memories/bulk", body).status_code in (400, 404)
    assert (live_in(scope), live_in(theirs)) == (10, 10)
    assert not AuditEntry.objects.filter(action="forget").exists()


@pytest.mark.behaviour("F2")
@pytest.mark.parametrize("missing", ["scope", "before", "action"])
def test_what_is_left_out_is_asked_for(missing, api, scope):
    ten_in(scope)
    body = {"action": "forget", "scope": "home", "before": BEFORE, "dry_run": False, "expected_count": 10}
    del body[missing]
    answer = api.post("/memories/bulk", body)
    assert (answer.status_code, answer.json()["field"], live_in(scope)) == (400, missing, 10)


@pytest.mark.behaviour("F14")
def test_only_what_is_older_than_the_date_and_of_the_kinds_is_forgotten(api, scope):
    ten_in(scope)
    newer = make_memory(scope=scope, created_at=MARCH)
    episode = make_memory(scope=scope, created_at=MARCH - timedelta(days=3), kind="episode")
    assert dry_run(api).json()["count"] == 11
    assert act(api, 10, kinds=["fact"]).json()["count"] == 10
    assert set(Memory.objects.live()) == {newer, episode}


def test_pinned_and_protected_memories_are_counted_and_left_alone(api, scope):
    ten_in(scope)
    kept = {
        make_memory(scope=scope, age_days=900, pinned=True),
        make_memory(scope=scope, age_days=900, kind="gotcha", provenance=1),
        make_memory(scope=scope, age_days=900, kind="convention", pinned=True),
    }
    make_memory(scope=scope, age_days=900, kind="decision", provenance=0)
    assert dry_run(api).json()["left_alone"] == {"pinned": 2, "protected": 1, "busy": 0}
    act(api, 11)
    assert set(Memory.objects.live()) == kept


def test_another_count_than_the_one_that_was_seen_is_a_conflict(api, scope):
    ten_in(scope)
    refused = act(api, 9)
    assert (refused.status_code, refused.json()["field"], live_in(scope)) == (409, "expected_count", 10)


def test_acting_without_the_count_is_refused(api, scope):
    ten_in(scope)
    refused = dry_run(api, dry_run=False)
    assert (refused.status_code, refused.json()["field"], live_in(scope)) == (400, "expected_count", 10)


def test_a_reader_counts_nothing_and_forgets_nothing(api_of, scope):
    ten_in(scope)
    reader = api_of(make_member(scope, Role.READER), scope)
    assert dry_run(reader).status_code == 403
    assert act(reader, 10).status_code == 403
    assert live_in(scope) == 10


def test_undoing_somebody_elses_operation_finds_nothing(api, api_of, scope):
    ten_in(scope)
    operation = act(api, 10).json()["operation"]
    stranger = make_user()
    theirs = api_of(stranger, make_scope(stranger))
    assert theirs.post(f"/memories/bulk/{operation}/undo").status_code == 404
    assert api.post(f"/memories/bulk/{uuid4()}/undo").status_code == 404
    assert live_in(scope) == 0


def test_a_reader_does_not_undo(api, api_of, scope):
    ten_in(scope)
    operation = act(api, 10).json()["operation"]
    assert api_of(make_member(scope, Role.READER), scope).post(f"/memories/bulk/{operation}/undo").status_code == 403
    assert live_in(scope) == 0


def test_a_secret_in_the_reason_is_refused(api, scope):
    ten_in(scope)
    refused = act(api, 10, reason="ghp_" + "a" * 36)
    assert (refused.status_code, live_in(scope)) == (400, 10)


def test_the_list_of_memories_still_answers_beside_the_bulk_call(api, scope):
    memory = make_memory(scope=scope, created_at=timezone.now())
    assert [row["id"] for row in api.get("/memories").json()["memories"]] == [str(memory.pk)]


@pytest.mark.parametrize("count", [True, "10", 10.5])
def test_a_count_of_another_type_is_refused(api, scope, count):
    ten_in(scope)
    answer = act(api, count)
    assert (answer.status_code, answer.json()["field"]) == (400, "expected_count")
    assert live_in(scope) == 10


@pytest.mark.parametrize(
    ("before", "said"),
    [
        ("2025-03-01T00:00:00", "time zone"),
        ("9999-12-31T23:59:59Z", "out of reach"),
        ("0001-01-01T00:00:00Z", "out of reach"),
        ("2025-03-01T00:00:00+20:00", "out of reach"),
    ],
)
def test_a_moment_that_cannot_be_meant_is_told_why(api, scope, before, said):
    answer = dry_run(api, before=before)
    assert (answer.status_code, answer.json()["field"]) == (400, "before")
    assert said in answer.json()["message"]
