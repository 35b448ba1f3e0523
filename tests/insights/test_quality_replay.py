"""A simulated quarter of use over a small set, lived through and measured."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import call_command
from django.urls import reverse

from insights.quality import corpus, datasets, replay, tables
from insights.quality.harness import Bench
from insights.quality.replay import HELD_OUT, REPEATED, Habits
from memories.configuration import fusion_rule, ranking_rules
from tests.factories import make_user
from tests.insights.evaluations import make_run

PLACES = ("pantry", "cellar", "attic", "shed", "porch", "stable", "loft", "kiln", "mill", "forge", "dairy", "orchard")
THINGS = ("ladder", "lantern", "barrel")
NOTHING_IS_SAID = Habits(useful_if_right=0, useful_if_wrong=0, misled_if_wrong=0)
ONLY_THE_TRUTH = Habits(useful_if_right=1, useful_if_wrong=0, misled_if_wrong=0, judged=0, rounds=6)
ONLY_BLAME = Habits(useful_if_right=0, useful_if_wrong=0, misled_if_wrong=1, judged=0, rounds=20)


ASKED = ("what is kept in the {}?", "which thing stands in the {}?", "is there anything in the {}?")


@pytest.fixture(scope="module")
def household(tmp_path_factory):
    """Three documents that differ in a word about each place, and three questions of which one document is meant."""
    folder = tmp_path_factory.mktemp("sets")
    (folder / "household.jsonl").write_text("\n".join(map(json.dumps, [*documents(), *questions()])))
    return folder


def documents():
    for place in PLACES:
        for thing in THINGS:
            yield {"type": "doc", "corpus": "house", "id": f"{thing} in {place}", "time": "2024-01-01T08:00:00",
                   "order": 0, "text": f"The {thing} is kept in the {place}."}  # fmt: skip


def questions():
    for place in PLACES:
        for words in ASKED:
            yield {"type": "query", "corpus": "house", "id": words.format(place), "text": words.format(place),
                   "gold": [f"{THINGS[len(place) % 3]} in {place}"]}  # fmt: skip


@pytest.fixture
def bench(household, monkeypatch, db):
    monkeypatch.setenv(datasets.FOLDER, str(household))
    rules, fusion = ranking_rules(), fusion_rule()
    with corpus.opened(datasets.load("household")) as stored:
        yield Bench(stored, rules=rules, fusion=fusion)


@pytest.fixture(scope="module", autouse=True)
def _scratch_is_removed(django_db_setup, django_db_blocker):
    yield
    with django_db_blocker.unblock():
        corpus.drop("household")


def topics(bench):
    return [asked for asked in bench.asked if replay.is_topic(asked)]


def test_both_halves_have_questions_and_none_is_in_both(bench):
    assert 0 < len(topics(bench)) < len(bench.asked)


def test_the_same_habits_live_the_same_quarter(bench):
    once, again = replay.replay(bench), replay.replay(bench)
    assert once.multipliers == again.multipliers
    assert once.multipliers != replay.replay(bench, Habits(seed=7)).multipliers


def test_where_nothing_is_reported_nothing_moves(bench):
    found = replay.report(bench, NOTHING_IS_SAID)
    assert found["recalls"] == round(len(topics(bench)) * NOTHING_IS_SAID.rounds)
    assert found["reports"] == {}
    assert found["reinforced"] == {"corpus": 0, "shown": 0, "at_cap": 0}
    assert all(group["gain"][metric] == [0, 0, 0] for group in found["groups"] for metric in ("R@8", "nDCG@10"))


def test_rightly_reported_evidence_rises_within_the_cap(bench):
    quarter = replay.replay(bench, ONLY_THE_TRUTH)
    wanted = {document for asked in topics(bench) for document in asked.query.gold}
    assert {bench.corpus.documents[memory] for memory in quarter.multipliers} <= wanted
    assert max(quarter.multipliers.values()) <= 1.4
    assert min(quarter.multipliers.values()) > 1
    group = next(each for each in replay.report(bench, ONLY_THE_TRUTH)["groups"] if each["name"] == REPEATED)
    assert group["after"]["nDCG@10"] > group["before"]["nDCG@10"]


def test_what_is_blamed_again_and_again_sinks_to_the_floor_and_no_lower(bench):
    multipliers = replay.replay(bench, ONLY_BLAME).multipliers
    assert min(multipliers.values()) == 0.5


def test_one_session_says_a_thing_of_a_memory_once(bench):
    in_one_session = Habits(useful_if_right=1, useful_if_wrong=0, misled_if_wrong=0, judged=0, session_questions=10_000)
    multipliers = replay.replay(bench, in_one_session).multipliers
    assert max(multipliers.values()) == pytest.approx(1.10397, abs=1e-5)


def test_the_questions_that_are_kept_for_the_end_are_never_worked_on(bench):
    quarter = replay.replay(bench, ONLY_THE_TRUTH)
    worked_on = {document for asked in topics(bench) for document in asked.query.gold}
    assert {bench.corpus.documents[memory] for memory in quarter.signals} <= worked_on


def test_the_table_names_each_group_with_its_gain(bench):
    table = tables.replay({"replay": replay.report(bench)})
    assert str(table.rows[0][0]) == HELD_OUT
    assert len(table.columns) == len(table.rows[0]) == 8


def test_the_command_tells_of_the_quarter_unless_told_not_to(household, monkeypatch, db):
    monkeypatch.setenv(datasets.FOLDER, str(household))
    told, untold = StringIO(), StringIO()
    call_command("evaluate", "household", no_save=True, stdout=told, stderr=StringIO())
    call_command("evaluate", "household", no_save=True, no_replay=True, stdout=untold, stderr=StringIO())
    assert "After a simulated quarter of use. 90 days," in told.getvalue()
    assert "quarter" not in untold.getvalue()


def test_the_page_of_a_run_shows_what_use_changed_and_a_dash_where_nothing_is_known(client, db):
    client.force_login(make_user())
    shown = client.get(reverse("evaluation_run", args=[make_run(replay=True).pk])).content.decode()
    assert "Does use help?" in shown
    assert "2,325 recalls; reports: 12 rightly useful, 3 misled at random." in shown
    assert "at the cap: –." in shown
    assert "+0.010 (+0.002 to +0.020, certain)" in shown


def test_a_run_without_a_quarter_says_nothing_of_it(client, db):
    client.force_login(make_user())
    shown = client.get(reverse("evaluation_run", args=[make_run().pk])).content.decode()
    assert "Does use help?" not in shown
