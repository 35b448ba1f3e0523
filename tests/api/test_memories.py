import json
import uuid
from datetime import timedelta

import pytest
from django.utils import timezone

from memories.access import actor_for_user
from memories.models import AuditEntry, Memory
from memories.services import supersede
from tests.factories import make_member, make_memory, make_scope, make_user

pytestmark = pytest.mark.django_db


def remember(api, content="The harbour light is green.", **fields):
    return api.post("/memories", {"content": content, **fields})


def test_a_memory_is_written_and_read_back_whole(api, scope):
    created = remember(api, kind="gotcha", entities=[{"name": "Light", "type": "thing"}], source="notes.md")
    assert created.status_code == 201
    assert created.json()["scope"] == "home"
    assert created.json()["deduplicated"] is False
    whole = api.get(f"/memories/{created.json()['id']}").json()
    assert whole["content"] == "The harbour light is green."
    assert (whole["kind"], whole["state"], whole["version"], whole["provenance"]) == ("gotcha", "live", 1, 1)
    assert whole["entities"] == [{"name": "Light", "type": "thing"}]
    assert [version["id"] for version in whole["versions"]] == [whole["id"]]


def test_a_memory_is_found_by_words_at_once(api):
    memory_id = remember(api).json()["id"]
    results = api.post("/recall", {"query": "what colour is the harbour light"}).json()["results"]
    assert results[0]["id"] == memory_id


@pytest.mark.behaviour("X1")
def test_the_factors_of_a_result_multiply_to_its_score(api, scope):
    make_memory("The harbour light is green.", scope=scope, kind="decision", age_days=400, provenance=0)
    make_memory("The harbour is deep.", scope=scope, kind="episode", age_days=45)
    answer = api.post("/recall", {"query": "harbour light"}).json()
    assert answer["policy"] == "ageing"
    assert len(answer["results"]) == 2
    for result in answer["results"]:
        product = 1.0
        for factor in ("relevance", "kind", "age", "provenance", "reinforcement", "structural", "confidence"):
            product *= result["factors"][factor]
        assert product == pytest.approx(result["score"], abs=1e-9)
        assert result["policy"] == "ageing"
        assert result["why"].endswith(".")


def test_a_change_of_content_is_a_new_version(api):
    first = remember(api).json()["id"]
    changed = api.patch(f"/memories/{first}", {"content": "The harbour light is red."}, version=1)
    assert changed.status_code == 200
    body = changed.json()
    assert body["id"] != first
    assert (body["version"], body["state"]) == (2, "live")
    old = api.get(f"/memories/{first}").json()
    assert (old["state"], old["superseded_by"]) == ("superseded", body["id"])
    assert [version["id"] for version in old["versions"]] == [body["id"], first]


def test_a_stale_change_is_a_conflict_and_touches_nothing(api):
    first = remember(api).json()["id"]
    assert api.patch(f"/memories/{first}", {"source": "a"}, version=1).status_code == 200
    stale = api.patch(f"/memories/{first}", {"source": "b"}, version=1)
    assert stale.status_code == 409
    assert stale.json()["code"] == "conflict"
    assert api.get(f"/memories/{first}").json()["source"] == "a"


def test_a_change_without_a_version_applies_to_what_stands_now(api):
    first = remember(api).json()["id"]
    assert api.patch(f"/memories/{first}", {"source": "a"}).json()["version"] == 2
    assert api.patch(f"/memories/{first}", {"source": "b"}).json()["version"] == 3


def test_forget_and_restore_are_attributed(api):
    memory_id = remember(api).json()["id"]
    forgotten = api.post(f"/memories/{memory_id}/forget", {"reason": "no longer so"}).json()
    assert forgotten["state"] == "invalidated"
    assert forgotten["invalidation_reason"] == "no longer so"
    assert "owner" in forgotten["invalidated_by"]
    assert api.post("/recall", {"query": "harbour light"}).json()["results"] == []
    assert api.post(f"/memories/{memory_id}/restore").json()["state"] == "live"
    assert len(api.post("/recall", {"query": "harbour light"}).json()["results"]) == 1


