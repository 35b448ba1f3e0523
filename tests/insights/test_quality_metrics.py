import math

import numpy as np
import pytest

from insights.quality import metrics

# Worked out by hand: places of the evidence, how much evidence there is, then R@5, R@8, R@10, nDCG@10, MRR.
BY_HAND = [
    ([1], 1, (1, 1, 1, 1, 1)),
    ([2], 1, (1, 1, 1, 1 / math.log2(3), 1 / 2)),
    ([7], 1, (0, 1, 1, 1 / 3, 1 / 7)),
    ([9], 2, (0, 0, 1 / 2, (1 / math.log2(10)) / (1 + 1 / math.log2(3)), 1 / 9)),
    ([1, 3], 2, (1, 1, 1, 1.5 / (1 + 1 / math.log2(3)), 1)),
    ([], 3, (0, 0, 0, 0, 0)),
    ([11], 1, (0, 0, 0, 0, 0)),
    (list(range(1, 11)), 12, (5 / 12, 8 / 12, 10 / 12, 1, 1)),
]


def a_ranking(places, evidence):
    """Twelve documents of which those at *places* are gold, and as much further gold that was not found."""
    ranked = [f"gold{place}" if place in places else f"other{place}" for place in range(1, 13)]
    found = {f"gold{place}" for place in places}
    return ranked, found | {f"unfound{number}" for number in range(evidence - len(found))}


@pytest.mark.parametrize(("places", "evidence", "expected"), BY_HAND)
def test_a_ranking_scores_what_is_worked_out_by_hand(places, evidence, expected):
    ranked, gold = a_ranking(places, evidence)
    assert metrics.values_of([ranked], [gold])[0] == pytest.approx(expected, abs=1e-12)


def test_a_ranking_shorter_than_k_is_scored_over_what_it_has():
    values = dict(zip(metrics.METRICS, metrics.values_of([["b", "a"]], [{"a", "c"}])[0], strict=True))
    assert values["R@5"] == values["R@10"] == 0.5
    assert values["MRR"] == 0.5


def one_by_one(values, resamples, seed):
    """The same resampling, question by question."""
    chance, questions = np.random.default_rng(seed), len(values)
    means = []
    for _ in range(resamples):
        drawn = chance.integers(questions, size=questions)
        means.append(sum(values[place] for place in drawn) / questions)
    return np.percentile(np.array(means), [2.5, 97.5], axis=0)


def test_the_interval_is_that_of_the_plain_bootstrap():
    values = np.random.default_rng(1).random((30, 2))
    low, high = one_by_one(values, 250, seed=7)
    estimated = metrics.estimates(values, resamples=250, seed=7)
    assert [estimate.low for estimate in estimated] == pytest.approx(low)
    assert [estimate.high for estimate in estimated] == pytest.approx(high)
    assert [estimate.mean for estimate in estimated] == pytest.approx(values.mean(axis=0))


def test_the_interval_is_the_same_each_time_and_about_as_wide_as_theory_says():
    values = np.random.default_rng(2).normal(0.5, 0.2, (400, 1))
    first, again = metrics.estimates(values), metrics.estimates(values)
    assert first == again
    width = 2 * 1.96 * values.std() / math.sqrt(400)
    assert first[0].high - first[0].low == pytest.approx(width, rel=0.15)


def test_a_small_but_steady_gain_separates_only_when_paired():
    theirs = np.random.default_rng(3).random((200, 1))
    ours = theirs + 0.01
    (gain,) = metrics.difference(ours, theirs)
    assert gain.low == pytest.approx(0.01)
    assert gain.high == pytest.approx(0.01)
    assert metrics.estimates(ours)[0].low < metrics.estimates(theirs)[0].high


def test_systems_over_different_questions_are_not_compared():
    with pytest.raises(ValueError, match="same questions"):
        metrics.difference(np.zeros((3, 1)), np.zeros((4, 1)))


def test_no_questions_have_no_estimate():
    with pytest.raises(ValueError, match="no question"):
        metrics.estimates(np.zeros((0, 5)))
