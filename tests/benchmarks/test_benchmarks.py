"""``pytest tests/benchmarks``: the benchmarks run and say what they measured. A slow machine fails nothing."""

import re
from itertools import islice

import numpy as np
import pytest
from django.db import connection

from tests.benchmarks import code, cold_start, corpus, databases, ingest, recall, report, retention
from tests.benchmarks import run as benchmarks
from tests.benchmarks.corpus import base_vectors
from tests.benchmarks.databases import ForeignDatabaseError
from tests.benchmarks.ingest import Ingest
from tests.benchmarks.recall import Beside, Load, Times
from tests.benchmarks.texts import Writer, vocabulary
from zeromemory.embedding import get_embedder

SMALL = {
    corpus: {"TEXTS": 60, "SMALL_SCOPES": 4},
    recall: {"WARM_UPS": 2, "QUESTIONS": 6, "JUDGED": 2, "SECONDS": 1.0, "CLIENTS": 3},
    ingest: {"TEXTS": 12, "WARM_UPS": 4},
}
ROWS = 400


@pytest.fixture
def small(monkeypatch, django_db_setup, django_db_blocker):
    for module, values in SMALL.items():
        for name, value in values.items():
            monkeypatch.setattr(module, name, value)
    with django_db_blocker.unblock():
        yield
        for part in (str(ROWS), "ingest"):
            databases.drop(databases.name_of(part))


def test_a_hygiene_cycle_is_measured_by_step_and_with_its_growth(small, tmp_path, capsys):
    benchmarks.run(rows=[], parts=("hygiene",), folder=tmp_path, tell=lambda _: None, sizes=(200, ROWS))
    table = capsys.readouterr().out
    assert "| **full cycle** without a model, " in table
    assert "| of it: compare new memories with their nearest | 400 | " in table
    assert "| full cycle, growth | 200 → 400 | " in table
    assert "memories, without what follows | 400 | " in table
    assert "| nearest of all, growth | 200 → 400 | " in table
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_database WHERE datname LIKE %s", ["%\\_bench\\_hygiene%"])
        assert cursor.fetchone()[0] == 0


def test_the_roll_up_is_measured_with_its_plan(small, tmp_path, capsys):
    benchmarks.run(rows=[], parts=("reinforcement",), folder=tmp_path, tell=lambda _: None, signals=(200, 3000))
    table = capsys.readouterr().out
    assert "| **roll-up** of 3,000 signals, all rows new | 200 | " in table
    assert "| one report, with the row of its memory | 200 | " in table
    assert "Execution Time: " in table
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_database WHERE datname LIKE %s", ["%\\_bench\\_reinforcement%"])
        assert cursor.fetchone()[0] == 0


