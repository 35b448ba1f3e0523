"""Evidence joined into one number: each feature, its bounds, and what happens where something is not known."""

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.fusion import (
    COMPANY_HALF_SECONDS,
    DOUBT,
    FEATURES,
    LOG_LINEAR,
    RRF,
    UNTRAINED,
    Background,
    Evidence,
    FusionRule,
    Weights,
    feature_rows,
    fuse,
    trust_in_meaning,
)

NOW = datetime(2030, 5, 17, 12, 30, tzinfo=UTC)
CHANCE = Background(mean=0.1, deviation=0.1, count=1000)
RULE = FusionRule()


def make_evidence(id: str = "a", *, minutes: float = 0, **overrides: Any) -> Evidence:
    """Found by both legs. Evidence made with different *minutes* lies so far apart in time."""
    values = {"rank_vector": 1, "rank_text": 1, "similarity": 0.5, "coverage": 0.5}
    return Evidence(id=id, created_at=NOW - timedelta(minutes=minutes), **(values | overrides))


def values(*evidence: Evidence, rule: FusionRule = RULE, background: Background | None = None) -> list[float]:
    return [fused.value for fused in fuse(evidence, rule, background)]


def row(*evidence: Evidence, rule: FusionRule = RULE, background: Background | None = None) -> dict[str, float]:
    return feature_rows(evidence, rule, background)[0]


evidence = st.builds(
    Evidence,
    id=st.uuids(),
    created_at=st.datetimes(timezones=st.just(UTC)),
    rank_vector=st.none() | st.integers(1, 60),
    rank_text=st.none() | st.integers(1, 60),
    rank_recency=st.none() | st.integers(1, 60),
    similarity=st.none() | st.floats(-1, 1),
    coverage=st.floats(0, 1),
    phrase=st.floats(0, 1),
    identifier=st.floats(0, 1),
    named=st.booleans(),
    session=st.sampled_from(["", "a", "b"]),
)
pools = st.lists(evidence, max_size=8)
backgrounds = st.none() | st.builds(Background, st.floats(-1, 1), st.floats(0, 1), st.integers(0, 10**7))


@pytest.mark.parametrize("feature", ["similarity", "coverage", "phrase", "identifier", "named"])
def test_more_of_any_evidence_never_ranks_lower(feature: str) -> None:
    less = make_evidence("less", minutes=90, **{feature: 0.2})
    more = make_evidence("more", **{feature: 0.9})
    assert values(more, less)[0] > values(more, less)[1]


@given(pools, backgrounds, st.sampled_from([RULE, FusionRule(method=RRF), FusionRule(weights=UNTRAINED)]))
def test_whatever_was_found_the_value_is_finite_and_the_parts_add_up(
    found: list[Evidence], background: Background | None, rule: FusionRule
) -> None:
    for fused in fuse(found, rule, background):
        assert 0 <= fused.value < math.inf
        assert math.fsum(fused.parts.values()) == pytest.approx(fused.total, abs=1e-9)


@pytest.mark.behaviour("G28")
@given(pools, backgrounds)
def test_the_value_is_told_by_its_total_and_the_best(found: list[Evidence], background: Background | None) -> None:
    for candidate, fused in zip(found, fuse(found, RULE, background), strict=True):
        behind = fused.best - fused.total
        told = math.exp(-behind * behind / (2 * DOUBT) if behind < DOUBT else DOUBT / 2 - behind)
        is_found = candidate.rank_vector is not None or candidate.rank_text is not None
        assert fused.value == pytest.approx(told if is_found else 0, abs=1e-12)


def test_the_best_is_one_and_a_near_one_is_hardly_less() -> None:
    best, near, far = values(
        make_evidence(), make_evidence(coverage=0.4), make_evidence(coverage=0.0, similarity=0.0, minutes=90)
    )
    assert best == 1
    assert near > 0.9
    assert far < 0.05


def test_one_leg_alone_can_lead() -> None:
    by_meaning = make_evidence("meaning", rank_text=None, coverage=0, similarity=0.8, minutes=90)
    weak_in_both = make_evidence("both", rank_vector=30, similarity=0.2, coverage=0.1)
    first, second = values(by_meaning, weak_in_both, background=CHANCE)
    assert first > second


