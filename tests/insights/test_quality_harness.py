import json
from dataclasses import replace
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from insights.models import EvaluationRun
from insights.quality import corpus, datasets, harness, runs
from insights.quality.corpus import CorpusError
from insights.quality.harness import NO_AGE, SYSTEMS, Bench, System
from memories.configuration import fusion_rule, ranking_rules
from memories.models import FusionConfig, Memory, Scope, User
from tests.factories import make_memory

SAID = [
    ("garden", "g/1", "The beans were planted in April.", "2023-01-01T09:00:00", "Gardener"),
    ("garden", "g/2", "The well is dry since June.", "2023-02-01T09:00:00", "Neighbour"),
    ("garden", "g/3", "Snails ate the lettuce.", "2023-03-01T09:00:00", "Gardener"),
    ("garden", "g/4", "", "2023-03-02T09:00:00", "Gardener"),
    ("kitchen", "k/1", "The oven runs hot.", None, None),
    ("kitchen", "k/2", "Salt is on the left shelf.", None, None),
]
ASKED = [
    ("garden", "q1", "when were the beans planted", ["g/1"], "when"),
    ("garden", "q2", "what happened to the lettuce", ["g/3"], "what"),
    ("kitchen", "q3", "where is the salt", ["k/2"], "where"),
]


def rows(said=SAID):
    for order, (name, id, text, time, speaker) in enumerate(said):
        yield {"type": "doc", "corpus": name, "id": id, "text": text, "time": time, "speaker": speaker,
               "session": "one", "order": order}  # fmt: skip
    for name, id, text, gold, category in ASKED:
        yield {"type": "query", "corpus": name, "id": id, "text": text, "gold": gold, "category": category}


@pytest.fixture
def small(tmp_path, monkeypatch, db):
    """A set of six documents and three questions, in the folder of sets."""
    monkeypatch.setenv(datasets.FOLDER, str(tmp_path))
    (tmp_path / "small.jsonl").write_text("\n".join(map(json.dumps, rows())))
    return datasets.load("small")


@pytest.fixture(scope="module", autouse=True)
def _scratch_is_removed(django_db_setup, django_db_blocker):
    yield
    with django_db_blocker.unblock():
        for name in ("small", "small-without-speakers"):
            corpus.drop(name)


def evaluate(*arguments, **options):
    told = StringIO()
    call_command("evaluate", *arguments, stdout=told, stderr=StringIO(), **options)
    return told.getvalue()


def bench_of(stored):
    return Bench(stored, rules=ranking_rules(), fusion=fusion_rule())


# The scratch database ------------------------------------------------------------------------


def test_a_set_never_reaches_the_owners_memories(small):
    mine = make_memory("The beans were planted by me.")
    people, name = set(User.objects.values_list("username", flat=True)), connection.settings_dict["NAME"]
    with corpus.opened(small) as stored:
        assert connection.settings_dict["NAME"] == f"{name}_evaluation_small"
        assert not Memory.objects.filter(pk=mine.pk).exists()
        assert Memory.objects.count() == len(stored.documents) == 5
    assert connection.settings_dict["NAME"] == name
    assert list(Memory.objects.all()) == [mine]
    assert set(User.objects.values_list("username", flat=True)) == people


def test_the_owners_connection_returns_after_a_failure(small):
    name = connection.settings_dict["NAME"]
    with pytest.raises(ZeroDivisionError), corpus.opened(small):
        raise ZeroDivisionError
    assert connection.settings_dict["NAME"] == name
    assert Scope.objects.count() == 0


def test_a_document_becomes_a_memory_with_its_date_session_and_speaker(small):
    with corpus.opened(small):
        beans, oven = (Memory.objects.get(external_id=id) for id in ("g/1", "k/1"))
        assert beans.content == "Gardener: The beans were planted in April."
        assert (beans.session, beans.source, beans.kind) == ("one", "", "fact")
        assert beans.created_at == small.documents[0].time
        assert [(entity.name, entity.type) for entity in beans.entities.all()] == [("Gardener", "person")]
        assert (oven.content, oven.created_at) == ("The oven runs hot.", corpus.UNDATED)
        assert not oven.entities.exists()
        assert beans.scope_id != oven.scope_id
        assert not Memory.objects.filter(embedded_at=None).exists()
    assert corpus.created_at(small.documents[2]) - small.documents[2].time == 2 * corpus.TURN


