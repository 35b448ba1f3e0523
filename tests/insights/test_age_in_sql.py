"""One age: SQL and Python give the same number, the same buckets and the same faded rows."""

import random
from datetime import timedelta

import pytest

from memories import ageing, ranking
from memories.configuration import ranking_rules
from memories.errors import ValidationFailed
from memories.models import Memory, RankingConfig
from memories.ranking import KIND_DEFAULTS, UNKNOWN_RULE, KindRule
from tests.factories import make_memory, make_scope
from tests.insights.corpus import NOW, make_aged

DAY = timedelta(days=1)
EDGES = [-3650, -1 / 86400, 0, 7, 14, 30, 365, 3650, 36500]


def python_factor(memory, rules):
    rule = rules.get(memory.kind, UNKNOWN_RULE)
    return ranking.age_factor(ranking.age_in_days(memory.created_at, NOW), rule.half_life_days, rule.curve)


@pytest.mark.behaviour("F21", "F15", "Z1")
def test_a_thousand_ages_give_the_same_factor_in_sql_and_python(scope):
    chance = random.Random(21)
    make_aged(scope, EDGES + [chance.uniform(0, 4000) for _ in range(991)])
    RankingConfig.objects.filter(kind="gotcha").update(curve="linear")
    RankingConfig.objects.filter(kind="task").delete()
    rules = ranking_rules()
    rows = Memory.objects.annotate(days=ageing.age_days(NOW), factor=ageing.age_factor(rules, NOW))
    assert len(rows) == 1000
    for row in rows:
        assert row.days == pytest.approx(ranking.age_in_days(row.created_at, NOW), abs=1e-9)
        assert row.factor == pytest.approx(python_factor(row, rules), abs=1e-9)


@pytest.mark.behaviour("F15")
@pytest.mark.parametrize("half_life", [5e-324, 1e-9, 0.5, 36500])
@pytest.mark.parametrize("curve", ranking.CURVES)
def test_the_factor_in_sql_stays_in_range_at_the_ends(scope, half_life, curve):
    make_aged(scope, EDGES, kinds=["fact"])
    rules = {"fact": KindRule(0.9, half_life, curve)}
    for row in Memory.objects.annotate(factor=ageing.age_factor(rules, NOW)):
        assert 0 <= row.factor <= 1
        assert row.factor == pytest.approx(python_factor(row, rules), abs=1e-9)


@pytest.mark.behaviour("F21", "Z85")
def test_the_faded_rows_in_sql_are_the_faded_rows_in_python(scope):
    chance = random.Random(85)
    make_aged(
        scope, [rule.half_life_days for rule in KIND_DEFAULTS.values()] + [chance.uniform(0, 4000) for _ in range(400)]
    )
    RankingConfig.objects.filter(kind="decision").delete()
    rules = ranking_rules()
    faded = set(Memory.objects.faded(rules, now=NOW).values_list("pk", flat=True))
    assert faded == {
        row.pk
        for row in Memory.objects.all()
        if ranking.is_faded(ranking.age_in_days(row.created_at, NOW), rules[row.kind].half_life_days)
    }


@pytest.mark.behaviour("Z85")
def test_a_memory_exactly_one_half_life_old_has_not_faded(scope):
    make_memory(scope=scope, kind="task", created_at=NOW - 14 * DAY)
    late = make_memory(scope=scope, kind="task", created_at=NOW - 14 * DAY - timedelta(microseconds=1))
    assert list(Memory.objects.faded(ranking_rules(), now=NOW)) == [late]


@pytest.mark.behaviour("Z85")
@pytest.mark.parametrize(
    ("days", "bucket"),
    [
        (-400, "le_7d"), (0, "le_7d"), (7, "le_7d"), (7.0001, "d8_30"), (30, "d8_30"), (30.0001, "d31_90"),
        (90, "d31_90"), (90.0001, "d91_365"), (365, "d91_365"), (365.0001, "gt_1y"), (36500, "gt_1y"),
    ],
)  # fmt: skip
def test_every_age_is_in_exactly_one_bucket(scope, days, bucket):
    make_memory(scope=scope, created_at=NOW - timedelta(days=days))
    found = [name for name in ageing.AGE_BUCKETS if Memory.objects.in_age_bucket(name, now=NOW).exists()]
    assert found == [bucket]


def test_an_unknown_bucket_is_refused_by_name(db):
    with pytest.raises(ValidationFailed, match="Choose from le_7d, d8_30") as refusal:
        Memory.objects.in_age_bucket("ancient")
    assert refusal.value.field == "age"


def test_without_a_moment_the_age_runs_to_now(db):
    scope = make_scope()
    make_memory(scope=scope, kind="task", age_days=15)
    assert Memory.objects.faded(dict(KIND_DEFAULTS)).count() == 1
    assert Memory.objects.in_age_bucket("d8_30").count() == 1
