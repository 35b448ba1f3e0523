from datetime import timedelta

import pytest
from django.utils import timezone

from memories import embedding_queue
from memories.access import actor_for_user
from memories.fusion import FusionRule
from memories.models import FusionConfig, RankingConfig, Reinforcement
from memories.ranking import rank
from memories.recall import recall
from memories.services import remember
from tests.factories import at_cosine, make_memory, unit
from tests.memories.searching import equally_relevant, find_in, first_by_meaning, ids, legs

pytestmark = pytest.mark.django_db

NOW = timezone.now()
DAY = timedelta(days=1)
SIX = ("one", "two", "three", "four", "five", "six")


def scores(results):
    return {result.memory.pk: result.score for result in results}


def test_the_product_of_the_factors_is_the_score(scope):
    for number in range(5):
        make_memory(f"alpha {number}", scope=scope, age_days=number * 50, provenance=number % 2, vector=unit(1, number))
    for result in find_in(scope):
        assert result.factors.product == pytest.approx(result.score, abs=1e-9)


@pytest.mark.behaviour("Z2")
def test_a_fresh_fact_and_a_fresh_episode_differ_by_their_kinds_alone(scope):
    fact, episode = equally_relevant(scope, {"kind": "fact"}, {"kind": "episode"})
    found = scores(find_in(scope, ignore=frozenset({"age"})))
    assert found[fact.pk] / found[episode.pk] == pytest.approx(0.9 / 0.7)


@pytest.mark.behaviour("Z10")
def test_the_top_of_both_legs_is_worth_two_sixty_firsts_and_of_one_leg_one(scope):
    FusionConfig.objects.update(method="rrf")
    both = make_memory("alpha beta", scope=scope, vector=unit(1))
    make_memory("gamma", scope=scope, vector=at_cosine(0.5))
    fused = {result.memory.pk: result.fused.value for result in find_in(scope)}
    assert fused[both.pk] == pytest.approx(2 / 61)
    make_memory("alone", scope=scope, vector=unit(1))
    (alone, *_) = find_in(scope, "zeta")
    assert alone.fused.value == pytest.approx(1 / 61)


@pytest.mark.behaviour("G27")
def test_the_fused_score_is_the_weighed_sum_over_sixty_plus_the_place_in_each_leg(scope):
    FusionConfig.objects.update(method="rrf", vector_weight=1, text_weight=1, recency_weight=0.5)
    for number in range(6):
        make_memory(f"alpha {'beta ' * (number % 3)}{number}", scope=scope, age_days=number, vector=unit(1, number))
    make_memory("gamma", scope=scope, age_days=9)
    results = find_in(scope)
    assert len(results) == 7
    for result in results:
        legs_found = ((1, result.ranks.vector), (1, result.ranks.text), (0.5, result.ranks.recency))
        assert result.ranks.recency
        assert result.fused.value == pytest.approx(sum(weight / (60 + rank) for weight, rank in legs_found if rank))


@pytest.mark.behaviour("G27")
def test_with_weight_on_recency_alone_the_newest_comes_first(scope):
    days = [5, 0, 3, 9, 1]
    made = {age: first_by_meaning(scope, age_days=age, content=f"alpha {age}") for age in days}
    found = [hit.candidate for hit in legs(scope, by_recency=True)]
    rule = FusionRule(method="rrf", vector_weight=0, text_weight=0, recency_weight=1)
    ranked = rank(found, now=NOW, rules={}, fusion=rule, ignore=frozenset({"age"}))
    assert [scored.candidate.id for scored in ranked] == [made[age].pk for age in sorted(days)]


@pytest.mark.behaviour("Z11")
def test_each_leg_offers_at_most_four_times_what_was_asked_for(scope):
    for number in range(45):
        make_memory(f"alpha {number}", scope=scope, vector=at_cosine(0.9 - number / 100))
    found = legs(scope, "alpha")
    assert sum(hit.candidate.rank_vector is not None for hit in found) == 40
    assert sum(hit.candidate.rank_text is not None for hit in found) == 40