def test_without_speakers_only_the_words_are_stored(small):
    with corpus.opened(small.without_speakers()):
        beans = Memory.objects.get(external_id="g/1")
        assert beans.content == "The beans were planted in April."
        assert not beans.entities.exists()


def test_the_corpus_is_used_again_and_only_its_kind_changes(small):
    with corpus.opened(small) as first:
        pass
    with corpus.opened(small, kind="episode") as second:
        assert set(Memory.objects.values_list("kind", flat=True)) == {"episode"}
    assert second.documents == first.documents


def test_the_corpus_is_stored_anew_when_a_document_has_changed(small):
    with corpus.opened(small) as first:
        pass
    changed = replace(small, documents=(replace(small.documents[0], text="Peas instead."), *small.documents[1:]))
    with corpus.opened(changed) as second:
        assert Memory.objects.get(external_id="g/1").content == "Gardener: Peas instead."
    assert not set(second.documents) & set(first.documents)


def test_the_corpus_is_stored_anew_for_another_embedder(small, settings):
    before = corpus.fingerprint(small)
    settings.EMBEDDER = "none"
    assert corpus.fingerprint(small) != before


def stopped_at(words):
    def tell(sentence):
        if words in sentence:
            raise CorpusError("stopped")

    return tell


def test_a_corpus_that_was_not_finished_is_stored_anew(small):
    stop = stopped_at("to embed")
    with pytest.raises(CorpusError, match="stopped"), corpus.opened(small, rebuild=True, tell=stop):
        pass
    with corpus.opened(small) as stored:
        assert len(stored.documents) == 5
        assert not Memory.objects.filter(embedded_at=None).exists()


def test_a_database_of_somebody_else_is_left_alone(small):
    name = corpus.database_name("theirs")
    with corpus._alone(name) as keeper, keeper.cursor() as cursor:
        cursor.execute(f'CREATE DATABASE "{name}"')
    try:
        with pytest.raises(CorpusError, match="no evaluation made"), corpus.opened(replace(small, name="theirs")):
            pass
        with pytest.raises(CorpusError, match="no evaluation made"):
            corpus.drop("theirs")
    finally:
        with corpus._alone(name) as keeper, keeper.cursor() as cursor:
            cursor.execute(f'DROP DATABASE "{name}"')


def test_two_evaluations_of_one_set_do_not_meet(small):
    with (
        corpus.opened(small),
        pytest.raises(CorpusError, match="Another evaluation"),
        corpus._alone(corpus.database_name("x")),
        corpus._alone(corpus.database_name("x")),
    ):
        pass


def test_a_long_name_stays_within_what_the_database_allows():
    assert corpus.database_name("x" * 80) != corpus.database_name("x" * 81)
    assert len(corpus.database_name("x" * 80)) <= 63


# Systems -------------------------------------------------------------------------------------


def test_each_question_is_answered_from_its_own_corpus(small):
    with corpus.opened(small) as stored:
        outcome = bench_of(stored).run(SYSTEMS[0])
    assert outcome.values[:, 0].tolist() == [1, 1, 1]
    assert (outcome.milliseconds > 0).all()


def test_a_leg_of_weight_nothing_finds_nothing(small):
    with corpus.opened(small) as stored:
        bench = bench_of(stored)
        asked = bench.asked[1]
        words = replace(bench.fusion, **SYSTEMS[-1].fusion)
        searched, _ = bench._candidates(asked, words)
        by_words = bench._ranked(asked, searched, words, NO_AGE)
    assert SYSTEMS[-1].name.startswith("words alone")
    assert len(searched.candidates) == 3
    assert by_words == ["g/3"]


def test_a_corpus_is_asked_a_day_after_its_newest_document(small):
    with corpus.opened(small) as stored:
        newest = Memory.objects.get(external_id="g/3").created_at
    assert stored.asked_at["garden"] == newest + timedelta(days=1)


