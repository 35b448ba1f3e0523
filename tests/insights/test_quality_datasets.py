import gzip
import json
from datetime import UTC, datetime

import pytest

from insights.quality import datasets
from insights.quality.datasets import DatasetError, Document

PLAIN = [
    {"type": "doc", "corpus": "kitchen", "id": "k/1", "text": "The oven runs hot.", "time": "2024-03-01T08:00:00",
     "speaker": "Cook", "session": "s1", "order": 1},
    {"type": "doc", "corpus": "kitchen", "id": "k/2", "text": "Salt is on the left shelf.", "time": None,
     "speaker": None, "session": None, "order": 2},
    {"type": "query", "corpus": "kitchen", "id": "q1", "text": "where is the salt", "gold": ["k/2"],
     "category": "where"},
]  # fmt: skip

LOCOMO = [
    {
        "qa": [
            {"question": "What did the gardener plant?", "answer": "beans", "evidence": ["D1:2; D2:01"], "category": 1},
            {"question": "When did it rain?", "answer": "in May", "evidence": ["D2:1", "D9:9"], "category": 2},
            {"question": "What would the cook like?", "answer": "soup", "evidence": [], "category": 3},
            {"question": "Who owns a boat?", "adversarial_answer": "nobody", "evidence": ["D1:1"], "category": 5},
        ],
        "conversation": {
            "speaker_a": "Gardener",
            "speaker_b": "Cook",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Cook", "dia_id": "D1:1", "text": "What is new?"},
                {"speaker": "Gardener", "dia_id": "D1:2", "text": "Beans, look.", "blip_caption": "a row of beans"},
            ],
            "session_2_date_time": "12:09 am on 13 September, 2023",
            "session_2": [{"speaker": "Cook", "dia_id": "D2:1", "text": "It rained all of May."}],
            "session_3_date_time": "1:00 pm on 1 October, 2023",
        },
        "sample_id": "garden",
    }
]

COSQA_CODE = {"def first(items): return items[0]": 0, "def last(items): return items[-1]": 1}
COSQA = [
    {"idx": "test-1", "doc": "python last item of a list", "code": "def last(items): return items[-1]", "label": 1,
     "retrieval_idx": 1},
    {"idx": "test-2", "doc": "no such thing", "code": "def first(items): return items[0]", "label": 0,
     "retrieval_idx": 0},
]  # fmt: skip

LONGMEMEVAL = [
    {
        "question_id": "tea",
        "question_type": "single-session-user",
        "question": "Which tea do I drink?",
        "question_date": "2023/06/01 (Thu) 10:00",
        "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 09:00"],
        "haystack_session_ids": ["one", "two"],
        "haystack_sessions": [
            [{"role": "user", "content": "Recommend a film."}, {"role": "assistant", "content": "A short one."}],
            [{"role": "user", "content": "I drink oolong.", "has_answer": True}],
        ],
        "answer_session_ids": ["two"],
    },
    {"question_id": "tea_abs", "question_type": "single-session-user"},
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(datasets.FOLDER, str(tmp_path))
    return tmp_path


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_without_a_folder_there_are_no_sets_and_the_error_says_what_to_set(monkeypatch):
    monkeypatch.delenv(datasets.FOLDER, raising=False)
    assert datasets.available() == {}
    with pytest.raises(DatasetError, match="ZEROMEMORY_EVAL_DATA"):
        datasets.load("locomo")


def test_a_folder_that_is_not_there_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv(datasets.FOLDER, str(tmp_path / "gone"))
    with pytest.raises(DatasetError, match="gone, which is no folder"):
        datasets.available()


def test_an_unknown_name_is_answered_with_the_known_ones(folder):
    (folder / "kitchen.jsonl").write_text(lines(PLAIN))
    with pytest.raises(DatasetError, match=r"Choose from kitchen\."):
        datasets.load("cellar")


@pytest.mark.parametrize("packed", [False, True])
def test_a_plain_set_is_named_by_its_file(folder, packed):
    if packed:
        (folder / "kitchen.jsonl.gz").write_bytes(gzip.compress(lines(PLAIN).encode()))
    else:
        (folder / "kitchen.jsonl").write_text(lines(PLAIN))
    kitchen = datasets.load("kitchen")
    assert kitchen.documents == (
        Document("k/1", "kitchen", "The oven runs hot.", datetime(2024, 3, 1, 8, tzinfo=UTC), "Cook", "s1", 1),
        Document("k/2", "kitchen", "Salt is on the left shelf.", None, "", "", 2),
    )
    (query,) = kitchen.queries
    assert (query.id, query.gold, query.category) == ("q1", {"k/2"}, "where")


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ('{"type": "doc", "corpus": "kitchen"}', "line 4: 'id' is missing"),
        ('{"type": "note"}', "neither doc nor query"),
        ("{", "line 4 does not fit the shape"),
        ("[]", "line 4 does not fit the shape"),
    ],
)
def test_a_bad_line_is_named_by_file_and_number(folder, row, said):
    (folder / "kitchen.jsonl").write_text(lines(PLAIN) + row + "\n")
    with pytest.raises(DatasetError, match=said):
        datasets.load("kitchen")