@pytest.mark.behaviour("Z12")
def test_a_missing_fusion_row_orders_like_the_defaults(scope):
    for number in range(8):
        make_memory(f"alpha {number} " + "beta " * (number % 3), scope=scope, vector=at_cosine(0.3 + number / 20))
    FusionConfig.objects.update(rrf_k=60, pool_multiplier=4, vector_weight=1, text_weight=1)
    with_row = [(result.memory.pk, result.fused.value) for result in find_in(scope)]
    FusionConfig.objects.all().delete()
    assert [(result.memory.pk, result.fused.value) for result in find_in(scope)] == with_row


@pytest.mark.behaviour("Z8")
def test_a_changed_half_life_counts_from_the_next_search(scope):
    make_memory("alpha beta", scope=scope, kind="fact", age_days=10, vector=unit(1))
    RankingConfig.objects.filter(kind="fact").update(half_life_days=10)
    assert find_in(scope)[0].factors.age == pytest.approx(0.5, abs=1e-4)
    RankingConfig.objects.filter(kind="fact").delete()
    (result,) = find_in(scope)
    assert result.factors.kind == 0.85
    assert result.factors.age == pytest.approx(0.5 ** (10 / 365), abs=1e-6)


@pytest.mark.behaviour("Z16")
def test_a_provisional_memory_scores_nine_tenths(scope):
    firm, provisional = equally_relevant(
        scope, {"provenance": 1, "created_at": NOW}, {"provenance": 0, "created_at": NOW}
    )
    found = scores(find_in(scope))
    assert found[provisional.pk] / found[firm.pk] == pytest.approx(0.9)


@pytest.mark.behaviour("Z17")
def test_equal_scores_come_newest_first_and_always_in_the_same_order(scope):
    older, newer = equally_relevant(scope, {"age_days": 2}, {"age_days": 1})
    twins = [ids(find_in(scope, ignore=frozenset({"age"}))) for _ in range(3)]
    assert twins == [[newer.pk, older.pk]] * 3


@pytest.mark.behaviour("Z17")
@pytest.mark.behaviour("G26")
def test_six_of_one_instant_that_match_alike_come_by_id_and_never_rotate(scope):
    six = [make_memory(f"alpha {name}", scope=scope, created_at=NOW, vector=at_cosine(0.5)) for name in SIX]
    by_id = sorted(memory.pk for memory in six)
    for _ in range(6):
        results = find_in(scope)
        assert len({result.score for result in results}) == 1
        assert ids(results) == by_id


@pytest.mark.behaviour("G26")
def test_the_order_is_by_score_then_newer_then_id(scope):
    no_age = {"ignore": frozenset({"age"})}
    older, newer = equally_relevant(scope, {"created_at": NOW - DAY}, {"created_at": NOW})
    noon = {"scope": scope, "created_at": NOW - DAY / 2, "vector": at_cosine(0.8)}
    twins = [make_memory(f"alpha beta at noon {name}", **noon) for name in SIX]
    worse = make_memory("alpha beta provisional", scope=scope, created_at=NOW, provenance=0, vector=at_cosine(0.8))
    between = sorted(memory.pk for memory in twins)
    assert ids(find_in(scope, **no_age)) == [newer.pk, *between, older.pk, worse.pk]


@pytest.mark.behaviour("G25")
def test_weight_is_no_part_of_the_order(scope):
    one, two = equally_relevant(scope, {"created_at": NOW, "weight": 1}, {"created_at": NOW, "weight": 0})
    before = scores(find_in(scope, as_of=NOW))
    for weights in ((0, 1), (0.001, 0.5)):
        for memory, memory.weight in zip((one, two), weights, strict=True):
            memory.save(update_fields=["weight"])
        after = scores(find_in(scope, as_of=NOW))
        assert list(after) == list(before) == sorted((one.pk, two.pk))
        assert after == before


