import json
from collections import Counter

import pytest
from django.test import Client
from ninja import Schema

from tests.factories import make_memory

pytestmark = pytest.mark.django_db

CALLS = {
    "/api/v1/export",
    "/api/v1/import",
    "/api/v1/memories",
    "/api/v1/memories/bulk",
    "/api/v1/memories/bulk/{operation}/undo",
    "/api/v1/memories/{memory_id}",
    "/api/v1/memories/{memory_id}/forget",
    "/api/v1/memories/{memory_id}/restore",
    "/api/v1/memories/{memory_id}/close",
    "/api/v1/memories/{memory_id}/pin",
    "/api/v1/memories/{memory_id}/unpin",
    "/api/v1/memories/{memory_id}/reanchor",
    "/api/v1/memories/{memory_id}/used",
    "/api/v1/memories/{memory_id}/challenge",
    "/api/v1/memories/{memory_id}/verify",
    "/api/v1/briefing",
    "/api/v1/disputes",
    "/api/v1/disputes/resolve",
    "/api/v1/disputes/{dispute_id}",
    "/api/v1/disputes/{dispute_id}/resolve",
    "/api/v1/hygiene/runs",
    "/api/v1/hygiene/runs/{run_id}",
    "/api/v1/hygiene/runs/{run_id}/cancel",
    "/api/v1/usefulness/transcripts",
    "/api/v1/usefulness/transcripts/{transcript_id}",
    "/api/v1/recall",
    "/api/v1/activity",
    "/api/v1/insights/ageing",
    "/api/v1/insights/recall",
    "/api/v1/reflections",
    "/api/v1/rules",
    "/api/v1/scopes/{scope}/consolidate",
    "/api/v1/scopes/{scope}/retention",
    "/api/v1/config",
    "/api/v1/scopes/{scope}/aliases",
    "/api/v1/scopes/{scope}/aliases/{alias_id}/retire",
}


def test_the_schema_lists_every_call_and_is_readable_without_a_token():
    answer = Client().get("/api/v1/openapi.json")
    assert answer.status_code == 200
    assert set(json.loads(answer.content)["paths"]) == CALLS


def test_every_shape_has_a_name_of_its_own_or_one_call_would_be_described_as_another():
    ours = {
        shape for shape in _shapes(Schema) if shape.__module__.split(".")[0] in ("memories", "reflections", "insights")
    }
    assert [name for name, times in Counter(shape.__name__ for shape in ours).items() if times > 1] == []


def _shapes(shape):
    for below in shape.__subclasses__():
        yield below
        yield from _shapes(below)


def test_forgetting_many_is_described_by_what_it_takes():
    schema = json.loads(Client().get("/api/v1/openapi.json").content)
    body = schema["paths"]["/api/v1/memories/bulk"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    fields = schema["components"]["schemas"][body["$ref"].rpartition("/")[2]]["properties"]
    assert {"scope", "before", "expected_count"} <= fields.keys()


def test_the_human_documentation_is_private_and_served_from_here(client_of, owner):
    assert Client().get("/api/v1/docs").status_code == 302
    page = client_of(owner).get("/api/v1/docs")
    assert page.status_code == 200
    assert b"cdn" not in page.content


@pytest.mark.parametrize("path", ["/nothing", "/memories/x/y/z", "/memoriesx"])
def test_an_unknown_call_is_a_404_in_json(api, path):
    assert api.get(path).json()["code"] == "not_found"


def test_a_wrong_method_is_refused_in_json_and_names_the_right_ones(api):
    answer = api.call("delete", "/memories")
    assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")
    assert {"GET", "POST"} <= set(answer.headers["Allow"].replace(" ", "").split(","))


@pytest.mark.parametrize("path", ["/memories", "/config", "/disputes", "/insights/ageing", "/openapi.json", "/no"])
def test_head_answers_like_get_without_the_body(api, path):
    got, asked = api.get(path), api.call("head", path)
    assert (asked.status_code, asked.content) == (got.status_code, b"")
    assert asked.headers["Content-Type"] == got.headers["Content-Type"]


def test_head_needs_a_token_and_a_call_that_reads(api, nobody):
    assert nobody.call("head", "/memories").status_code == 401
    assert api.call("head", "/recall").status_code == 405


@pytest.mark.parametrize("path", ["/memories", "/reflections", "/disputes"])
def test_an_empty_scope_never_means_all(api, path):
    assert api.get(path, scope="").status_code == 400


def test_config_shows_rows_with_versions(api):
    config = api.get("/config").json()
    assert {row["kind"] for row in config["ranking"]} >= {"fact", "episode", "open-question"}
    assert all(row["version"] == 1 for row in config["ranking"])
    assert config["fusion"]["rrf_k"] == 60


def test_ageing_in_the_api_equals_the_corpus(api, scope):
    make_memory(scope=scope, kind="episode", age_days=1)
    make_memory(scope=scope, kind="episode", age_days=31)
    make_memory(kind="episode", age_days=31)
    ageing = api.get("/insights/ageing").json()
    assert (ageing["live"], ageing["faded"], ageing["faded_share"]) == (2, 1, 0.5)
    assert ageing["buckets"] == {"le_7d": 1, "d8_30": 0, "d31_90": 1, "d91_365": 0, "gt_1y": 0}
    assert ageing["median_age_days"] == pytest.approx(16, abs=0.01)


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("/reflections", {"state": "waiting"}),
        ("/disputes", {"status": "waiting"}),
        ("/disputes", {"type": "waiting"}),
        ("/memories", {"state": "waiting"}),
        ("/rules", {"format": "pdf"}),
        ("/insights/recall", {"days": 0}),
        ("/insights/recall", {"days": 100_000}),
        ("/insights/recall", {"days": "true"}),
    ],
)
def test_a_query_outside_what_the_description_allows_is_refused(api, path, query):
    answer = api.get(path, **query)
    assert (answer.status_code, answer.json()["field"]) == (400, next(iter(query)))