@pytest.mark.behaviour("Z39")
@pytest.mark.parametrize(
    ("call", "field"), [("close", "reason"), ("close", "evidence"), ("forget", "reason"), ("restore", "reason")]
)
def test_a_secret_beside_a_memory_is_refused_and_not_repeated(api, call, field):
    secret = "ghp_" + "Zq8" * 13
    task = remember(api, kind="task").json()["id"]
    answer = api.post(f"/memories/{task}/{call}", {field: f"See {secret}."})
    assert answer.status_code == 400
    assert answer.json()["message"].startswith(f"secret_content_rejected: {field} github_token ghp_…")
    assert secret not in answer.content.decode() + str(list(AuditEntry.objects.values()))
    assert api.get(f"/memories/{task}").json()["state"] == "live"


@pytest.mark.behaviour("Z68")
def test_an_open_loop_is_closed_once_and_a_gotcha_never(api):
    task, gotcha = (remember(api, kind=kind).json()["id"] for kind in ("task", "gotcha"))
    closed = api.post(f"/memories/{task}/close", {"reason": "done", "evidence": "the log says so"}).json()
    assert (closed["state"], closed["invalidation_reason"]) == ("invalidated", "done (shown by: the log says so)")
    assert api.post(f"/memories/{task}/close").status_code == 409
    refused = api.post(f"/memories/{gotcha}/close")
    assert refused.status_code == 400
    assert "not an open loop" in refused.json()["message"]
    assert api.post(f"/memories/{task}/restore").json()["state"] == "live"


def test_pin_and_unpin(api):
    memory_id = remember(api).json()["id"]
    assert api.post(f"/memories/{memory_id}/pin").json()["pinned"] is True
    assert api.post(f"/memories/{memory_id}/unpin").json()["pinned"] is False


def test_a_retry_with_the_same_key_gives_the_same_memory(api):
    first = remember(api, idempotency_key="once").json()
    second = remember(api, idempotency_key="once").json()
    assert second["id"] == first["id"]
    assert second["deduplicated"] is True
    assert Memory.objects.count() == 1


