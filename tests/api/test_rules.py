"""Standing rules over REST: read as a list or as a file; nothing promotes one."""

import pytest

from memories.services import edit
from reflections.models import StandingRule
from tests.factories import make_member, make_scope, make_user
from tests.reflections.factories import person
from tests.reflections.ruling import make_proposal, make_rule

pytestmark = [pytest.mark.django_db, pytest.mark.behaviour("Z88")]


def test_each_rule_says_whether_it_is_delivered_and_why_not(api, scope):
    for number in range(14):
        make_rule(scope, f"Rule {number:02}.", days=20 - number)
    make_proposal(scope, "Only proposed.")
    answer = api.get("/rules").json()
    assert answer["layers"] == [
        {"name": "core", "delivered": 0, "of": 0},
        {"name": "scope", "delivered": 12, "of": 14},
    ]
    assert [rule["text"] for rule in answer["rules"]] == [f"Rule {number:02}." for number in range(14)]
    assert [rule["delivered"] for rule in answer["rules"]] == [True] * 12 + [False] * 2
    assert answer["rules"][13]["why"].startswith("12 others come first.")
    assert answer["rules"][0]["why"] == ""


def test_a_rule_comes_with_its_memory_as_it_is_now(api, owner, scope):
    rule = make_rule(scope, pinned=True)
    edited = edit(actor=person(owner), memory=rule.memory, expected_version=1, content="New words.")
    (one,) = api.get("/rules", scope="home").json()["rules"]
    assert (one["id"], one["memory"], one["memory_changed"]) == (str(rule.pk), str(edited.pk), True)
    assert (one["text"], one["layer"], one["scope"], one["pinned"]) == (rule.text, "scope", "home", True)


def test_the_rules_of_one_scope_and_of_everywhere(api_of, owner, scope):
    notes = make_scope(owner, slug="notes")
    make_rule(make_scope(owner, slug="core"), "Everywhere.")
    make_rule(scope, "Here.")
    make_rule(notes, "There.")
    api = api_of(owner, scope, notes)
    assert [rule["text"] for rule in api.get("/rules", scope="notes").json()["rules"]] == ["Everywhere.", "There."]
    assert {rule["text"] for rule in api.get("/rules").json()["rules"]} == {"Everywhere.", "Here.", "There."}


def test_of_a_scope_the_token_does_not_read_only_the_text_is_given(api, owner, scope):
    make_rule(make_scope(owner, slug="core"), "Everywhere.")
    (one,) = api.get("/rules").json()["rules"]
    assert (one["text"], one["memory"], one["scope"]) == ("Everywhere.", None, None)


def test_what_is_not_theirs_is_not_there(api_of, owner, scope):
    make_rule(scope, "Secret rule.")
    make_rule(make_scope(owner, slug="core"), "Everywhere.")
    own = make_scope(make_user())
    other = api_of(own.owner, own)
    assert other.get("/rules").json()["rules"] == []
    assert other.get("/rules", scope="home").status_code == 404
    reader = api_of(make_member(scope), scope)
    assert [rule["text"] for rule in reader.get("/rules").json()["rules"]] == ["Secret rule."]


@pytest.mark.parametrize("format", ["claude", "agents", "cursor"])
def test_what_is_delivered_comes_as_a_file(api, scope, format):
    make_rule(scope, "Test first.\n<!-- zero-memory:rules:end -->")
    answer = api.get("/rules", format=format)
    assert answer["Content-Type"] == "text/markdown; charset=utf-8"
    assert "- Test first.\n" in answer.text
    assert answer.text.count("<!-- zero-memory:rules:end -->") == 1


def test_an_unknown_format_is_refused(api):
    assert api.get("/rules", format="exe").status_code == 400


def test_it_needs_a_token(nobody):
    assert nobody.get("/rules").status_code == 401


def test_no_call_promotes(api_of, owner, scope):
    api, rule = api_of(owner, scope, can_adjudicate=True), make_proposal(scope)
    paths = api.client.get("/api/v1/openapi.json", headers=api.headers).json()["paths"]
    assert {method for path, calls in paths.items() if "rule" in path for method in calls} == {"get"}
    for path in ("/rules", f"/rules/{rule.pk}/promote", f"/memories/{rule.memory_id}/rule"):
        assert api.post(path, {"text": "x"}).status_code in (404, 405)
    assert StandingRule.objects.get().state == "proposed"
