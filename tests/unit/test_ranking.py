"""From what the search legs found to one order with every factor visible."""

import math
import random
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.explanation import why
from memories.fusion import METHODS, RRF, FusionRule, fuse, reciprocal_ranks
from memories.ranking import (
    CURVES,
    IGNORABLE,
    KIND_DEFAULTS,
    KINDS,
    POLICIES,
    Candidate,
    KindRule,
    Scored,
    rank,
)

RECIPROCAL = FusionRule(method=RRF, contrast=8)
NOW = datetime(2030, 5, 17, 12, 30, tzinfo=UTC)


def make_candidate(id: UUID | str | int = "a", *, age_days: float = 0, **overrides: Any) -> Candidate:
    """Found first by both legs unless told otherwise."""
    values = {"kind": "fact", "created_at": NOW - timedelta(days=age_days), "rank_vector": 1, "rank_text": 1}
    return Candidate(id=id, **(values | overrides))


def ranked(*candidates: Candidate, **overrides: Any) -> list[Scored]:
    return rank(candidates, **({"now": NOW, "rules": KIND_DEFAULTS, "fusion": RECIPROCAL} | overrides))


def scores(*candidates: Candidate, **overrides: Any) -> dict[Any, float]:
    return {scored.candidate.id: scored.score for scored in ranked(*candidates, **overrides)}


def order(*candidates: Candidate, **overrides: Any) -> list[Any]:
    return [scored.candidate.id for scored in ranked(*candidates, **overrides)]


ranks = st.none() | st.integers(1, 60)
candidates = st.builds(
    Candidate,
    id=st.uuids(),
    kind=st.sampled_from([*KINDS, "rumour"]),
    created_at=st.datetimes(timezones=st.just(UTC)),
    provenance_rank=st.integers(0, 2),
    rank_vector=ranks,
    rank_text=ranks,
    rank_recency=ranks,
    similarity=st.none() | st.floats(-1, 1),
    coverage=st.floats(0, 1),
    phrase=st.floats(0, 1),
    identifier=st.floats(0, 1),
    named=st.booleans(),
    session=st.sampled_from(["", "a", "b"]),
    text_matched=st.integers(0, 5),
    reinforcement=st.floats(0.5, 1.4),
    structural=st.sampled_from([1.0, 0.15]),
    confidence=st.sampled_from([1.0, 1.5, 0.5]),
    policy=st.sampled_from(POLICIES),
)
pools = st.lists(candidates, max_size=12, unique_by=lambda candidate: candidate.id)
fusions = st.builds(
    FusionRule,
    method=st.sampled_from(METHODS),
    rrf_k=st.floats(0, 100),
    vector_weight=st.floats(0, 5),
    text_weight=st.floats(0, 5),
    recency_weight=st.floats(0, 5),
    contrast=st.floats(0.5, 20),
)
ignored = st.frozensets(st.sampled_from(sorted(IGNORABLE)))


# Kinds and age -------------------------------------------------------------------------------


@pytest.mark.behaviour("Z2")
def test_a_fresh_memory_is_weighed_by_its_kind() -> None:
    weights = [1, 1, 1, 0.95, 1, 0.9, 0.7, 0.7, 0.7]
    fresh = scores(*(make_candidate(kind, kind=kind) for kind in (*KINDS, "rumour")))
    assert fresh == pytest.approx(dict(zip((*KINDS, "rumour"), [*weights, 0.85], strict=True)))


@pytest.mark.behaviour("Z2")
def test_a_fresh_fact_and_a_fresh_episode_stand_nine_to_seven() -> None:
    fresh = scores(make_candidate("fact"), make_candidate("episode", kind="episode"))
    assert fresh["fact"] / fresh["episode"] == pytest.approx(9 / 7)


@pytest.mark.parametrize(("age", "share"), [(30, 1 / 2), (180, 1 / 64)])
def test_an_episode_halves_every_thirty_days(age: float, share: float) -> None:
    pair = scores(make_candidate("old", kind="episode", age_days=age), make_candidate("new", kind="episode"))
    assert pair["old"] / pair["new"] == pytest.approx(share, abs=1e-9)