def test_evidence_that_is_not_in_the_corpus_is_an_error(folder):
    (folder / "kitchen.jsonl").write_text(lines([*PLAIN[:2], PLAIN[2] | {"gold": ["k/7"]}]))
    with pytest.raises(DatasetError, match="q1 names k/7"):
        datasets.load("kitchen")


def test_two_documents_of_one_id_are_an_error(folder):
    (folder / "kitchen.jsonl").write_text(lines([PLAIN[0], *PLAIN]))
    with pytest.raises(DatasetError, match="two documents"):
        datasets.load("kitchen")


def test_a_file_cut_off_in_the_middle_is_an_error(folder):
    (folder / "kitchen.jsonl.gz").write_bytes(gzip.compress(lines(PLAIN).encode())[:-20])
    with pytest.raises(DatasetError, match=r"kitchen\.jsonl\.gz cannot be read"):
        datasets.load("kitchen")


def test_locomo_by_turns_keeps_photos_dates_and_evidence_written_by_hand(folder):
    (folder / "locomo10.json").write_text(json.dumps(LOCOMO))
    turns = datasets.load("locomo10")
    assert [turn.id for turn in turns.documents] == ["garden/D1:1", "garden/D1:2", "garden/D2:1"]
    assert turns.documents[1] == Document(
        id="garden/D1:2",
        corpus="garden",
        text="Beans, look. [shares a photo: a row of beans]",
        time=datetime(2023, 5, 8, 13, 56, tzinfo=UTC),
        speaker="Gardener",
        session="session_1",
        order=2,
    )
    assert turns.documents[2].time == datetime(2023, 9, 13, 0, 9, tzinfo=UTC)
    assert {query.category: query.gold for query in turns.queries} == {
        "multi-hop": {"garden/D1:2", "garden/D2:1"},
        "temporal": {"garden/D2:1"},
    }


def test_locomo_by_sessions_joins_what_was_said(folder):
    (folder / "locomo10.json").write_text(json.dumps(LOCOMO))
    sessions = datasets.load("locomo10-sessions")
    first, second = sessions.documents
    assert first.text == "Cook: What is new?\nGardener: Beans, look. [shares a photo: a row of beans]"
    assert [query.gold for query in sessions.queries] == [{first.id, second.id}, {second.id}]


def test_cosqa_reads_its_functions_from_the_file_beside_it(folder):
    (folder / "cosqa-retrieval-test-500.json").write_text(json.dumps(COSQA))
    with pytest.raises(DatasetError, match=r"code_idx_map\.txt"):
        datasets.load("cosqa-retrieval-test-500")
    (folder / "code_idx_map.txt").write_text(json.dumps(COSQA_CODE))
    cosqa = datasets.load("cosqa-retrieval-test-500")
    assert [document.id for document in cosqa.documents] == ["code/0", "code/1"]
    assert [(query.id, query.gold) for query in cosqa.queries] == [("test-1", {"code/1"})]


def test_longmemeval_gives_every_question_its_own_history(folder):
    (folder / "longmemeval_s.json").write_text(json.dumps(LONGMEMEVAL))
    turns, sessions = datasets.load("longmemeval_s"), datasets.load("longmemeval_s-sessions")
    assert turns.corpora == sessions.corpora == ("tea",)
    assert [turn.speaker for turn in turns.documents] == ["user", "assistant", "user"]
    assert turns.documents[0].time == datetime(2023, 5, 20, 2, 21, tzinfo=UTC)
    assert turns.queries[0].gold == {"tea/1:1"}
    assert sessions.queries[0].gold == {"tea/session_1"}
    assert sessions.documents[1].text == "user: I drink oolong."


def test_an_original_of_another_shape_is_refused_with_its_name(folder):
    (folder / "locomo10.json").write_text(json.dumps([{"sample_id": "garden", "conversation": {"session_1": []}}]))
    with pytest.raises(DatasetError, match=r"locomo10\.json does not fit the shape of LoCoMo"):
        datasets.load("locomo10")


def test_a_quick_look_takes_questions_from_the_whole_set(folder):
    rows = [PLAIN[2] | {"id": f"q{number}"} for number in range(10)]
    (folder / "kitchen.jsonl").write_text(lines([*PLAIN[:2], *rows]))
    kitchen = datasets.load("kitchen")
    assert [query.id for query in kitchen.limited(3).queries] == ["q0", "q3", "q6"]
    assert kitchen.limited(3).documents == kitchen.documents
    assert kitchen.limited(99) is kitchen


def test_the_digest_changes_with_any_document_and_with_nothing_else(folder):
    (folder / "kitchen.jsonl").write_text(lines(PLAIN))
    before = datasets.load("kitchen")
    assert before.limited(1).digest == before.digest
    (folder / "kitchen.jsonl").write_text(lines([PLAIN[0] | {"speaker": "Baker"}, *PLAIN[1:]]))
    assert datasets.load("kitchen").digest != before.digest