def test_trust_in_meaning_is_what_stands_out_from_chance() -> None:
    assert trust_in_meaning([0.4, 0.1], CHANCE) == 0  # the best of a thousand draws is about 3.1 deviations up
    assert 0 < trust_in_meaning([0.5], CHANCE) < 1
    assert trust_in_meaning([0.9], CHANCE) == 1


@pytest.mark.parametrize("background", [None, Background(0.1, 0.0, 100), Background(0.1, 0.1, 0)])
def test_without_a_background_there_is_no_trust(background: Background | None) -> None:
    assert trust_in_meaning([0.9], background) == 0


def test_the_more_there_is_to_choose_from_the_further_the_best_must_stand_out() -> None:
    few, many = (replace(CHANCE, count=count) for count in (100, 1_000_000))
    assert trust_in_meaning([0.55], few) > trust_in_meaning([0.55], many)


def test_a_memory_without_a_vector_is_taken_for_an_average_one() -> None:
    near, far = make_evidence(similarity=0.6), make_evidence(similarity=0.2)
    assert row(make_evidence(similarity=None), near, far)["meaning"] == pytest.approx(0.4)


def test_words_alone_rank_where_nothing_has_a_vector() -> None:
    found = [make_evidence(str(n), similarity=None, rank_vector=None, coverage=n / 4, minutes=90 * n) for n in range(4)]
    assert sorted(values(*found)) == values(*found)


def test_good_company_raises_and_hours_apart_it_does_not() -> None:
    strong = make_evidence("strong", coverage=1.0)
    beside, elsewhere = make_evidence("beside", minutes=8), make_evidence("elsewhere", minutes=90)
    rows = feature_rows([strong, beside, elsewhere], RULE)
    assert rows[0]["company"] == pytest.approx(1.5)  # its own match
    assert rows[1]["company"] == pytest.approx(max(1.0, 1.5 * 2 ** (-480 / COMPANY_HALF_SECONDS)))
    assert rows[2]["company"] == pytest.approx(1.0)


def test_what_was_written_at_one_moment_gains_alike() -> None:
    rows = feature_rows([make_evidence("a", coverage=1.0), make_evidence("b", coverage=0.1)], RULE)
    assert rows[0]["company"] == rows[1]["company"] == pytest.approx(1.5)


def test_another_session_is_no_company() -> None:
    strong, other = make_evidence("a", coverage=1.0, session="one"), make_evidence("b", session="two")
    assert feature_rows([strong, other], RULE)[1]["company"] == pytest.approx(1.0)


def test_the_weights_of_the_legs_scale_their_features() -> None:
    features = row(make_evidence(phrase=0.5), rule=FusionRule(vector_weight=0, text_weight=2))
    assert (features["meaning"], features["words"], features["phrase"]) == (0, 1.0, 1.0)


def test_what_only_a_leg_without_weight_found_is_not_found() -> None:
    only_meaning = make_evidence(rank_text=None)
    assert values(only_meaning, rule=FusionRule(vector_weight=0)) == [0]


def test_recency_counts_when_it_has_weight() -> None:
    newer, older = make_evidence("n", rank_recency=1), make_evidence("o", rank_recency=2)
    equal = values(newer, older)
    assert equal[0] == equal[1]
    newest_first = values(newer, older, rule=FusionRule(recency_weight=1))
    assert newest_first[0] > newest_first[1]


def test_every_weight_has_a_feature() -> None:
    assert set(row(make_evidence())) == set(FEATURES)


def test_the_untrained_weights_take_a_unit_of_similarity_and_of_coverage_alike() -> None:
    rule = FusionRule(weights=UNTRAINED)
    one, other = values(
        make_evidence(similarity=0.9, coverage=0.1), make_evidence(similarity=0.1, coverage=0.9), rule=rule
    )
    assert one == pytest.approx(other)


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(ValueError, match="log_linear, rrf"):
        fuse([make_evidence()], FusionRule(method="magic"))


def test_log_linear_is_the_default() -> None:
    assert FusionRule().method == LOG_LINEAR
    assert FusionRule().weights == Weights()