def noisy(id: str, noise: random.Random, **overrides: Any) -> Candidate:
    """Found somewhere in the first four places of each leg."""
    return make_candidate(id, rank_vector=noise.randint(1, 4), rank_text=noise.randint(1, 4), **overrides)


def test_search_noise_cannot_lift_an_episode_of_half_a_year() -> None:
    noise = random.Random(1)
    for _ in range(200):
        pair = scores(
            noisy("old", noise, kind="episode", age_days=180), noisy("new", noise, kind="episode"), make_candidate()
        )
        assert pair["old"] / pair["new"] < 0.1


@pytest.mark.behaviour("Z4")
def test_a_gotcha_of_half_a_year_keeps_most_of_its_score() -> None:
    pair = scores(make_candidate("old", kind="gotcha", age_days=180), make_candidate("new", kind="gotcha"))
    assert pair["old"] / pair["new"] == pytest.approx(0.8923, abs=5e-5)


@pytest.mark.behaviour("Z4")
def test_a_gotcha_outranks_an_episode_of_its_age_in_spite_of_search_noise() -> None:
    noise = random.Random(2)
    for _ in range(200):
        pair = scores(
            noisy("gotcha", noise, kind="gotcha", age_days=180),
            noisy("episode", noise, kind="episode", age_days=180),
            noisy("fresh gotcha", noise, kind="gotcha"),
        )
        assert pair["gotcha"] / pair["fresh gotcha"] > 0.25
        assert pair["gotcha"] > pair["episode"]


def test_nothing_about_access_enters_the_ranking() -> None:
    assert not [field.name for field in fields(Candidate) if "access" in field.name]
    old = make_candidate("old", age_days=100)
    assert {ranked(old)[0].factors.age for _ in range(100)} == {2 ** (-100 / 365)}


def test_a_changed_rule_counts_at_once_and_a_removed_one_falls_back() -> None:
    fact = make_candidate(age_days=50)
    assert ranked(fact, rules={"fact": KindRule(0.4, 50)})[0].score == pytest.approx(0.4 * 0.5)
    assert ranked(fact, rules={})[0].score == pytest.approx(0.85 * 2 ** (-50 / 365))


def test_a_rule_chooses_the_curve() -> None:
    fact = make_candidate(age_days=90)
    assert ranked(fact, rules={"fact": KindRule(1, 90, "linear")})[0].factors.age == pytest.approx(0.5)
    assert ranked(fact, rules={"fact": KindRule(1, 45, "linear")})[0].factors.age == 0


def test_a_memory_from_the_future_is_new() -> None:
    tomorrow = ranked(make_candidate(age_days=-1))[0]
    assert (tomorrow.age_days, tomorrow.factors.age) == (0, 1)


def test_a_decaying_scope_is_ranked_without_age() -> None:
    old = ranked(make_candidate(age_days=5000, policy="decaying"))[0]
    assert (old.factors.age, old.policy) == (1.0, "decaying")
    assert "weight by last access" in why(old)
    assert old.age_days == pytest.approx(5000)


def test_an_ageing_scope_is_ranked_with_age() -> None:
    old = ranked(make_candidate(age_days=365))[0]
    assert (old.factors.age, old.policy) == (0.5, "ageing")
    assert "weight by last access" not in why(old)


# Fusion --------------------------------------------------------------------------------------


@pytest.mark.behaviour("Z10")
@pytest.mark.parametrize(
    ("rank_vector", "rank_text", "fused"),
    [(1, 1, 2 / 61), (1, None, 1 / 61), (None, 1, 1 / 61), (3, 20, 1 / 63 + 1 / 80), (None, None, 0)],
)
def test_each_leg_adds_its_weight_over_sixty_plus_rank(
    rank_vector: int | None, rank_text: int | None, fused: float
) -> None:
    found = make_candidate(rank_vector=rank_vector, rank_text=rank_text)
    assert sum(reciprocal_ranks(found, FusionRule()).values()) == pytest.approx(fused, abs=1e-12)
    assert ranked(found)[0].fused.value == pytest.approx(fused, abs=1e-12)