def test_age_decides_for_episodes_and_not_once_it_is_ignored(small):
    old = replace(small.queries[0], text="the beans the well the lettuce", gold=frozenset({"g/3"}))
    with corpus.opened(replace(small, queries=(old,))) as stored:
        bench = bench_of(stored)
        flat = replace(bench.fusion, contrast=0.01)
        found, _ = bench._candidates(bench.asked[0], flat)
        episodes = harness._all_of("episode", found)
        assert bench._ranked(bench.asked[0], episodes, flat, frozenset()) == ["g/3", "g/2", "g/1"]
        aged, unaged = (bench.recall_as("episode", flat, ignore) for ignore in (frozenset(), NO_AGE))
    assert aged == unaged == 1


def test_the_search_behind_a_question_runs_once_for_all_systems(small, django_assert_num_queries):
    with corpus.opened(small) as stored:
        bench = bench_of(stored)
        with django_assert_num_queries(len(small.queries)):
            for system in (*SYSTEMS, System("sharper", {"contrast": 32.0})):
                bench.run(system)
            harness.ageing_curve(bench)


# The command ---------------------------------------------------------------------------------


def test_the_command_prints_the_table_and_keeps_the_run(small):
    told = evaluate("small", "--kind", "episode", "--with", "contrast=16", "--ageing-curve")
    for expected in ("## small, stored as episode", "3 questions over 5 documents", "| product | 1.000 (1.000–1.000)",
                     "| product with contrast 16.0 |", "| where | 1 |", "| age ignored |"):  # fmt: skip
        assert expected in told
    (run,) = EvaluationRun.objects.all()
    assert (run.name, run.kind, run.queries, run.corpus_size) == ("small", "episode", 3, 5)
    assert run.configuration["fusion"]["version"] == 1
    assert run.embedder == corpus.stamp_in_use()
    assert run.values["systems"]["product"]["R@8"] == [1, 1, 1]
    assert [system["name"] for system in run.results["systems"]][-1] == "product with contrast 16.0"


def test_the_owners_configuration_is_measured_not_that_of_the_scratch_database(small):
    FusionConfig.objects.update(contrast=7, text_weight=0)
    evaluate("small")
    (run,) = EvaluationRun.objects.all()
    assert run.configuration["fusion"]["contrast"] == 7
    with corpus.opened(small) as stored:
        assert fusion_rule().contrast != 7
        assert Bench(stored, rules={}, fusion=replace(fusion_rule(), contrast=7)).fusion.contrast == 7


@pytest.mark.parametrize("options", [["--no-save"], ["--limit", "2"]])
def test_a_quick_look_is_not_kept(small, options):
    evaluate("small", *options)
    assert not EvaluationRun.objects.exists()


def test_all_measures_the_probes_and_every_set_there_is(small):
    told = evaluate()
    assert "ageing probes" in told
    assert "## small" in told
    assert {run.name for run in EvaluationRun.objects.all()} == {"ageing", "small"}


def test_without_sets_all_measures_the_probes_and_says_how_to_get_sets(db, monkeypatch):
    monkeypatch.delenv(datasets.FOLDER, raising=False)
    told = evaluate("all")
    assert "ageing probes" in told
    assert "Set ZEROMEMORY_EVAL_DATA to a folder" in told


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["cellar"], "Choose from small"),
        (["small", "--with", "contrast"], "is no value for contrast"),
        (["small", "--with", "colour=3"], "no field of the fusion"),
        (["small", "--limit", "0"], "at least 1"),
    ],
)
def test_a_wrong_argument_is_answered_with_a_sentence(small, arguments, said):
    with pytest.raises(CommandError, match=said):
        evaluate(*arguments)


# Runs ----------------------------------------------------------------------------------------


def test_a_run_is_compared_with_the_one_before_on_the_same_questions(small):
    for _ in range(2):
        evaluate("small")
    evaluate("small", "--kind", "episode")
    first, second, episodes = EvaluationRun.objects.order_by("started_at")
    assert runs.before(second) == first
    assert runs.before(first) is None
    assert runs.before(episodes) is None
    (product, *_) = runs.changes(second, first)
    assert product.system == "product"
    assert product.changes["R@8"].mean == 0


def test_where_there_is_no_repository_the_revision_is_blank(monkeypatch, tmp_path):
    monkeypatch.setattr(runs, "PROJECT", tmp_path)
    assert runs.revision() == ""


def test_the_scratch_database_can_be_removed(small):
    with corpus.opened(small):
        pass
    assert "is removed" in evaluate("small", "--drop")
    assert "there is no scratch database" in evaluate("small", "--drop")