def test_the_list_pages_through_everything_once(api, scope):
    made = {str(make_memory(scope=scope, age_days=number / 10).pk) for number in range(120)}
    seen, cursor = [], None
    while True:
        page = api.get("/memories", **({"cursor": cursor} if cursor else {})).json()
        seen += [memory["id"] for memory in page["memories"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert len(seen) == 120
    assert set(seen) == made


def test_the_list_filters_by_kind_state_and_words(api, scope):
    make_memory("A red buoy.", scope=scope, kind="fact")
    make_memory("A green buoy.", scope=scope, kind="decision")
    gone = make_memory("A lost buoy.", scope=scope, invalidated_at=timezone.now(), invalidated_actor="somebody")
    assert len(api.get("/memories").json()["memories"]) == 2
    assert [m["kind"] for m in api.get("/memories", kind="decision").json()["memories"]] == ["decision"]
    assert [m["id"] for m in api.get("/memories", state="invalidated").json()["memories"]] == [str(gone.pk)]
    assert len(api.get("/memories", state="all").json()["memories"]) == 3
    assert [m["content"] for m in api.get("/memories", q="red").json()["memories"]] == ["A red buoy."]


def test_the_list_shows_what_is_archived_and_nothing_else_that_is_retired(api, scope):
    now = timezone.now()
    make_memory("A lost buoy.", scope=scope, invalidated_at=now, invalidated_actor="somebody")
    unused = make_memory(
        "An unused buoy.", scope=scope, invalidated_at=now, archived_at=now, invalidated_actor="consolidation"
    )
    (listed,) = api.get("/memories", state="archived").json()["memories"]
    assert (listed["id"], listed["state"]) == (str(unused.pk), "archived")


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"kind": "rumour"}, "kind"),
        ({"content": ""}, "content"),
        ({"content": "   \n\t "}, "content"),
        ({"content": "\u200b\u200d\ufeff\u2060\u00ad"}, "content"),
        ({"content": " \u3164\u2800\ufe0f\U000e0020"}, "content"),
        ({"content": "\x00\x1b"}, "content"),
        ({"content": "x", "session": "a\x00b"}, "session"),
        ({"content": None}, "content"),
        ({"content": 7}, "content"),
        ({"content": "x", "colour": "red"}, "colour"),
        ({"content": "x", "created_at": (timezone.now() + timedelta(days=2)).isoformat()}, "created_at"),
        ({"content": "x", "created_at": "yesterday"}, "created_at"),
        ({"content": "x", "created_at": "2020-01-01T00:00:00"}, "created_at"),
        ({"content": "x", "valid_from": "2021-01-01T00:00:00Z", "valid_until": "2020-01-01T00:00:00Z"}, "valid_until"),
        ({"content": "x", "created_at": "0001-01-01T00:00:00+14:00"}, "created_at"),
        ({"content": "x", "valid_until": "9999-12-31T23:59:59-12:00"}, "valid_until"),
        ({"content": "x", "created_at": "2020-01-01T00:00:00+23:59"}, "created_at"),
        ({"content": "x", "created_at": "2020-01-01T00:00:00-23:59"}, "created_at"),
        ({"content": "x", "pinned": "perhaps"}, "pinned"),
        ({"content": "x", "entities": [{"name": ""}]}, "entities"),
        ({"content": "x", "entities": [{"name": "\u200b"}]}, "entities"),
        ({"content": "x", "entities": [{"name": "x", "type": "\u200b"}]}, "entities"),
        ({"content": "x", "entities": [{"name": f"e{number}"} for number in range(101)]}, "entities"),
        ({"content": "x", "links": [{"type": "knows", "target": "0190d0e4-0000-7000-8000-000000000000"}]}, "links"),
        ({"content": "x", "source": "s" * 2001}, "source"),
    ],
)
def test_bad_input_names_the_field_and_writes_nothing(api, fields, field):
    answer = remember(api, **fields)
    assert answer.status_code == 400, answer.content
    body = answer.json()
    assert body["code"] == "validation_failed"
    assert body["field"].split(".")[0] == field
    assert body["message"]
    assert not Memory.objects.exists()


def test_a_lone_surrogate_is_refused(api):
    answer = api.client.post(
        "/api/v1/memories", '{"content": "bad \\ud800 text"}', content_type="application/json", headers=api.headers
    )
    assert answer.status_code == 400
    assert not Memory.objects.exists()


@pytest.mark.parametrize("body", ["", "{", "[]", "null", '"text"', "\xff\xfe", "{'content': 1}", "[" * 100_000])
def test_bad_json_is_a_clear_400(api, body):
    answer = api.client.post("/api/v1/memories", body, content_type="application/json", headers=api.headers)
    assert answer.status_code == 400
    assert answer.json()["code"] == "validation_failed"


def test_a_memory_that_is_written_again_gathers_entities_up_to_the_same_limit(api):
    remember(api, entities=[{"name": f"a{number}"} for number in range(60)])
    refused = remember(api, entities=[{"name": f"b{number}"} for number in range(60)])
    assert (refused.status_code, refused.json()["field"]) == (400, "entities")
    assert Memory.objects.get().entities.count() == 60