@pytest.mark.behaviour("Z10")
def test_the_weights_of_the_legs_can_differ() -> None:
    found = make_candidate(rank_vector=2, rank_text=5)
    weighted = sum(reciprocal_ranks(found, FusionRule(method=RRF, vector_weight=3, text_weight=0.5)).values())
    assert weighted == pytest.approx(3 / 62 + 0.5 / 65, abs=1e-12)
    assert sum(reciprocal_ranks(make_candidate(), FusionRule()).values()) == pytest.approx(0.032787, abs=5e-7)


@pytest.mark.behaviour("G27")
def test_three_legs_add_up_with_weights_one_one_and_a_half() -> None:
    found = make_candidate(rank_vector=1, rank_text=4, rank_recency=2)
    fused = sum(reciprocal_ranks(found, FusionRule(method=RRF, recency_weight=0.5)).values())
    assert fused == pytest.approx(1 / 61 + 1 / 64 + 0.5 / 62, abs=1e-12)


@pytest.mark.behaviour("G27")
def test_the_recency_leg_alone_gives_newest_first() -> None:
    newest_alone = FusionRule(method=RRF, vector_weight=0, text_weight=0, recency_weight=1)
    found = [make_candidate(i, age_days=i, rank_vector=9 - i, rank_text=9 - i, rank_recency=i) for i in range(1, 9)]
    random.Random(3).shuffle(found)
    assert order(*found, fusion=newest_alone) == [1, 2, 3, 4, 5, 6, 7, 8]


def test_the_default_fusion_is_the_documented_one() -> None:
    rule = FusionRule()
    weights = (rule.vector_weight, rule.text_weight, rule.recency_weight)
    assert (rule.rrf_k, rule.pool_multiplier, weights) == (60, 4, (1, 1, 0))


def test_the_best_match_has_relevance_one_and_contrast_opens_the_rest() -> None:
    second = make_candidate("second", rank_vector=2, rank_text=2)
    for contrast in (1, 8, 20):
        best, other = ranked(make_candidate(), second, fusion=FusionRule(method=RRF, contrast=contrast))
        assert best.factors.relevance == 1
        assert other.factors.relevance == pytest.approx((61 / 62) ** contrast)


def test_a_leg_without_weight_contributes_nothing() -> None:
    words_only = FusionRule(method=RRF, vector_weight=0)
    found = ranked(make_candidate("both"), make_candidate("meaning", rank_text=None), fusion=words_only)
    assert [(scored.candidate.id, scored.factors.relevance) for scored in found] == [("both", 1), ("meaning", 0)]


def test_what_no_leg_found_has_no_relevance() -> None:
    nowhere = ranked(make_candidate(rank_vector=None, rank_text=None))
    assert [(scored.fused.value, scored.score) for scored in nowhere] == [(0, 0)]


def test_nothing_found_ranks_as_nothing() -> None:
    assert ranked() == []


def test_equal_places_tie_exactly_whichever_leg_gave_them() -> None:
    fusion = FusionRule(method=RRF, recency_weight=1)
    places = [(1, 7, 30), (7, 30, 1), (30, 1, 7), (7, 1, 30)]
    found = [make_candidate(rank_vector=v, rank_text=t, rank_recency=r) for v, t, r in places]
    assert len({fused.value for fused in fuse(found, fusion)}) == 1


# Other factors -------------------------------------------------------------------------------


@pytest.mark.behaviour("Z16")
@pytest.mark.parametrize(("provenance", "factor"), [(0, 0.9), (1, 1), (2, 1)])
def test_a_provisional_write_counts_nine_tenths(provenance: int, factor: float) -> None:
    pair = scores(make_candidate("it", provenance_rank=provenance), make_candidate("other"))
    assert pair["it"] / pair["other"] == pytest.approx(factor)


@pytest.mark.behaviour("Z20")
@pytest.mark.parametrize("multiplier", [1.4, 0.6])
def test_a_reinforcement_row_multiplies_the_score(multiplier: float) -> None:
    pair = scores(make_candidate("it", reinforcement=multiplier), make_candidate("other"))
    assert pair["it"] / pair["other"] == pytest.approx(multiplier, abs=1e-5)


