import re
from io import StringIO

import pytest
from django.core.management import call_command

from insights.quality import ageing, corpus
from insights.quality.harness import Bench
from memories.configuration import ranking_rules
from memories.fusion import FusionRule
from tests.conftest import write_shipped_configuration


@pytest.fixture(scope="module")
def failing(django_db_setup, django_db_blocker):
    """``failing(contrast)``: the probes that fail with it, everything else as shipped."""
    with django_db_blocker.unblock():
        write_shipped_configuration()
        rules = ranking_rules()
        with corpus.opened(ageing.dataset()) as stored:
            bench = Bench(stored, rules=rules, fusion=FusionRule())
            known = ageing.by_contrast(bench, FusionRule(), [0.05, FusionRule().contrast, 64.0])
            known |= ageing.by_popularity(bench)
        yield known
        corpus.drop(ageing.NAME)


@pytest.mark.behaviour("H18")
def test_the_shipped_configuration_passes_the_ageing_probes(failing):
    missed = failing[FusionRule().contrast]
    assert len(missed) <= 0.05 * len(ageing.dataset().queries), missed


@pytest.mark.behaviour("F17")
def test_what_is_retrieved_often_outranks_nothing_that_it_did_not_before(failing):
    assert failing["retrieved every day"] == failing[FusionRule().contrast]


def test_what_proved_useful_and_then_misled_outranks_less_than_what_only_proved_useful(failing):
    popular, misled = (failing[name] for name in ageing.RECORDS if name.startswith("found useful twenty"))
    assert set(misled) < set(popular)


def test_too_little_contrast_lets_age_decide(failing):
    assert any("matches before" in name or "something else" in name for name in failing[0.05])


def test_too_much_contrast_lets_age_decide_nothing(failing):
    assert len(failing[64.0]) > len(failing[FusionRule().contrast])


def test_every_probe_says_what_should_stand_first_and_before_what():
    dataset = ageing.dataset()
    assert len(dataset.queries) == len(dataset.corpora) >= 20
    for query in dataset.queries:
        ids = [document.id for document in dataset.documents if document.corpus == query.corpus]
        assert ids[:2] == [ageing.FIRST, "other 1"]


@pytest.mark.django_db
def test_the_command_tells_which_contrast_passes_what(tmp_path, monkeypatch):
    told = StringIO()
    call_command("evaluate", "ageing", stdout=told, stderr=StringIO())
    assert f"{len(ageing.dataset().queries)} ageing probes" in told.getvalue()
    assert re.search(r"\| 2 \| \d+", told.getvalue())
