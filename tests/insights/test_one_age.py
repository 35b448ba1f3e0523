"""One function computes an age: the database, Python, the chart, the API and the page show its number."""

import random

import pytest
import time_machine
from django.test import Client

from insights.charts import half_lives
from insights.queries import ageing
from memories import ageing as in_sql
from memories.access import actor_for_user
from memories.configuration import ranking_rules
from memories.models import Memory, RankingConfig, Window
from memories.ranking import age_factor, age_in_days
from tests.factories import make_scope, make_token
from tests.insights.corpus import NOW, make_aged

SCOPES, EACH = 20, 50  # recall answers with 50 at most


@pytest.fixture
def rows(owner):
    """A thousand memories of every kind and age, two of the kinds with a changed rule."""
    chance = random.Random(1)
    RankingConfig.objects.filter(kind="gotcha").update(curve="linear", half_life_days=200.5)
    RankingConfig.objects.filter(kind="task").delete()
    made = []
    for _ in range(SCOPES):
        made += make_aged(make_scope(owner), [chance.uniform(-20, 3000) for _ in range(EACH)])
    Window.objects.bulk_create(Window(memory=row, position=0, start=0, stop=4, text=row.content) for row in made)
    return made


def in_python(rows):
    rules = ranking_rules()
    return {
        str(row.pk): age_factor(age_in_days(row.created_at, NOW), rules[row.kind].half_life_days, rules[row.kind].curve)
        for row in rows
    }


def recalled(scope, secret):
    answer = Client().post(
        "/api/v1/recall",
        {"query": "aged", "scopes": [scope.slug], "k": EACH},
        content_type="application/json",
        headers={"Authorization": f"Bearer {secret}"},
    )
    return {result["id"]: result["factors"]["age"] for result in answer.json()["results"]}


def listed(person):
    address, factors = "/memories/?state=all", {}
    while address:
        context = person.get(address).context
        factors |= {str(row["id"]): row["age_factor"] for row in context["rows"]}
        address = context["next_url"]
    return factors


@pytest.mark.behaviour("F21")
def test_a_thousand_rows_have_one_age_factor_in_sql_api_page_and_python(owner, rows, client_of):
    expected = in_python(rows)
    scopes = {row.scope for row in rows}
    with time_machine.travel(NOW, tick=False):
        stored = Memory.objects.annotate(factor=in_sql.age_factor(ranking_rules(), NOW)).values_list("pk", "factor")
        _, secret = make_token(owner, scopes)
        answered = {key: factor for scope in scopes for key, factor in recalled(scope, secret).items()}
        shown = listed(client_of(owner))
    assert len(expected) == SCOPES * EACH
    for factors in ({str(key): factor for key, factor in stored}, answered, shown):
        assert factors.keys() == expected.keys()
        assert factors == pytest.approx(expected, abs=1e-9)


@pytest.mark.behaviour("F21")
def test_a_thousand_rows_have_the_same_medians_and_shares_in_the_api_and_on_the_page(owner, rows, client_of):
    _, secret = make_token(owner, {row.scope for row in rows})
    with time_machine.travel(NOW, tick=False):
        counted = ageing(actor=actor_for_user(owner), now=NOW)
        answer = Client().get("/api/v1/insights/ageing", headers={"Authorization": f"Bearer {secret}"}).json()
        shown = client_of(owner).get("/insights/").context["ageing"]
    assert shown == counted
    assert answer["median_age_days"] == pytest.approx(counted.median_age_days, abs=1e-9)
    assert answer["faded_share"] == pytest.approx(counted.faded_share, abs=1e-9)
    assert answer["buckets"] == dict(counted.buckets)
    for said, row in zip(answer["by_kind"], counted.by_kind, strict=True):
        assert (said["kind"], said["live"], said["faded"]) == (row.kind, row.live, row.faded)
        assert said["median_age_days"] == pytest.approx(row.median_age_days, abs=1e-9)


@pytest.mark.behaviour("F21")
def test_the_chart_marks_each_median_at_the_age_factor_of_that_age(owner, rows):
    counted = ageing(actor=actor_for_user(owner), now=NOW)
    medians = next(trace for trace in half_lives(counted, lambda **_: "").figure["data"] if trace["mode"] == "markers")
    rules = ranking_rules()
    expected = [
        age_factor(row.median_age_days, rules[row.kind].half_life_days, rules[row.kind].curve)
        for row in counted.by_kind
    ]
    assert medians["x"] == pytest.approx([row.median_age_days for row in counted.by_kind], abs=1e-9)
    assert medians["y"] == pytest.approx(expected, abs=1e-9)