@pytest.mark.behaviour("Z19")
def test_reinforcing_one_memory_leaves_the_scores_of_the_others_alone(scope):
    reinforced, other = equally_relevant(scope, {"created_at": NOW}, {"created_at": NOW})
    before = find_in(scope, as_of=NOW)
    assert [result.factors.reinforcement for result in before] == [1.0, 1.0]
    row = Reinforcement.objects.create(memory=reinforced, multiplier=1.4)
    assert scores(find_in(scope, as_of=NOW))[other.pk] == pytest.approx(scores(before)[other.pk], abs=1e-7)
    row.delete()
    assert scores(find_in(scope, as_of=NOW)) == scores(before)


@pytest.mark.behaviour("Z20")
@pytest.mark.parametrize("multiplier", [1.4, 0.6])
def test_a_reinforcement_row_multiplies_the_score(scope, multiplier):
    memory = make_memory("alpha beta", scope=scope, vector=unit(1))
    before = find_in(scope)[0].score
    Reinforcement.objects.create(memory=memory, multiplier=multiplier)
    assert find_in(scope)[0].score / before == pytest.approx(multiplier, rel=1e-5)


def test_an_ignored_factor_is_exactly_one(scope):
    memory = make_memory("alpha beta", scope=scope, age_days=100, vector=unit(1))
    Reinforcement.objects.create(memory=memory, multiplier=1.4)
    (result,) = find_in(scope, ignore=frozenset({"age", "reinforcement"}))
    assert (result.factors.age, result.factors.reinforcement) == (1.0, 1.0)


def test_recency_is_a_leg_only_when_it_has_weight(scope):
    make_memory("gamma", scope=scope)
    assert find_in(scope) == []
    FusionConfig.objects.update(method="rrf", recency_weight=0.5)
    (result,) = find_in(scope)
    assert result.ranks.recency == 1
    assert result.fused.value == pytest.approx(0.5 / 61)


def test_a_vector_of_another_model_is_never_compared(scope):
    memory = first_by_meaning(scope)
    memory.embeddings.update(model_version="2")
    (result,) = find_in(scope)
    assert (result.ranks.vector, result.similarity) == (None, None)


def test_a_hit_by_words_alone_still_tells_its_similarity(scope):
    for number in range(45):
        make_memory(f"filler {number}", scope=scope, vector=at_cosine(0.9, axis=2 + number))
    far = make_memory("alpha", scope=scope, vector=at_cosine(0.1))
    hit = next(hit for hit in legs(scope) if hit.candidate.id == far.pk)
    assert hit.candidate.rank_vector is None
    assert hit.candidate.similarity == pytest.approx(0.1, abs=1e-6)


def test_the_same_arguments_give_the_same_ids_in_the_same_order(owner, scope):
    actor = actor_for_user(owner)
    for number in range(12):
        remember(actor=actor, scope=scope, content=f"Service {number} keeps its state in the alpha store.")
    embedding_queue.embed_waiting()
    answers = [ids(recall(actor=actor, query="where is the state kept", k=8).results) for _ in range(3)]
    assert len(answers[0]) == 8
    assert answers[0] == answers[1] == answers[2]


INFRASTRUCTURE = "The {} server in rack {} was moved to the new network segment and rebooted without trouble."


@pytest.mark.behaviour("H18")
def test_a_pricing_question_finds_the_pricing_note_and_not_the_note_of_today(owner, scope):
    actor, day = actor_for_user(owner), 86400
    for number in range(53):
        remember(
            actor=actor,
            scope=scope,
            kind="episode",
            content=INFRASTRUCTURE.format(("mail", "build", "proxy", "backup")[number % 4], number),
        )
    pricing = remember(
        actor=actor,
        scope=scope,
        kind="episode",
        content="We agreed to charge the team plan at nine euros a seat, billed yearly.",
        created_at=NOW - timezone.timedelta(seconds=45 * day),
    ).memory
    embedding_queue.embed_waiting()
    results = recall(actor=actor, query="what price did we set for a seat of the team plan").results
    assert results[0].memory.pk == pricing.pk
    assert len({round(result.fused.value, 3) for result in results[1:]}) < 5  # raw scores do crowd in a narrow band
