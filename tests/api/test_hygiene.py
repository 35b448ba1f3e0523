import pytest

from reflections.hygiene import STEPS, work_on
from reflections.models import Run
from tests.factories import make_member, make_scope, make_user

pytestmark = pytest.mark.django_db


def test_a_cycle_is_started_and_followed_to_its_report(api, scope):
    started = api.post("/hygiene/runs", {"kind": "full"})
    assert started.status_code == 202
    assert (started.json()["state"], started.json()["scopes"]) == ("queued", [scope.slug])
    work_on(started.json()["id"])
    run = api.get(f"/hygiene/runs/{started.json()['id']}").json()
    assert run["state"] == "done"
    assert [step["name"] for step in run["steps"]] == list(STEPS)
    assert {step["state"] for step in run["steps"]} == {"done"}


def test_steps_can_be_named_and_are_done_in_the_order_of_the_cycle(api):
    run = api.post("/hygiene/runs", {"steps": ["reflection", "pair_scan"]}).json()
    assert (run["kind"], [step["name"] for step in run["steps"]]) == ("chosen", ["pair_scan", "reflection"])


@pytest.mark.parametrize(
    ("body", "field", "said"),
    [
        ({"steps": ["polish"]}, "steps", "There is no step 'polish'"),
        ({"steps": []}, "steps", "Name at least one step"),
        ({"kind": "slow"}, "kind", "quick"),
        ({"scopes": ["nowhere"]}, "scope", "no such scope"),
        ({"scopes": []}, "scopes", "Name at least one scope"),
    ],
)
def test_what_is_not_there_is_refused_with_a_sentence(api, body, field, said):
    answer = api.post("/hygiene/runs", body)
    assert answer.status_code in (400, 404)
    assert (answer.json()["field"], said in answer.json()["message"]) == (field, True)
    assert not Run.objects.exists()


def test_a_second_request_is_told_which_run_is_under_way(api):
    first = api.post("/hygiene/runs").json()
    second = api.post("/hygiene/runs", {"steps": ["stale_sweep"]})
    assert (second.status_code, second.json()["run_id"]) == (409, first["id"])
    assert Run.objects.count() == 1


def test_a_run_over_a_scope_that_the_token_does_not_read_is_not_named(api_of, owner, scope):
    both = api_of(owner, scope, make_scope(owner))
    both.post("/hygiene/runs")
    answer = api_of(owner, scope).post("/hygiene/runs")
    assert (answer.status_code, answer.json()["run_id"]) == (409, None)


def test_a_foreign_run_is_not_there_and_cannot_be_stopped(api, api_of):
    stranger = make_user()
    theirs = api_of(stranger, make_scope(stranger)).post("/hygiene/runs").json()["id"]
    assert api.get(f"/hygiene/runs/{theirs}").status_code == 404
    assert api.post(f"/hygiene/runs/{theirs}/cancel").status_code == 404
    assert Run.objects.get().state == "queued"


def test_a_reader_may_follow_a_run_but_neither_start_nor_stop_one(api, api_of, scope):
    reader = api_of(make_member(scope, "reader"), scope)
    run_id = api.post("/hygiene/runs").json()["id"]
    assert reader.get(f"/hygiene/runs/{run_id}").status_code == 200
    assert reader.post(f"/hygiene/runs/{run_id}/cancel").status_code == 403
    assert reader.post("/hygiene/runs", {"scopes": [scope.slug]}).status_code == 403
    assert reader.post("/hygiene/runs").status_code == 403


def test_a_run_that_waits_is_cancelled_at_once_and_makes_room(api):
    run_id = api.post("/hygiene/runs").json()["id"]
    cancelled = api.post(f"/hygiene/runs/{run_id}/cancel").json()
    assert (cancelled["state"], {step["state"] for step in cancelled["steps"]}) == ("cancelled", {"cancelled"})
    assert api.post(f"/hygiene/runs/{run_id}/cancel").status_code == 409
    assert api.post("/hygiene/runs").status_code == 202