def test_text_with_something_to_see_among_zero_width_characters_is_kept_as_it_is(api):
    memory_id = remember(api, content="\u200b👩\u200d👩\u200b").json()["id"]
    assert api.get(f"/memories/{memory_id}").json()["content"] == "\u200b👩\u200d👩\u200b"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('{"content": "one", "content": "two"}', "'content' is there twice"),
        ('{"content": "x", "entities": [{"name": "a", "name": "b"}]}', "'name' is there twice"),
        ('{"content": "x", "pinned": NaN}', "NaN is not a number"),
    ],
)
def test_a_body_that_two_programs_would_read_differently_is_refused(api, body, said):
    answer = api.client.post("/api/v1/memories", body, content_type="application/json", headers=api.headers)
    assert (answer.status_code, answer.json()["code"]) == (400, "validation_failed")
    assert said in answer.json()["message"]
    assert not Memory.objects.exists()


@pytest.mark.parametrize(
    "kind",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/xml", ""],
)
def test_a_body_of_another_content_type_is_refused_with_the_right_one(api, kind):
    answer = api.client.post("/api/v1/memories", b'{"content": "x"}', content_type=kind, headers=api.headers)
    assert (answer.status_code, answer.json()["code"]) == (400, "validation_failed")
    assert "application/json" in answer.json()["message"]
    assert not Memory.objects.exists()


def test_json_with_a_character_set_in_its_content_type_is_taken(api):
    kind = "application/json; charset=utf-8"
    answer = api.client.post("/api/v1/memories", b'{"content": "x"}', content_type=kind, headers=api.headers)
    assert answer.status_code == 201


def test_five_megabytes_of_content_are_too_large(api):
    answer = remember(api, content="a" * 5_000_000)
    assert answer.status_code == 413
    assert answer.json()["code"] == "payload_too_large"


def test_a_body_beyond_the_limit_is_too_large(api):
    answer = remember(api, content="a" * 9_000_000)
    assert answer.status_code == 413
    assert answer.json()["code"] == "payload_too_large"


def test_a_link_to_nothing_fails_the_whole_write(api):
    answer = remember(api, links=[{"type": "relates_to", "target": str(uuid.uuid4())}])
    assert answer.status_code == 404
    assert not Memory.objects.exists()


@pytest.mark.parametrize("header", ["three", '"x"', "-1", "1.5", "9" * 30])
def test_an_unreadable_version_is_refused(api, header):
    memory_id = remember(api).json()["id"]
    answer = api.call("patch", f"/memories/{memory_id}", {"source": "x"}, **{"If-Match": header})
    assert answer.status_code == 400


@pytest.mark.parametrize("k", [0, -1, 51, 10**9])
def test_k_outside_its_range_is_refused(api, k):
    assert api.post("/recall", {"query": "x", "k": k}).status_code == 400


@pytest.mark.parametrize(
    "fields", [{"scopes": ["home"] * 101}, {"kinds": ["fact"] * 101}, {"as_of": "2020-01-01T00:00:00+23:59"}]
)
def test_recall_bounds_what_it_is_asked(api, fields):
    assert api.post("/recall", {"query": "x", **fields}).status_code == 400


@pytest.mark.parametrize("query", ["", "   ", "a\x00b"])
def test_an_empty_or_unstorable_query_is_refused(api, query):
    assert api.post("/recall", {"query": query}).status_code == 400


@pytest.mark.parametrize("cursor", ["x", "!!!", "W10", "bnVsbA", "e30", "A" * 5000])
def test_a_forged_cursor_is_refused(api, cursor):
    assert api.get("/memories", cursor=cursor).status_code == 400


@pytest.mark.parametrize("memory_id", ["1", "null", "%00", "../config", "0190d0e4-0000-7000-8000-000000000000"])
def test_an_unknown_id_is_a_404_in_json(api, memory_id):
    answer = api.get(f"/memories/{memory_id}")
    assert answer.status_code == 404
    assert answer.json()["code"] == "not_found"


def test_a_foreign_memory_does_not_exist(api, api_of):
    theirs = make_memory("secret harbour")
    for path in ("", "/forget", "/restore", "/close", "/pin", "/unpin"):
        answer = api.get(f"/memories/{theirs.pk}") if not path else api.post(f"/memories/{theirs.pk}{path}")
        assert answer.status_code == 404
        assert answer.json() == api.get(f"/memories/{uuid.uuid4()}").json()
    assert api.patch(f"/memories/{theirs.pk}", {"content": "mine"}).status_code == 404
    theirs.refresh_from_db()
    assert theirs.state == "live"
    assert api.get("/memories", state="all").json()["memories"] == []
    assert api.post("/recall", {"query": "secret harbour"}).json()["results"] == []


