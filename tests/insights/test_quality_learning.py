"""Weights learned from questions whose answers are known."""

import json
from dataclasses import asdict
from io import StringIO

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from insights.quality import corpus, datasets
from insights.quality.datasets import Query
from insights.quality.learning import Sample, first_half, learned
from memories.fusion import FEATURES, UNTRAINED, Weights
from memories.models import ConfigVersion, FusionWeights
from tests.factories import make_user

MEANING, WORDS = FEATURES.index("meaning"), FEATURES.index("words")
TRUTH = {"meaning": 9.0, "words": 3.0}


def make_samples(questions=400, candidates=12, seed=3, **truth):
    """Candidates with random features, of which one is wanted with the chance that the true weights give it."""
    pick = np.random.default_rng(seed)
    weights = np.array([truth.get(name, 0.0) for name in FEATURES])
    for _ in range(questions):
        features = np.zeros((candidates, len(FEATURES)))
        features[:, [MEANING, WORDS]] = pick.random((candidates, 2))
        chance = np.exp(features @ weights)
        wanted = np.zeros(candidates)
        wanted[pick.choice(candidates, p=chance / chance.sum())] = 1
        yield Sample(features, wanted)


def test_the_weights_behind_the_answers_are_found_again():
    weights = learned([list(make_samples(**TRUTH))], UNTRAINED)
    assert weights.meaning == pytest.approx(9, abs=1.5)
    assert weights.words == pytest.approx(3, abs=1.0)


def test_where_it_begins_makes_no_difference():
    samples = [list(make_samples(**TRUTH))]
    assert learned(samples, UNTRAINED).meaning == pytest.approx(learned(samples, Weights()).meaning, abs=1e-4)


def test_what_never_varied_keeps_its_weight():
    weights = learned([list(make_samples(**TRUTH))], Weights())
    assert (weights.phrase, weights.identifier, weights.company) == (Weights().phrase, 4.0, Weights().company)


def test_a_large_set_does_not_drown_a_small_one():
    small, large = list(make_samples(60, meaning=9)), list(make_samples(600, words=9))
    together = learned([small, large], UNTRAINED)
    assert together.meaning == pytest.approx(together.words, rel=0.35)


def test_nothing_to_learn_from_is_said():
    with pytest.raises(ValueError, match="no question"):
        learned([[]], UNTRAINED)


def test_a_conversation_is_learned_from_or_measured_and_never_both():
    queries = [Query(f"c{n % 7}", f"q{n}", "?", frozenset({"d"}), "") for n in range(70)]
    halves = {query.corpus: set() for query in queries}
    for query in queries:
        halves[query.corpus].add(first_half(query, corpora=7))
    assert all(len(half) == 1 for half in halves.values())
    assert {half for chosen in halves.values() for half in chosen} == {True, False}
    assert 20 < sum(first_half(query, corpora=1) for query in queries) < 50


# The command ---------------------------------------------------------------------------------

DISHES = ["soup", "bread", "salad", "roast", "pie", "stew", "omelette", "porridge"]


@pytest.fixture
def dishes(tmp_path, monkeypatch, db):
    monkeypatch.setenv(datasets.FOLDER, str(tmp_path))
    shared = {"corpus": "kitchen", "time": None, "speaker": None, "session": None, "order": 0}
    documents = [
        {"type": "doc", "id": dish, "text": f"The {dish} wants {10 + place} minutes and some salt."} | shared
        for place, dish in enumerate(DISHES)
    ]
    asked = [
        {"type": "query", "corpus": "kitchen", "id": f"q-{dish}", "text": f"how long does the {dish} take",
         "gold": [dish], "category": ""} for dish in DISHES
    ]  # fmt: skip
    (tmp_path / "dishes.jsonl").write_text("\n".join(map(json.dumps, [*documents, *asked])))
    yield
    corpus.drop("dishes")


def learn(*arguments):
    told = StringIO()
    call_command("learn_fusion", *arguments, stdout=told, stderr=StringIO())
    return told.getvalue()


def test_it_reports_the_half_it_has_not_learned_from_and_changes_nothing(dishes):
    told = learn("dishes")
    assert "| learned on the other half |" in told
    assert ConfigVersion.objects.count() == 0
    assert asdict(Weights()) == {name: getattr(FusionWeights.objects.get(), name) for name in FEATURES}


def test_applied_the_weights_are_one_versioned_change_of_a_member_of_staff(dishes):
    make_user(username="tuner", is_staff=True)
    assert "Written as version" in learn("dishes", "--apply", "tuner")
    version = ConfigVersion.objects.get()
    assert (version.table, version.changed_by.username) == ("fusion_weights", "tuner")
    assert "dishes" in version.reason


def test_nobody_but_staff_applies_them(dishes):
    make_user(username="reader")
    with pytest.raises(CommandError, match="staff"):
        learn("dishes", "--apply", "reader")
    with pytest.raises(CommandError, match="no account"):
        learn("dishes", "--apply", "nobody-here")


def test_without_sets_it_says_how_to_get_them(tmp_path, monkeypatch, db):
    monkeypatch.setenv(datasets.FOLDER, str(tmp_path))
    assert datasets.HOW_TO in learn()