def test_reinforcing_one_memory_leaves_the_scores_of_the_others() -> None:
    others = [make_candidate(i, rank_vector=i, age_days=i) for i in range(2, 9)]
    before = scores(make_candidate(1), *others)
    after = scores(make_candidate(1, reinforcement=1.4), *others)
    assert {id: score for id, score in before.items() if id != 1} == {id: s for id, s in after.items() if id != 1}


def test_a_memory_without_signals_has_a_factor_of_exactly_one() -> None:
    factors = ranked(make_candidate())[0].factors
    assert (factors.reinforcement, factors.structural, factors.provenance) == (1.0, 1.0, 1.0)


@pytest.mark.parametrize("name", sorted(IGNORABLE))
def test_a_factor_left_out_is_exactly_one(name: str) -> None:
    marked = make_candidate(age_days=100, reinforcement=0.7, structural=0.15)
    kept, left_out = ranked(marked)[0], ranked(marked, ignore=frozenset({name}))[0]
    assert left_out.factors == replace(kept.factors, **{name: 1.0})
    assert getattr(kept.factors, name) != 1.0


def test_a_factor_that_cannot_be_left_out_is_named() -> None:
    with pytest.raises(ValueError, match=r"Cannot ignore kind; choose from age, reinforcement, structural"):
        ranked(ignore=frozenset({"kind"}))


@given(pool=pools, fusion=fusions, ignore=ignored, curve=st.sampled_from(CURVES))
def test_the_product_of_the_factors_is_the_score(
    pool: list[Candidate], fusion: FusionRule, ignore: frozenset[str], curve: str
) -> None:
    rules = {"fact": KindRule(0.9, 365, curve), "episode": KindRule(0.7, 30, curve)}
    for scored in rank(pool, now=NOW, rules=rules, fusion=fusion, ignore=ignore):
        product = math.prod(getattr(scored.factors, field.name) for field in fields(scored.factors))
        assert scored.score == pytest.approx(product, abs=1e-9)
        assert 0 <= scored.score <= 1.4 * 1.5
        assert scored.policy == scored.candidate.policy


# Order ---------------------------------------------------------------------------------------


@pytest.mark.behaviour("Z17")
def test_equal_scores_stand_newest_first_and_stay_there() -> None:
    found = [make_candidate(i, age_days=i, policy="decaying") for i in (3, 1, 2, 0)]
    assert len(set(scores(*found).values())) == 1
    assert order(*found) == order(*found) == [0, 1, 2, 3]


def test_a_microsecond_decides_between_equal_scores_even_centuries_ago() -> None:
    then = datetime(1, 1, 1, tzinfo=UTC)
    older = make_candidate("a", created_at=then, policy="decaying")
    newer = make_candidate("b", created_at=then + timedelta(microseconds=1), policy="decaying")
    assert order(older, newer) == ["b", "a"]


@pytest.mark.behaviour("G26")
def test_six_facts_of_one_instant_never_rotate() -> None:
    found = [make_candidate(id) for id in "fbdace"]
    shuffled = random.Random(4)
    for _ in range(20):
        shuffled.shuffle(found)
        assert order(*found) == list("abcdef")


@pytest.mark.behaviour("G26")
def test_one_rule_orders_score_then_newer_then_id() -> None:
    low = make_candidate("low", structural=0.15)
    old, new = (make_candidate(id, age_days=age, policy="decaying") for id, age in (("old", 2), ("new", 1)))
    twin = make_candidate("a twin of new", age_days=1, policy="decaying")
    assert order(low, old, new, twin) == ["a twin of new", "new", "old", "low"]


@given(pool=pools, fusion=fusions, seed=st.randoms(use_true_random=False))
def test_the_order_does_not_depend_on_the_order_of_arrival(
    pool: list[Candidate], fusion: FusionRule, seed: random.Random
) -> None:
    arrived = list(pool)
    seed.shuffle(arrived)
    once = rank(pool, now=NOW, rules=KIND_DEFAULTS, fusion=fusion)
    again = rank(arrived, now=NOW, rules=KIND_DEFAULTS, fusion=fusion)
    assert once == again
    assert [scored.score for scored in once] == sorted((scored.score for scored in once), reverse=True)
