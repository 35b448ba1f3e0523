"""When world facts were last looked at, on pages, in REST and in the administration."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memories.looks import budgets, config
from memories.models import ConfigVersion, FreshnessConfig, Memory, Verification
from tests.api.conftest import Api
from tests.factories import make_member, make_memory, make_scope, make_token, make_user

pytestmark = pytest.mark.django_db
TEXT = "The newest release of the tide library is 4.2."
CONFIG = "/admin/memories/freshnessconfig/1/change/"


@pytest.fixture
def core(owner):
    return make_scope(owner, slug="core", name="Core")


@pytest.fixture
def fact(core):
    return make_memory(TEXT, scope=core, age_days=200)


@pytest.fixture
def browser(client_of, owner):
    return client_of(owner)


def shown(client, address, **query):
    return client.get(address, query).content.decode()


def page_of(memory):
    return f"/memories/{memory.pk}/"


def check(memory, days_ago, **given):
    values = {"verdict": "current", "method": "person", "actor": "owner"} | given
    return Verification.objects.create(memory=memory, at=timezone.now() - timedelta(days=days_ago), **values)


# The page of a memory ------------------------------------------------------------------------


def test_a_button_says_that_it_still_holds(browser, owner, fact):
    assert "Verify: still true" in shown(browser, page_of(fact))
    answer = browser.post(f"{page_of(fact)}verify/", {"source": "https://tides.example.org"}, follow=True)
    assert "still holds" in answer.content.decode()
    row = Verification.objects.get()
    assert (row.user, row.method, row.source) == (owner, "person", "https://tides.example.org")


def test_the_page_says_how_long_nobody_looked(browser, fact):
    text = shown(browser, page_of(fact))
    assert "Nobody has looked at it since it was learned." in text
    assert "Not checked for 200 days" in text


def test_the_page_shows_the_whole_ledger_with_who_and_by_what(browser, fact):
    check(fact, 30)
    check(fact, 5, verdict="unverifiable", method="web_search", actor="web check (a:b)", confidence=0.4, model="a:b",
          source="https://tides.example.org/x")  # fmt: skip
    text = shown(browser, page_of(fact))
    for said in ("Last looked at", "web check (a:b), a search of the web, confidence 0.40", "Cannot be told",
                 "Still true", "owner, a person", "To be looked at again in 176 days"):  # fmt: skip
        assert said in text
    assert '<a href="https://tides.example.org/x" rel="noopener nofollow noreferrer">' in text


def test_of_other_memories_nothing_is_due_but_they_can_be_verified(browser, scope):
    memory = make_memory(scope=scope, kind="decision", age_days=900)
    text = shown(browser, page_of(memory))
    assert "Verify: still true" in text
    assert "Not checked for" not in text
    assert "To be looked at again" not in text


def test_a_reader_sees_the_ledger_and_no_button(client_of, core, fact):
    check(fact, 5)
    reader = client_of(make_member(core))
    assert "Verify: still true" not in shown(reader, page_of(fact))
    assert reader.post(f"{page_of(fact)}verify/").status_code == 403


def test_whoever_may_not_read_it_finds_nothing(client_of, fact):
    assert client_of(make_user()).post(f"{page_of(fact)}verify/").status_code == 404
    assert not Verification.objects.exists()


def test_a_secret_typed_beside_a_check_is_refused_in_words(browser, fact):
    answer = browser.post(f"{page_of(fact)}verify/", {"source": "ghp_" + "a1B2" * 9}, follow=True)
    assert "Not noted." in answer.content.decode()
    assert not Verification.objects.exists()


@pytest.mark.parametrize("source", ["javascript:alert(1)", "see https://a.example.org", 'https://a"onx=', "page 3"])
def test_what_is_no_address_is_no_link(browser, fact, source):
    check(fact, 5, source=source)
    assert "noopener nofollow noreferrer" not in shown(browser, page_of(fact))


# Lists ---------------------------------------------------------------------------------------


def test_the_list_marks_what_is_past_its_days_and_filters_by_it(browser, core, fact):
    make_memory("A fresh fact.", scope=core)
    both, due = shown(browser, "/memories/"), shown(browser, "/memories/", stale="1")
    assert "A fresh fact." in both
    assert both.count("not checked for 200 days") == 1
    assert "A fresh fact." not in due
    assert TEXT in due


def test_a_search_marks_it_too(browser, fact):
    text = shown(browser, "/memories/", q="tide library")
    assert "not checked for 200 days" in text
    assert "verify it, supersede it or challenge it" in text


def test_the_filter_counts_what_it_would_show(browser, core, fact):
    make_memory(scope=core, age_days=3)
    groups = {group["name"]: group["options"] for group in browser.get("/memories/").context["filters"]}
    counts = {option["label"]: option["count"] for option in groups["Only"]}
    assert counts["not checked lately"] == 1


def test_the_core_scope_lists_when_each_world_fact_was_last_looked_at_and_by_what(browser, core, fact):
    fresh = make_memory("A reference.", scope=core, kind="reference", age_days=300)
    check(fresh, 10, method="web_search", actor="web check (a:b)")
    make_memory("A decision.", scope=core, kind="decision", age_days=900)
    facts = browser.get(f"/scopes/{core.pk}/").context["world_facts"]
    assert [(row["headline"], row["left"], row["method"]) for row in facts["rows"]] == [
        (TEXT, -19, ""),
        ("A reference.", 81, "a search of the web"),
    ]
    text = shown(browser, f"/scopes/{core.pk}/")
    assert ">due<" in text
    assert "web check (a:b), a search of the web" in text
    assert "A decision." not in text


def test_another_scope_has_no_world_facts(browser, scope):
    make_memory(scope=scope, age_days=900)
    assert "World facts" not in shown(browser, f"/scopes/{scope.pk}/")


def test_of_many_the_table_shows_those_that_are_due_soonest_in_as_many_queries(browser, core):
    def ask():
        with CaptureQueriesContext(connection) as captured:
            found = browser.get(f"/scopes/{core.pk}/").context["world_facts"]
        return found, len(captured)

    make_memory(scope=core, age_days=1)
    _, few = ask()
    for days in range(60):
        make_memory(f"Learned {days} days ago.", scope=core, age_days=days)
    found, many = ask()
    assert (found["total"], len(found["rows"]), few) == (61, 50, many)
    assert found["rows"][0]["headline"] == "Learned 59 days ago."


# REST ----------------------------------------------------------------------------------------


def api_for(user, *scopes, **token):
    return Api(make_token(user, scopes, **token)[1])


def test_an_agent_verifies_over_rest_and_reads_the_ledger(owner, core, fact):
    api = api_for(owner, core, name="crew")
    before = api.get(f"/memories/{fact.pk}").json()
    assert before["verification"] == {"stale_days": 200, "budget_days": 180, "checked_at": None, "checks": []}
    answer = api.post(
        f"/memories/{fact.pk}/verify", {"reason": "Read it.", "evidence": "https://tides.example.org"}
    ).json()
    held = answer["verification"]
    assert (held["stale_days"], len(held["checks"])) == (None, 1)
    (line,) = held["checks"]
    assert (line["verdict"], line["method"], line["by"]) == ("current", "agent", "crew (token of owner)")
    assert (line["note"], line["source"]) == ("Read it.", "https://tides.example.org")
    assert [answer[name] for name in ("version", "updated_at")] == [before[name] for name in ("version", "updated_at")]


def test_recall_over_rest_names_the_days(owner, core, fact):
    api = api_for(owner, core)
    (result,) = api.post("/recall", {"query": "tide library"}).json()["results"]
    assert result["stale_days"] == 200
    assert "verify it, supersede it or challenge it" in result["why"]
    api.post(f"/memories/{fact.pk}/verify")
    (after,) = api.post("/recall", {"query": "tide library"}).json()["results"]
    assert after["stale_days"] is None
    assert after["score"] == pytest.approx(result["score"], abs=1e-6)


@pytest.mark.parametrize(
    ("body", "status"),
    [({"reason": 3}, 400), ({"verdict": "current"}, 400), ({"evidence": "e" * 2001}, 400),
     ({"reason": "ghp_" + "a1B2" * 9}, 400)],
)  # fmt: skip
def test_what_cannot_be_noted_is_refused(owner, core, fact, body, status):
    answer = api_for(owner, core).post(f"/memories/{fact.pk}/verify", body)
    assert (answer.status_code, answer.json()["code"]) == (status, "validation_failed")
    assert not Verification.objects.exists()


def test_who_may_only_read_may_not_verify_and_others_find_nothing(owner, core, fact):
    reader = api_for(owner, core, can_write=False).post(f"/memories/{fact.pk}/verify")
    stranger = api_for(make_user()).post(f"/memories/{fact.pk}/verify")
    assert (reader.status_code, stranger.status_code) == (403, 404)
    assert not Verification.objects.exists()


# Configuration -------------------------------------------------------------------------------


VALUES = {
    "fact_days": "180", "reference_days": "90", "most_memories": "10", "most_searches": "5", "confidence": "0.7",
    "reason": "", "expected_version": "1",
}  # fmt: skip


@pytest.fixture
def staff(client_of):
    FreshnessConfig.objects.get_or_create(id=1)
    return client_of(make_user(username="steward", is_staff=True))


def test_staff_change_a_budget_and_it_counts_at_once(staff, fact):
    assert staff.post(CONFIG, VALUES | {"fact_days": "365", "reason": "Slow field."}).status_code == 302
    assert (budgets().fact, budgets().reference) == (365, 90)
    version = ConfigVersion.objects.get(table="freshness_config")
    assert (version.old["fact_days"], version.new["fact_days"], version.reason) == (180, 365, "Slow field.")
    assert Memory.objects.filter(pk=fact.pk).exists()


@pytest.mark.behaviour("Z76")
@pytest.mark.parametrize(("field", "value"), [("most_memories", "11"), ("most_searches", "6"), ("fact_days", "0")])
def test_the_limits_of_a_run_cannot_be_raised(staff, field, value):
    assert staff.post(CONFIG, VALUES | {field: value}).status_code == 200
    assert getattr(config(), field) == getattr(FreshnessConfig(), field)


def test_a_missing_row_behaves_as_the_defaults():
    FreshnessConfig.objects.all().delete()
    assert (budgets().fact, budgets().reference) == (180, 90)
