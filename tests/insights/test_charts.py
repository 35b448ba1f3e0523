"""Every chart says what was counted, in every size of corpus, and names its colours and links."""

import json
from datetime import timedelta
from itertools import pairwise

import pytest

from insights import charts
from insights.charts import CHARTS, LABEL_GAP, scope_table
from insights.queries import ageing
from memories import ageing as sql_ageing
from memories.access import actor_for_user
from memories.configuration import ranking_rules
from memories.models import Memory, RankingConfig
from memories.ranking import KINDS
from memories.services.config import change_ranking
from tests.factories import make_memory, make_scope
from tests.insights.corpus import BUCKETS, FADED, NOW, counted, make_aged, make_corpus


def link(**filters):
    return "/list?" + "&".join(f"{name}={value}" for name, value in sorted(filters.items()))


def drawn(name, user, scope=None):
    return CHARTS[name](ageing(actor=actor_for_user(user), scope=scope, now=NOW), link)


def column(chart, title):
    place = chart.table.columns.index(title)
    return [row[place].value for row in chart.table.rows]


@pytest.fixture(params=[0, 1, 700], ids=["empty", "one row", "huge"])
def corpus(request, owner, scope):
    other = make_scope(owner)
    make_corpus(scope, request.param)
    make_corpus(other, request.param // 3)
    return scope, other


@pytest.mark.behaviour("F45", "Z85")
@pytest.mark.parametrize("chosen", ["all", "one"])
def test_the_bars_of_age_are_the_counted_rows(owner, corpus, chosen):
    scope = corpus[0] if chosen == "one" else None
    expected = [counted("count(*)", condition, scopes=[scope] if scope else corpus) for condition in BUCKETS.values()]
    chart = drawn("age", owner, scope)
    assert chart.figure["data"][0]["y"] == expected == column(chart, "Memories")


@pytest.mark.behaviour("F45", "Z85")
@pytest.mark.parametrize("chosen", ["all", "one"])
def test_the_bars_of_kinds_are_the_counted_shares(owner, corpus, chosen):
    scope = corpus[0] if chosen == "one" else None
    scopes = [scope] if scope else corpus
    chart = drawn("faded", owner, scope)
    for place, kind in enumerate(KINDS):
        live = counted("count(*)", "kind = %(kind)s", scopes=scopes, kind=kind)
        faded = counted("count(*)", f"kind = %(kind)s AND {FADED}", scopes=scopes, kind=kind)
        assert column(chart, "Memories")[place] == live
        assert column(chart, "Share faded")[place] == (faded / live if live else None)
        assert chart.figure["data"][0]["x"][place] == (faded / live if live else 0)


@pytest.mark.behaviour("F21")
def test_the_curves_are_the_age_factors_that_the_database_computes(owner, scope):
    RankingConfig.objects.filter(kind="gotcha").update(curve="linear")
    curves = {trace["name"]: trace for trace in drawn("half-lives", owner).figure["data"] if trace.get("name")}
    ages = curves["fact"]["x"]
    for kind in KINDS:
        make_aged(scope, ages, kinds=[kind])
    rows = Memory.objects.annotate(
        days=sql_ageing.age_days(NOW), factor=sql_ageing.age_factor(ranking_rules(), NOW)
    ).order_by("-created_at")
    for kind in KINDS:
        stored = list(rows.filter(kind=kind).values_list("days", "factor"))
        assert [days for days, _ in stored] == pytest.approx(ages, abs=1e-9)
        assert [factor for _, factor in stored] == pytest.approx(curves[kind]["y"], abs=1e-9)


@pytest.mark.behaviour("F45")
@pytest.mark.parametrize("name", CHARTS)
def test_a_figure_is_plain_finite_json_without_colours_of_its_own(owner, corpus, name):
    figure = drawn(name, owner).figure
    text = json.dumps(figure, allow_nan=False)
    assert "undefined" not in text
    assert "None" not in text
    assert "#" not in text
    assert not figure["layout"].get("template")


@pytest.mark.behaviour("F45")
@pytest.mark.parametrize("name", CHARTS)
def test_every_chart_has_a_question_an_answer_and_a_table(owner, corpus, name):
    chart = drawn(name, owner)
    assert chart.title.endswith("?")
    assert chart.summary.endswith(".")
    assert all(len(row) == len(chart.table.columns) for row in chart.table.rows)
    assert len(chart.table.rows) == (5 if name == "age" else 9)


@pytest.mark.behaviour("Z84")
def test_a_kind_without_memories_shows_a_dash_and_no_share(owner, scope):
    make_aged(scope, [1], kinds=["fact"])
    bars = drawn("faded", owner).figure["data"][0]
    shown = dict(zip(bars["y"], bars["text"], strict=True))
    assert shown["fact"] == "0 % of 1"
    assert shown["task"] == "–"
    assert str(drawn("faded", owner).table.rows[KINDS.index("task")][3]) == "–"


def test_bars_and_rows_lead_to_the_memories_they_count(owner, scope):
    make_aged(scope, [20], kinds=["task"])
    assert drawn("age", owner).figure["data"][0]["customdata"][1] == "/list?age=d8_30"
    faded = drawn("faded", owner)
    assert faded.figure["data"][0]["customdata"][KINDS.index("task")] == "/list?faded=1&kind=task"
    assert faded.figure["data"][0]["customdata"][KINDS.index("fact")] == ""
    assert [cell.href for cell in faded.table.rows[KINDS.index("task")]] == [
        "", "/list?kind=task", "/list?faded=1&kind=task", "", "", "",
    ]  # fmt: skip


def test_a_kind_has_its_colour_in_every_chart(owner, scope):
    make_aged(scope, range(9))
    bars = drawn("faded", owner).figure["data"][0]
    assert dict(zip(bars["y"], bars["meta"]["colour"], strict=True)) == {kind: f"kind-{kind}" for kind in KINDS}
    curves = [trace for trace in drawn("half-lives", owner).figure["data"] if trace.get("name")]
    assert [trace["meta"]["colour"] for trace in curves] == [f"kind-{kind}" for kind in KINDS]


def test_labels_of_curves_that_end_together_do_not_overlap(owner):
    for kind in KINDS:
        change_ranking(user=owner, kind=kind, half_life_days=100)
    labels = drawn("half-lives", owner).figure["data"][-1]["y"]
    assert all(above - below >= LABEL_GAP - 1e-9 for above, below in pairwise(labels))
    assert min(labels) >= 0
    assert max(labels) <= 1


@pytest.mark.parametrize(("age", "marked"), [(100, True), (20_000, False)])
def test_the_median_of_the_corpus_is_marked_where_the_axis_reaches_it(owner, scope, age, marked):
    make_memory(scope=scope, created_at=NOW - timedelta(days=age))
    layout = drawn("half-lives", owner).figure["layout"]
    assert bool(layout.get("shapes")) is marked
    if marked:
        assert layout["shapes"][0]["x0"] == pytest.approx(age)


def test_a_misspelt_property_of_a_figure_is_an_error():
    with pytest.raises(ValueError):
        charts.drawn([{"type": "bar", "colour": "red"}], {})


@pytest.mark.behaviour("F45")
def test_the_rows_of_scopes_are_counted(owner, corpus):
    table = scope_table(ageing(actor=actor_for_user(owner), now=NOW), link, lambda name: f"/page/{name}")
    by_name = {row[0].value: row for row in table.rows}
    for scope in corpus:
        assert by_name[scope.slug][2].value == counted("count(*)", scopes=[scope])
        assert by_name[scope.slug][4].value == counted("count(*)", FADED, scopes=[scope])
        assert by_name[scope.slug][0].href == f"/page/{scope.slug}"