def test_a_successor_in_a_scope_that_cannot_be_read_is_not_named(api_of, owner, scope):
    hidden = make_memory("The harbour light is red.", scope=make_scope(owner, slug="hidden"))
    was = timezone.now() - timedelta(days=1)
    old = make_memory("The harbour light is green.", scope=scope, age_days=2)
    supersede(actor=actor_for_user(owner), memory=old, replacement=hidden)
    for api, shown in ((api_of(owner, scope), None), (api_of(owner, scope, hidden.scope), str(hidden.pk))):
        asked = {"query": "harbour light", "scopes": ["home"], "as_of": was.isoformat()}
        (recalled,) = api.post("/recall", asked).json()["results"]
        (listed,) = api.get("/memories", scope="home", state="superseded").json()["memories"]
        whole = api.get(f"/memories/{old.pk}").json()
        assert (whole["state"], listed["state"]) == ("superseded", "superseded")
        assert [found["superseded_by"] for found in (recalled, listed, whole)] == [shown] * 3


def test_a_foreign_scope_does_not_exist(api):
    make_scope(make_user(), slug="theirs")
    assert remember(api, scope="theirs").status_code == 404
    assert api.post("/recall", {"query": "x", "scopes": ["theirs"]}).status_code == 404
    assert api.get("/memories", scope="theirs").status_code == 404


@pytest.mark.parametrize("scopes", [[], [""], ["*"]])
def test_an_empty_list_of_scopes_never_means_all(api, scope, scopes):
    make_memory("harbour", scope=scope)
    assert api.post("/recall", {"query": "harbour", "scopes": scopes}).status_code in (400, 404)


def test_a_token_for_several_scopes_must_name_one(owner, scope, api_of):
    api = api_of(owner, scope, make_scope(owner, slug="second"))
    refused = remember(api)
    assert (refused.status_code, refused.json()["field"]) == (400, "scope")
    assert remember(api, scope="second").json()["scope"] == "second"


def test_a_token_reaches_only_its_own_scopes(owner, scope, api_of):
    other = make_scope(owner, slug="other")
    make_memory("harbour", scope=other)
    api = api_of(owner, scope)
    assert api.post("/recall", {"query": "harbour"}).json()["results"] == []
    assert remember(api, scope="other").status_code == 404


def test_a_reader_reads_and_does_not_write(scope, api_of):
    memory = make_memory("harbour", scope=scope)
    api = api_of(make_member(scope, "reader"), scope)
    assert api.get(f"/memories/{memory.pk}").status_code == 200
    assert remember(api, scope="home").status_code == 403
    assert api.post(f"/memories/{memory.pk}/forget").status_code == 403


def test_a_read_only_token_does_not_write(owner, scope, api_of):
    api = api_of(owner, scope, can_write=False)
    assert remember(api).status_code == 403
    assert api.post("/recall", {"query": "x"}).status_code == 200


def test_losing_membership_ends_a_tokens_reach(scope, api_of):
    member = make_member(scope, "writer")
    api = api_of(member, scope)
    assert remember(api).status_code == 201
    scope.memberships.filter(user=member).delete()
    assert remember(api).status_code == 403
    assert api.get("/memories").json()["memories"] == []


def test_stored_markup_comes_back_as_data(api):
    text = '<script>alert(1)</script> \u202e "quotes" \\ {"json": true}'
    memory_id = remember(api, content=text).json()["id"]
    answer = api.get(f"/memories/{memory_id}")
    assert json.loads(answer.content)["content"] == text
    assert answer.headers["Content-Type"].startswith("application/json")