def test_a_cycle_that_forgets_is_measured_beside_writes_and_recalls(small, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(retention, "ALONE_SECONDS", 1.0)
    benchmarks.run(rows=[], parts=("retention",), folder=tmp_path, tell=lambda _: None, scope=(400, 100))
    table = capsys.readouterr().out
    assert "| **cycle of a decaying scope**: all weights fall, 100 archived | 400 | " in table
    assert "| cycle: all weights fall, 100 deleted | 400 | " in table
    assert "| a recall beside a cycle, p50 / p95 | 400 | " in table
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_database WHERE datname LIKE %s", ["%\\_bench\\_retention%"])
        assert cursor.fetchone()[0] == 0


def test_code_behind_memories_is_measured_and_leaves_no_database(small, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(code, "ROUNDS", 2)
    benchmarks.run(rows=[], parts=("code",), folder=tmp_path, tell=lambda _: None, tree=(40, 20))
    table = capsys.readouterr().out
    assert "| **verdicts** over 40 files, no bytes seen before | 20 | " in table
    assert "| of it the code | 20 | " in table


def test_a_cold_start_is_measured_over_both_transports(small, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(cold_start, "RUNS", 1)
    benchmarks.run(rows=[], parts=("start",), folder=tmp_path, tell=lambda _: None)
    table = capsys.readouterr().out
    assert "| **cold start** to the first list of tools, HTTP |  | " in table
    assert "| cold start to the first list of tools, standard input |  | " in table
    (spent,) = re.findall(r"of it on the processor, standard input \|  \| ([\d.]+) s", table)
    assert 0.5 < float(spent) < 60
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_database WHERE datname LIKE %s", ["%\\_bench\\_start%"])
        assert cursor.fetchone()[0] == 0


def some(seconds):
    return Times([seconds] * 3)


def test_the_same_seed_writes_the_same_texts():
    assert [str(text) for text in Writer(3).texts(5)] == [str(text) for text in Writer(3).texts(5)]
    assert [str(text) for text in Writer(3).texts(5)] != [str(text) for text in Writer(4).texts(5)]


def test_no_question_is_asked_twice():
    about = Writer(3).texts(20)
    asked = list(islice(Writer(4).questions(about), 500))
    assert len(set(asked)) == 500


def test_frequent_words_come_first_and_texts_are_mostly_made_of_them():
    counted = [word for text in Writer(3).texts(300) for word in text.words if word in vocabulary()[:100]]
    everything = [word for text in Writer(3).texts(300) for word in text.words]
    assert vocabulary()[:3] == ("the", "of", "and")
    assert 0.25 < len(counted) / len(everything) < 0.6


def test_a_variation_keeps_most_words_of_its_text_and_bears_a_number():
    text = Writer(3).texts(1)[0]
    varied = Writer(4).variation(text, 71)
    kept = set(str(text).lower().split()) & set(varied.lower().split())
    assert varied.endswith("Note 71.")
    assert len(kept) > len(set(text.words)) / 2


def test_vectors_of_the_texts_are_kept_for_the_next_run(tmp_path):
    texts, embedder = Writer(3).texts(4), get_embedder()
    first = base_vectors(texts, embedder, tmp_path)
    [kept] = tmp_path.iterdir()
    np.save(kept, first * 2)
    assert np.array_equal(base_vectors(texts, embedder, tmp_path), first * 2)


@pytest.mark.slow
def test_a_run_prints_every_figure_and_the_second_one_finds_its_memories_stored(small, tmp_path, capsys):
    told: list[str] = []
    benchmarks.run(rows=[ROWS], parts=("recall", "ingest"), folder=tmp_path, tell=told.append)
    printed = capsys.readouterr().out
    assert f"| 3 clients for 1 s: errors | {ROWS} | 0 | 0 |" in printed
    assert "REST recall : floor, p50" in printed
    assert "jsonl import : embedder alone" in printed
    again: list[str] = []
    benchmarks.run(rows=[ROWS], parts=("recall",), folder=tmp_path, tell=again.append)
    assert any(sentence.startswith("Storing") for sentence in told)
    assert not any(sentence.startswith("Storing") for sentence in again)


def test_a_database_that_no_benchmark_made_is_left_alone(small):
    name = databases.name_of("theirs")
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name}")
    try:
        with pytest.raises(ForeignDatabaseError, match=name):
            databases.drop(name)
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f"DROP DATABASE {name}")


def test_ratios_and_growth_stand_beside_their_aims():
    slow, quick = (Beside(*[some(0.01)] * 4, product=some(seconds), server=some(0.01)) for seconds in (0.03, 0.015))
    load = Load(16, 2.0, some(0.1))
    table = report.markdown({10_000: (quick, load), 100_000: (slow, load)}, Ingest(100, 40, 50, 90))
    assert "| REST recall : floor, p50 | 100,000 | 3.00 | 1.5 |" in table
    assert "| REST recall p50, growth | 10,000 → 100,000 | 2.00 | 2 |" in table
    assert "| REST writes : embedder alone |  | 0.40 | 0.8 |" in table
